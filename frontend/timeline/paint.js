/** Draws one frame of the lanes: grid, slices, veil, selection, arrows, ruler, labels. */

import { clamp } from '../lib/axis.js';
import { digits, instantText, timeText } from '../lib/format.js';
import { MIN_EDGES_PX, MIN_TEXT_PX } from './draw.js';
import { eachCover, eachSlice } from './columns.js';
import { drawFoldedDevices, drawFoldedThreads } from './paint-folded.js';
import { drawSteps } from './paint-steps.js';
import { mix } from '../lib/theme.js';
import { drawFollowed } from './follow.js';
import { drawWait } from './paint-waits.js';
import { FADED, strengthOf } from './legend.js';
import { lookOf, textsOf } from './slice-style.js';
import { columnsOf, labelledLane, laneFor, laneTop, visibleLanes } from './scene.js';
import { rulerTicks } from './scale.js';

/** @typedef {import('./scale.js').Span} Span */
/** @typedef {import('./model.js').RowSpan} RowSpan */
/** @typedef {{from: RowSpan, to: RowSpan}} Arrow */
/** @typedef {import('./layout.js').Lane} Lane */
/**
 * What is drawn on top of the slices; times are as drawn.
 * @typedef {object} Marks
 * @property {import('./selection.js').Selection|null} selection
 * @property {Span|null} preview the window that is being dragged
 * @property {import('./scene.js').DrawnSlice|null} hover @property {import('./scene.js').DrawnSlice|null} cursor
 * @property {boolean} focused whether the lanes have the focus
 * @property {RowSpan[]} partners flow partners of the selected event, or the outlined piece of a gap's chain
 * @property {Arrow[]} arrows
 * @property {import('./waits.js').Bar[]} waits
 * @property {import('./waits.js').Bar[]} delayed the ops of the collective that the selected gap delays
 * @property {import('./legend.js').Filter} filter
 * @property {number[]} hits start times of search hits, ps
 * @property {Map<string, number[]>|null} edges of steps by host, while device rows are aligned
 * @property {number|null} pointer x of the vertical line at the pointer
 * @property {boolean} flows whether arrows and ribbons are drawn
 * @property {boolean} isFollowed whether the selection is an annotation, which does not select its time
 * @property {import('./follow.js').Followed|null} follow the selected annotation's own, once it is known
 */

/** Height of the ruler. */
export const RULER_PX = 20;
const MAX_ARROWS = 32;
/** Edges of steps that are closer to the last drawn one are not drawn. */
const MIN_EDGE_DISTANCE_PX = 8;
/** Arrows narrower than this are straight lines if they are higher than wide. */
const MIN_CURVE_PX = 24;
/** Least distances between the ruler's ticks, for windows of more or less than 100 ns per pixel. */
const TICK_PX = { coarse: 40, fine: 60 };
const FINE_PS_PER_PX = 1e5;
/** Bold text is about this much wider. */
const BOLD_WIDTH_FACTOR = 1.08;

/**
 * The flows of an event as arrows from source to target.
 * @param {RowSpan} event
 * @param {{from: RowSpan[], to: RowSpan[]}} flow
 * @returns {Arrow[]}
 */
export const arrowsOf = (event, flow) => [
  ...flow.from.map((from) => ({ from, to: event })),
  ...flow.to.map((to) => ({ from: event, to })),
];

/**
 * The times at which an arrow begins and ends: at the end of the source, and at the start of the target. If the target
 * starts before the source's end, the arrow begins when the target starts, but not before the source.
 * @param {Arrow} arrow
 */
export const arrowTimes = ({ from, to }) => ({
  start_ps: Math.max(from.start_ps, Math.min(from.end_ps, to.start_ps)),
  end_ps: to.start_ps,
});

/**
 * @param {ReturnType<typeof import('./draw.js').penOn>} pen
 * @param {import('./scene.js').Scene} scene
 * @param {import('../lib/theme.js').Palette} palette
 * @param {Map<string, number>} tones indices of the phases' tones
 * @param {Marks} marks
 */
export function paint(
  pen,
  scene,
  palette,
  tones,
  {
    selection, preview, hover, cursor, focused, partners, arrows, waits, delayed, filter, hits, edges, pointer, flows,
    isFollowed, follow,
  },
) {
  const { context, box, write, tag, tagWidth, textWidth, fitText, fits, clipped, drawSlice, drawArea, outline } = pen;
  const { scale, width, height, top, slices } = scene;
  const { left, right } = scale;
  const lanes = visibleLanes(scene);
  const { step, ticks } = rulerTicks(scale, scale.psPerPx < FINE_PS_PER_PX ? TICK_PX.fine : TICK_PX.coarse);
  const span = preview ?? (isFollowed ? null : selection);
  /** @type {Map<Lane, {text: string, y: number}[]>} */
  const stepTicks = new Map();
  /** @type {Map<import('../lib/theme.js').Tone, import('../lib/theme.js').Tone>} */
  const fadedTones = new Map();
  const clampX = (/** @type {number} */ x) => clamp(x, left, right);
  const isVisible = (/** @type {import('./waits.js').Bar} */ { lane }) => lanes.includes(lane);
  box(palette.surface, 0, 0, width, height);
  for (const { ps } of ticks) box(palette.line, Math.round(scale.x(ps)), RULER_PX, 1, height);
  const block = scene.lanes.find(
    ({ row, y }) => y < scene.fixed && (row.device || row.kind === 'classes' || row.kind === 'thread'),
  );
  if (block) {
    const [from, to] = [laneTop(scene, block) - 4, top + scene.fixed];
    box(palette.surface2, 0, from, width, to - from);
    for (const { ps } of ticks) box(palette.line, Math.round(scale.x(ps)), from, 1, to - from);
    box(palette.line2, 0, to - 1, width, 2);
  }
  for (const lane of scene.lanes) if (lane.rule) box(palette.line2, 0, laneTop(scene, lane) - 4, width, 1);
  clipped(left, top - 2, width - left, height, () => {
    for (const lane of lanes) {
      drawLane(lane);
      drawStepEdges(lane);
    }
    waits.filter(isVisible).forEach((bar) => drawWait(pen, scene, palette, bar));
    if (span) {
      const [from, to] = [clampX(scale.x(span.start_ps)), clampX(scale.x(span.end_ps))];
      box(palette.veil, left, top - 2, from - left, height, 0.55);
      box(palette.veil, to, top - 2, right - to, height, 0.55);
      // Slices with the selected one's name keep their full colour.
      const name = !preview && selection?.kind === 'event' ? (slices?.names.indexOf(selection.name) ?? -1) : -1;
      if (name >= 0) {
        lanes.forEach((lane) => drawLane(lane, name));
        waits
          .filter((bar) => isVisible(bar) && bar.name === selection?.name)
          .forEach((bar) => drawWait(pen, scene, palette, bar));
      }
      for (const ps of [span.start_ps, span.end_ps]) {
        box(palette.sel, Math.round(scale.x(ps)) - 0.75, top - 2, 1.5, height);
        if (preview || selection?.kind === 'window') box(palette.sel, Math.round(scale.x(ps)) - 2.5, top + 4, 5, 14);
      }
    }
    if (follow && selection && !preview) {
      drawFollowed(pen, scene, palette, tones, follow, { selection, ribbons: flows, drawLane });
    }
    delayed.filter(isVisible).forEach((bar) => drawWait(pen, scene, palette, bar, true));
    partners.forEach((partner) => drawOutline(partner, 1.5, palette.sel));
    if (selection?.row) drawOutline(selection, 2, palette.sel);
    if (hover) drawOutline(hover, 1, palette.sel);
    if (cursor && focused) drawOutline(cursor, 2, palette.accent);
    if (pointer !== null) box(palette.ink3, Math.round(pointer), top - 2, 1, height, 0.4);
    drawArrows();
  });
  clipped(left, 0, width - left, RULER_PX + 1, drawRuler);
  drawLabels();

  /**
   * A tone as the legend's filter leaves it; null if it hides it.
   * @param {import('../lib/theme.js').Tone} tone @param {string} key
   */
  function filtered(tone, key) {
    const strength = strengthOf(filter, key);
    if (strength !== FADED) return strength ? tone : null;
    const faded = fadedTones.get(tone) ?? {
      fill: mix(tone.fill, palette.surface, 1 - FADED),
      on: palette.ink3,
      edge: mix(tone.edge, palette.surface, 1 - FADED),
    };
    fadedTones.set(tone, faded);
    return faded;
  }

  /** @param {Lane} lane @param {number} [onlyName] draws only the slices whose name has this index */
  function drawLane(lane, onlyName) {
    const y = laneTop(scene, lane);
    const { kind } = lane.row;
    const isFirstPass = onlyName === undefined;
    if (lane.kind === 'more' && isFirstPass) drawFoldedThreads(pen, scene, palette, lane, y);
    if (lane.kind === 'device' && isFirstPass) drawFoldedDevices(pen, scene, palette, lane, y + 1);
    if (edges && kind === 'gaps' && lane.kind === 'slices' && isFirstPass) {
      write(
        palette.ink3,
        'While device rows are aligned, gaps, work of no step, and parts of work in the next step are not drawn.',
        left + 5,
        y + lane.h / 2,
      );
    }
    const columns = columnsOf(scene, lane);
    if (columns?.parts) {
      if (isFirstPass) stepTicks.set(lane, drawSteps(pen, scene, palette, lane, columns, y, filtered));
      return;
    }
    const waitsOnLane = kind === 'modules' ? waits.filter((bar) => bar.lane === lane) : [];
    /** The pixel of the last slice narrower than one, and that slice's width. */
    let narrow = [-Infinity, 0];
    eachSlice(columns, scale, (i, x, w) => {
      // Slices narrower than a pixel fill it, so only wider ones are drawn over one in the same pixel.
      if (
        !columns ||
        !slices ||
        (w < 1 && Math.round(x) === narrow[0] && w <= narrow[1]) ||
        (!isFirstPass && (columns.name[i] !== onlyName || columns.count[i] > 1))
      ) {
        return;
      }
      const look = lookOf(palette, tones, lane, i, slices);
      const tone = filtered(look.tone, look.key);
      if (!tone) return;
      if (w < 1) narrow = [Math.round(x), w];
      if (columns.count[i] > 1 || w < MIN_EDGES_PX) {
        // Areas in the tones of outlined slices would hardly be visible.
        const fill = tone.fill === palette.surface2 || tone.fill === palette.surface ? palette.line2 : tone.fill;
        // Beside areas, one that covers a part of a pixel is as high as its share too.
        const whole = columns.buckets ? Math.min(1, w) : 1;
        eachCover(columns, i, scale, (from, to, share) =>
          drawArea(fill, scale.x(from), scale.x(to), y, lane.h, whole * share),
        );
      } else {
        const space = textSpace(waitsOnLane, x, w);
        const texts = space < MIN_TEXT_PX ? [''] : textsOf(kind, columns, i, slices.names);
        const text = texts.find((candidate) => fits(candidate, space)) ?? texts[texts.length - 1];
        drawSlice(x, y, w, lane.h, tone, look.texture, text, space);
      }
    });
  }

  /**
   * The width for a slice's text, which ends before the first wait drawn on the slice.
   * @param {import('./waits.js').Bar[]} bars waits drawn on the lane
   * @param {number} from x of the slice
   * @param {number} w width of the slice
   */
  function textSpace(bars, from, w) {
    const firstWait = bars.find(({ end_ps }) => scale.x(end_ps) > from);
    return firstWait ? clamp(scale.x(firstWait.start_ps) - from, 0, w) : w;
  }

  /** Draws the edges of the steps of a lane's host, while device rows are aligned. @param {Lane} lane */
  function drawStepEdges(lane) {
    const y = laneTop(scene, lane);
    let lastX = -Infinity;
    context.strokeStyle = palette.ink2;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.lineDashOffset = y;
    context.beginPath();
    for (const x of (edges?.get(lane.row.host) ?? []).map((ps) => Math.round(scale.x(ps)) + 0.5)) {
      if (x < left || x > right || x - lastX < MIN_EDGE_DISTANCE_PX) continue;
      context.moveTo((lastX = x), y - 2);
      context.lineTo(x, y + lane.h + 6);
    }
    context.stroke();
    context.setLineDash([]);
  }

  /** @param {RowSpan} span @param {number} linePx @param {string} color */
  function drawOutline({ row, depth, start_ps, end_ps }, linePx, color) {
    const lane = laneFor(scene.lanes, row, depth);
    const from = Math.max(left - 3, scale.x(start_ps));
    const to = Math.min(right + 3, scale.x(end_ps));
    if (!lane || !lanes.includes(lane) || to < from) return;
    outline(color, linePx, from, laneTop(scene, lane), to - from, lane.h);
  }

  function drawArrows() {
    for (const { from, to } of arrows.slice(0, MAX_ARROWS)) {
      const [source, target] = [from, to].map(({ row, depth }) => laneFor(scene.lanes, row, depth));
      if (!source || !target) continue;
      const times = arrowTimes({ from, to });
      const [x0, x1] = [scale.x(times.start_ps), scale.x(times.end_ps)];
      const bothOutside = [from, to].every((end) => end.start_ps >= scale.end_ps || end.end_ps <= scale.start_ps);
      if (bothOutside && (Math.max(x0, x1) < left || Math.min(x0, x1) > right)) continue;
      const [y0, y1] = [source, target].map((lane) => laneTop(scene, lane) + lane.h / 2);
      // An arrow that leaves the lanes ends at their border, labelled with the time of the end outside.
      const cut = (/** @type {number} */ x) => clamp(x, left + 4, right - 2);
      drawArrow(cut(x0 > right ? right - 40 : x0), y0, cut(x1), y1);
      if (x1 > right) drawNote(`→ ${instantText(times.end_ps)}`, y1);
      if (x1 < left) tag(palette.surface, palette.ink2, `← ${instantText(times.end_ps)}`, left + 12, y1);
      if (x0 < left) tag(palette.surface, palette.ink2, `${instantText(times.start_ps)} →`, left + 12, y0);
    }
    if (arrows.length > MAX_ARROWS) drawNote(`+${arrows.length - MAX_ARROWS} more`, top + 8);
  }

  /** Draws a text at the right border. @param {string} text @param {number} y */
  function drawNote(text, y) {
    tag(palette.surface, palette.ink2, text, right - 12 - tagWidth(text), y);
  }

  /** @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
  function drawArrow(x0, y0, x1, y1) {
    const reach = clamp(Math.abs(x1 - x0) / 2, 10, 120);
    const isStraight = Math.abs(x1 - x0) < Math.min(MIN_CURVE_PX, Math.abs(y1 - y0));
    // A wide line in the colour of the background separates the arrow from the slices.
    for (const [color, linePx] of /** @type {[string, number][]} */ ([
      [palette.surface, 4],
      [palette.ink, 1.5],
    ])) {
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = linePx;
      context.beginPath();
      context.moveTo(x0, y0);
      if (isStraight) context.lineTo(x1, y1 + (y1 > y0 ? -4 : 4));
      else context.bezierCurveTo(x0 + reach, y0, x1 - reach, y1, x1 - 4, y1);
      context.stroke();
    }
    const head = !isStraight ? 'l-7-3.5v7z' : y1 > y0 ? 'l-3.5-7h7z' : 'l-3.5 7h7z';
    context.fill(new Path2D(`M${x1} ${y1}${head}M${x0} ${y0}m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0`));
  }

  function drawRuler() {
    box(palette.surface, left, 0, width, RULER_PX);
    box(palette.line, left, RULER_PX, width, 1);
    const decimals = Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9));
    const isSpanVisible = span && span.end_ps > scale.start_ps && span.start_ps < scale.end_ps;
    const length = isSpanVisible ? timeText(span.end_ps - span.start_ps) : '';
    const [spanLeft, spanRight] = isSpanVisible
      ? [clampX(scale.x(span.start_ps)), clampX(scale.x(span.end_ps))]
      : [Infinity, -Infinity];
    // The tag with the span's length may be wider than the span.
    const lengthPx = tagWidth(length);
    const tagLeft = isSpanVisible ? clamp((spanLeft + spanRight - lengthPx) / 2, left, right - lengthPx) : Infinity;
    const tagRight = isSpanVisible ? tagLeft + lengthPx : -Infinity;
    // The first label that is drawn has the unit.
    let unit = '\u202fms';
    for (const { ps, hasLabel } of ticks) {
      const x = Math.round(scale.x(ps));
      box(palette.line2, x, hasLabel ? 12 : 16, 1, 8);
      if (!hasLabel) continue;
      const text = digits(ps / 1e9, decimals) + unit;
      const end = x + 4 + textWidth(text);
      if (end <= right && (end < Math.min(tagLeft, spanLeft) || x > Math.max(tagRight, spanRight))) {
        write(palette.ink2, text, x + 4, 10);
        unit = '';
      }
    }
    for (const ps of hits) box(palette.accent, Math.round(scale.x(ps)), RULER_PX - 4, 2, 4);
    if (isSpanVisible) {
      box(palette.surface, spanLeft, 1, spanRight - spanLeft, RULER_PX - 2);
      if (spanRight - spanLeft > lengthPx) box(palette.sel, spanLeft, 10, spanRight - spanLeft, 1);
      for (const ps of [span.start_ps, span.end_ps]) box(palette.sel, Math.round(scale.x(ps)) - 0.75, 2, 1.5, RULER_PX);
      tag(palette.sel, palette.surface, length, tagLeft, 10);
    }
    if (pointer === null) return;
    // The time at the pointer is left out where it would cover the tag with the span's length.
    const text = instantText(scale.ps(pointer), Math.min(6, decimals + 2));
    const x = Math.min(right - tagWidth(text), pointer + 3);
    box(palette.ink, Math.round(pointer), 2, 1, RULER_PX);
    if (x > tagRight + 4 || x + tagWidth(text) < tagLeft - 4) tag(palette.surface, palette.ink, text, x, 10);
  }

  function drawLabels() {
    const edge = left - 8;
    box(palette.surface, 0, 0, left, RULER_PX);
    write(palette.ink3, fitText('ms from session start', edge - 12), 12, 10);
    clipped(0, RULER_PX + 1, left, height, () => {
      for (const lane of lanes) {
        const { indent, right: rightText = '', bold, label: fullLabel, short, ...rest } = labelledLane(scene, lane);
        const timeTicks = stepTicks.get(lane);
        const sub = timeTicks?.length ? 'time by cause' : rest.sub;
        const y = laneTop(scene, lane) + lane.h / 2;
        const x = indent ? 34 : 22;
        timeTicks?.forEach(({ text, y: tickY }) => write(palette.ink3, text, edge - textWidth(text), tickY));
        if (lane.fold) write(palette.ink3, lane.fold.open ? '▾' : '▸', x - 14, y);
        const fullLabelSpace = edge - x - textWidth(rightText) - 8;
        const label = short && textWidth(fullLabel) * BOLD_WIDTH_FACTOR > fullLabelSpace ? short : fullLabel;
        const space = edge - x - textWidth(label) - 12;
        const note = textWidth(rightText) > space ? rightText.replace('shifted ', '') : rightText;
        const end = edge - textWidth(note);
        write(palette.ink3, note, end, y);
        const { font } = context;
        if (bold) context.font = `600 ${font}`;
        const text = fitText(label, end - x - (note ? 8 : 0));
        const textEnd = x + textWidth(text);
        write(indent ? palette.ink2 : palette.ink, text, x, y);
        context.font = font;
        if (sub && textEnd + 10 + textWidth(sub) < end - 8) write(palette.ink3, sub, textEnd + 10, y);
      }
    });
    box(palette.line, left - 1, 0, 1, height);
  }
}
