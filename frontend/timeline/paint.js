/** Draws one frame of the lanes: grid, slices, veil, selection; ruler and labels have files of their own. */

import { firstAfter } from './columns.js';
import { drawLabels } from './labels.js';
import { drawRuler, RULER } from './ruler.js';
import { clipped, drawMerged, drawSlice, outline } from './slices.js';
import { lookOf, textOf } from './tones.js';
import { columnsOf, laneFor, laneTop, visibleLanes } from './scene.js';
import { rulerTicks } from './scale.js';
import { endOf } from './selection.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('./layout.js').Lane} Lane */
/** @typedef {import('../lib/theme.js').Palette} Palette */
/**
 * @typedef {object} Marks what is drawn on top of the slices
 * @property {import('./selection.js').Selection|null} selection
 * @property {{start_ps: number, end_ps: number}|null} preview a window that is being dragged
 * @property {import('./scene.js').Found|null} hover @property {import('./scene.js').Found|null} cursor
 * @property {boolean} focused the lanes have the keyboard
 * @property {{row: string, depth: number, start_ps: number, duration_ps: number}[]} partners of the selected event, or the marked piece of a gap
 * @property {number[]} hits where the search found something, in ps
 * @property {number|null} pointer x of the hair line
 */

/** @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {Map<string, number>} tones @param {Marks} marks */
export function paint(g, scene, palette, tones, marks) {
  const { scale, width, height } = scene;
  g.font = `${11 * palette.unit}px ${palette.font}`;
  g.textBaseline = 'middle';
  g.textAlign = 'left';
  g.fillStyle = palette.surface;
  g.fillRect(0, 0, width, height);
  const ruler = rulerTicks(scale, scale.psPerPx < 1e5 ? 60 : 40);
  drawGrid(g, scene, palette, ruler.ticks);

  clipped(g, scale.left, scene.top - 2, width - scale.left, height, () => {
    for (const lane of visibleLanes(scene)) drawLane(g, scene, palette, tones, lane);
    const span = marks.preview ?? (marks.selection && { start_ps: marks.selection.start_ps, end_ps: endOf(marks.selection) });
    if (span) drawVeil(g, scene, palette, span);
    if (marks.selection?.kind === 'event' && !marks.preview) sameName(g, scene, palette, tones, marks.selection);
    if (span) drawEdges(g, scene, palette, span, marks.preview !== null || marks.selection?.kind === 'window');
    drawOutlines(g, scene, palette, marks);
    if (marks.pointer !== null) {
      g.fillStyle = palette.ink3;
      g.globalAlpha = 0.4;
      g.fillRect(Math.round(marks.pointer), scene.top - 2, 1, height);
      g.globalAlpha = 1;
    }
  });
  drawRuler(g, scene, palette, ruler, marks);
  drawLabels(g, scene, palette);
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {{ps: number}[]} ticks */
function drawGrid(g, scene, palette, ticks) {
  g.fillStyle = palette.line;
  for (const { ps } of ticks) g.fillRect(Math.round(scene.scale.x(ps)), RULER, 1, scene.height);
  for (const lane of scene.lanes.filter(({ rule }) => rule)) {
    g.fillStyle = palette.line2;
    const y = laneTop(scene, lane) - 4;
    if (y > RULER) g.fillRect(0, y, scene.width, 1);
  }
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {Map<string, number>} tones @param {Lane} lane */
function drawLane(g, scene, palette, tones, lane) {
  if (lane.kind === 'more') return drawMore(g, scene, palette, lane);
  if (lane.kind === 'device') return drawFolded(g, scene, palette, lane);
  const columns = columnsOf(scene, lane);
  if (!columns || !scene.slices) return undefined;
  const { scale } = scene;
  const { names, rows } = scene.slices;
  const y = laneTop(scene, lane);
  const depths = rows.get(lane.row.id);
  let drawn = -Infinity;
  for (let i = firstAfter(columns, scale.start_ps); i < columns.length && columns.start[i] < scale.end_ps; i += 1) {
    const from = Math.max(scale.left - 1, scale.x(columns.start[i]));
    const w = Math.min(scale.right + 1, scale.x(columns.end[i])) - from;
    // What is thinner than a pixel covers its whole column: one per column is enough.
    if (w < 1 && Math.floor(from) === drawn) continue;
    if (w < 1) drawn = Math.floor(from);
    const { tone, sign } = lookOf(palette, tones, lane.row.kind, lane.depth, columns, i, names, depths);
    if (columns.count[i] > 1) drawMerged(g, palette, from, y, w, lane.h, tone, columns.count[i]);
    else drawSlice(g, palette, from, y, w, lane.h, tone, sign, w >= 22 ? textOf(lane.row.kind, columns, i, names) : '');
  }
  return undefined;
}

/** Threads folded into one lane: how many of them do something, as height. @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {Lane} lane */
function drawMore(g, scene, palette, lane) {
  const { scale } = scene;
  const pitch = 3;
  const bins = new Float32Array(Math.ceil((scale.right - scale.left) / pitch) + 1);
  for (const { id } of lane.rows) {
    const columns = scene.slices?.rows.get(id)?.[0];
    if (!columns) continue;
    for (let i = firstAfter(columns, scale.start_ps); i < columns.length && columns.start[i] < scale.end_ps; i += 1) {
      const from = Math.max(0, Math.floor((scale.x(columns.start[i]) - scale.left) / pitch));
      const to = Math.min(bins.length - 1, Math.floor((scale.x(columns.end[i]) - scale.left) / pitch));
      for (let bin = from; bin <= to; bin += 1) bins[bin] += 1;
    }
  }
  const most = bins.reduce((largest, value) => Math.max(largest, value), 1);
  const floor = laneTop(scene, lane) + lane.h;
  g.fillStyle = palette.ink3;
  bins.forEach((value, bin) => {
    if (!value) return;
    g.globalAlpha = 0.35 + 0.5 * (value / most);
    const tall = 3 + Math.round((lane.h - 4) * (value / most));
    g.fillRect(scale.left + bin * pitch, floor - tall, pitch - 1, tall);
  });
  g.globalAlpha = 1;
}

/** A folded device: its modules in outline, collectives in them. @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {Lane} lane */
function drawFolded(g, scene, palette, lane) {
  const { scale } = scene;
  const y = laneTop(scene, lane) + 1;
  for (const row of lane.rows) {
    const columns = scene.slices?.rows.get(row.id)?.[0];
    if (!columns) continue;
    const module = row.kind === 'modules' || lane.rows.length === 1;
    g.fillStyle = module ? palette.dev.fill : palette.devColl.fill;
    for (let i = firstAfter(columns, scale.start_ps); i < columns.length && columns.start[i] < scale.end_ps; i += 1) {
      if (!module && columns.kind[i] !== 1) continue;
      const from = Math.max(scale.left, scale.x(columns.start[i]));
      g.fillRect(from, y, Math.max(1, Math.min(scale.right, scale.x(columns.end[i])) - from), lane.h - 3);
    }
  }
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {{start_ps: number, end_ps: number}} span */
function drawVeil(g, { scale, top, height }, palette, span) {
  const [from, to] = [scale.x(span.start_ps), scale.x(span.end_ps)].map((x) => Math.min(scale.right, Math.max(scale.left, x)));
  g.fillStyle = palette.veil;
  g.globalAlpha = 0.55;
  g.fillRect(scale.left, top - 2, from - scale.left, height);
  g.fillRect(to, top - 2, scale.right - to, height);
  g.globalAlpha = 1;
}

/** Slices called like the selected one keep their full colour. @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {Map<string, number>} tones @param {import('./selection.js').EventSelection} selection */
function sameName(g, scene, palette, tones, selection) {
  const name = scene.slices?.names.indexOf(selection.name) ?? -1;
  if (!scene.slices || name < 0) return;
  const { scale } = scene;
  for (const lane of visibleLanes(scene)) {
    const columns = lane.kind === 'slices' && lane.row.kind !== 'classes' ? columnsOf(scene, lane) : null;
    for (let i = columns ? firstAfter(columns, scale.start_ps) : 0; columns && i < columns.length && columns.start[i] < scale.end_ps; i += 1) {
      if (columns.name[i] !== name || columns.count[i] > 1) continue;
      const from = Math.max(scale.left - 1, scale.x(columns.start[i]));
      const w = Math.min(scale.right + 1, scale.x(columns.end[i])) - from;
      const { tone, sign } = lookOf(palette, tones, lane.row.kind, lane.depth, columns, i, scene.slices.names, scene.slices.rows.get(lane.row.id));
      drawSlice(g, palette, from, laneTop(scene, lane), w, lane.h, tone, sign, w >= 22 ? textOf(lane.row.kind, columns, i, scene.slices.names) : '');
    }
  }
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {{start_ps: number, end_ps: number}} span @param {boolean} grips */
function drawEdges(g, { scale, height, top }, palette, span, grips) {
  g.fillStyle = palette.sel;
  for (const ps of [span.start_ps, span.end_ps]) {
    const x = scale.x(ps);
    if (x < scale.left - 1 || x > scale.right + 1) continue;
    g.fillRect(Math.round(x) - 0.75, top - 2, 1.5, height);
    if (grips) g.fillRect(Math.round(x) - 2.5, top + 4, 5, 14);
  }
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {Marks} marks */
function drawOutlines(g, scene, palette, { selection, partners, hover, cursor, focused }) {
  /** @param {string} row @param {number} depth @param {number} start @param {number} end @param {number} width @param {string} color */
  const around = (row, depth, start, end, width, color) => {
    const lane = laneFor(scene.lanes, row, depth);
    if (!lane) return;
    const from = Math.max(scene.scale.left - 3, scene.scale.x(start));
    const to = Math.min(scene.scale.right + 3, scene.scale.x(end));
    if (to >= from) outline(g, color, width, from, laneTop(scene, lane), to - from, lane.h);
  };
  for (const { row, depth, start_ps, duration_ps } of partners) around(row, depth, start_ps, start_ps + duration_ps, 1.5, palette.sel);
  if (selection && selection.kind !== 'window') around(selection.row, selection.depth, selection.start_ps, endOf(selection), 2, palette.sel);
  if (hover) around(hover.row, hover.depth, hover.start_ps, hover.end_ps, 1, palette.sel);
  if (cursor && focused) around(cursor.row, cursor.depth, cursor.start_ps, cursor.end_ps, 2, palette.focus);
}
