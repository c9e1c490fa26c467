/** Follows the selected annotation to the devices: what of the lanes is its own, and where its pieces are. */

import { clamp } from '../lib/axis.js';
import { timeText } from '../lib/format.js';
import { sliceOf } from './columns.js';
import { columnsOf, laneFor, laneTop, visibleLanes } from './scene.js';
import { lookOf } from './slice-style.js';

/** @typedef {import('./scale.js').Span} Span */
/** @typedef {import('./layout.js').Lane} Lane */
/** @typedef {import('../lib/routes').DeviceWork} DeviceWork */
/**
 * @typedef {object} Followed
 * @property {Map<Lane, Span[]>} own what keeps its colours, as drawn
 * @property {Lane|null} source the lane of the annotation
 * @property {Lane|null} target the lane of the pieces on the first core shown
 * @property {Span[]} pieces on that core, as drawn @property {Span[]} runs
 * @property {number} after_ps from the start of the first run to the first piece
 */

/** Ribbons keep this share of the annotation's colour. */
const RIBBON_ALPHA = 0.34;
/** Narrower pieces would be all outline. */
const MIN_OUTLINED_PX = 4;
/** How far a ribbon to a piece outside of the window leads beyond the border, px. */
const BEYOND_PX = 60;

/**
 * @param {import('../lib/routes').EventDetails} detail
 * @param {import('./selection.js').Selection} selection as drawn
 * @param {import('./scene.js').Scene} scene
 * @param {import('./model.js').Model['toDrawn']} toDrawn
 * @returns {Followed|null} null if the event is not followed
 */
export function followed({ on_device: work }, selection, scene, toDrawn) {
  if (!work) return null;
  const { lanes } = scene;
  const workOf = (/** @type {Lane} */ { rows }) =>
    work.devices.find(({ device }) => rows.some((row) => row.device === device));
  /** @param {Span[]} spans @param {Lane} lane */
  const drawn = (spans, { row: { id: row }, depth }) =>
    spans.flatMap(({ start_ps, end_ps }) => toDrawn({ row, depth, start_ps, end_ps }) ?? []);
  const runsOf = (/** @type {DeviceWork} */ { runs }) => runs.map(([start_ps, end_ps]) => ({ start_ps, end_ps }));
  /** @type {Followed['own']} */
  const own = new Map();
  for (const lane of lanes) {
    const device = workOf(lane);
    const { kind } = lane.row;
    const isOfWork = lane.kind === 'device' || kind === 'ops' || (kind === 'scopes' && lane.depth >= work.depth);
    if (device && kind === 'modules') own.set(lane, drawn(runsOf(device), lane));
    else if (device && isOfWork) own.set(lane, drawn(device.pieces, lane));
  }
  const source = laneFor(lanes, selection.row, selection.depth);
  if (source && !source.row.device) own.set(source, [selection]);
  const first = lanes.map(workOf).find(Boolean);
  // Ribbons lead to the lane of scopes or, if that is scrolled out of view, to the next best.
  const ofFirst = lanes.filter((lane) => first && own.has(lane) && workOf(lane) === first);
  const targets = ['scopes', 'ops', 'modules'].flatMap((kind) => ofFirst.find(({ row }) => row.kind === kind) ?? []);
  const visible = visibleLanes(scene);
  const target = targets.find((lane) => visible.includes(lane)) ?? targets[0] ?? null;
  return {
    own,
    source: source?.row.device ? null : source,
    target,
    pieces: first && target ? drawn(first.pieces, target) : [],
    runs: first && target ? drawn(runsOf(first), target) : [],
    after_ps: first?.pieces[0].after_ps ?? 0,
  };
}

/**
 * Draws the lanes again where they show the annotation's own, above a veil, with ribbons from the annotation.
 * @param {ReturnType<typeof import('./draw.js').penOn>} pen
 * @param {import('./scene.js').Scene} scene
 * @param {import('../lib/theme.js').Palette} palette
 * @param {Map<string, number>} tones of phases
 * @param {Followed} follow
 * @param {{selection: Span, ribbons: boolean, drawLane: (lane: Lane) => void}} marks
 */
export function drawFollowed(pen, scene, palette, tones, follow, { selection, ribbons, drawLane }) {
  const { own, source, target, pieces, runs, after_ps } = follow;
  const { scale, top, width, height, slices } = scene;
  const { left, right } = scale;
  const { context, box, clippedTo, outline, tag, tagWidth } = pen;
  box(palette.surface, left, top - 2, width - left, height, 0.7);
  for (const [lane, spans] of own) {
    const y = laneTop(scene, lane);
    if (y < top || y + lane.h > scene.height) continue;
    const boxes = spans.flatMap(({ start_ps, end_ps }) => {
      const x = Math.max(left - 3, scale.x(start_ps));
      const end = Math.min(right + 3, Math.max(scale.x(end_ps), x + 1.5));
      return end < left || x > right ? [] : [{ x, y, w: end - x, h: lane.h }];
    });
    clippedTo(boxes, () => drawLane(lane));
    const isTarget = lane.row.kind === target?.row.kind && lane.depth === target.depth;
    const isOutlined = lane.row.kind === 'modules' || isTarget;
    const outlined = isOutlined ? boxes.filter(({ w }) => w >= MIN_OUTLINED_PX) : [];
    outlined.forEach(({ x, w }) => outline(palette.sel, 1.5, x, y, w, lane.h));
  }
  if (!target || !pieces.length) return;  // aligned rows may leave out pieces
  const y1 = laneTop(scene, target);
  if (runs[0]) box(palette.sel, Math.round(scale.x(runs[0].start_ps)), top, 1, height, 0.6);
  if (source && ribbons) drawRibbons(source, y1);
  const note = (/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y) =>
    tag(palette.ink, palette.surface, text, x, clamp(y, top + 8, scene.height - 10));
  noteOutside(pieces, y1 + target.h / 2);
  if (source) noteOutside([selection], laneTop(scene, source) + source.h / 2);
  const x = scale.x(pieces[0].start_ps);
  const text = `+${timeText(after_ps, 1)} after the run’s start`;
  if (after_ps && x >= left && x + tagWidth(text) <= right) note(text, x, y1 + target.h + 10);

  /** Notes at the borders how far the next spans outside of the window are. @param {Span[]} spans @param {number} y */
  function noteOutside(spans, y) {
    const before = spans.findLast(({ end_ps }) => end_ps < scale.start_ps);
    const after = spans.find(({ start_ps }) => start_ps > scale.end_ps);
    if (before) note(`← ${timeText(scale.start_ps - before.end_ps, 1)}`, left + 12, y);
    if (!after) return;
    const distance = `→ ${timeText(after.start_ps - scale.end_ps, 1)}`;
    note(distance, right - 12 - tagWidth(distance), y);
  }

  /** @param {Lane} lane of the annotation @param {number} bottom y at which the ribbons end */
  function drawRibbons(lane, bottom) {
    const columns = columnsOf(scene, lane);
    const slice = columns && slices ? sliceOf(columns, selection.start_ps) : -1;
    const tone = slices && slice >= 0 ? lookOf(palette, tones, lane, slice, slices).tone : palette.run;
    const cut = (/** @type {number} */ ps) => clamp(scale.x(ps), left - BEYOND_PX, right + BEYOND_PX);
    const y0 = laneTop(scene, lane) + lane.h;
    const middle = (y0 + bottom) / 2;
    const [a, b] = [cut(selection.start_ps), cut(selection.end_ps)];
    // One path, so that ribbons that overlap are no darker.
    const ends = pieces.map(({ start_ps, end_ps }) => [cut(start_ps), cut(end_ps)]);
    const path = new Path2D(ends.map(([c, d]) =>
      `M${a} ${y0}C${a} ${middle} ${c} ${middle} ${c} ${bottom}H${d}C${d} ${middle} ${b} ${middle} ${b} ${y0}Z`,
    ).join(''));
    Object.assign(context, { globalAlpha: RIBBON_ALPHA, fillStyle: tone.fill });
    context.fill(path);
    Object.assign(context, { globalAlpha: 0.55, strokeStyle: palette.sel, lineWidth: 1 });
    context.stroke(path);
    context.globalAlpha = 1;
  }
}
