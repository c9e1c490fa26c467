/** The ruler above the lanes: ticks, hits of the search, the length of the selection, the time under the pointer. */

import { digits, timeText } from '../lib/format.js';
import { clipped, textWidth } from './slices.js';
import { endOf } from './selection.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('./paint.js').Marks} Marks */
/** @typedef {import('../lib/theme.js').Palette} Palette */

export const RULER = 20;

/** @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {ReturnType<typeof import('./scale.js').rulerTicks>} ruler @param {Marks} marks */
export function drawRuler(g, scene, palette, { step, ticks }, marks) {
  const { scale, width } = scene;
  g.fillStyle = palette.surface;
  g.fillRect(scale.left, 0, width, RULER);
  g.fillStyle = palette.line;
  g.fillRect(0, RULER, width, 1);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9));
  const span = marks.preview ?? (marks.selection && { start_ps: marks.selection.start_ps, end_ps: endOf(marks.selection) });
  const measured = span && span.end_ps > scale.start_ps && span.start_ps < scale.end_ps;
  let first = true;
  clipped(g, scale.left, 0, width, RULER + 1, () => {
    for (const { ps, label } of ticks) {
      const x = Math.round(scale.x(ps));
      g.fillStyle = palette.line2;
      g.fillRect(x, label ? 12 : 16, 1, label ? 8 : 4);
      if (!label) continue;
      const text = digits(ps / 1e9, decimals) + (first ? '\u202fms' : '');
      first = false;
      const end = x + 4 + textWidth(g, text);
      if (end > scale.right || (measured && end > scale.x(span.start_ps) && x < scale.x(span.end_ps))) continue;
      g.fillStyle = palette.ink2;
      g.fillText(text, x + 4, 10.5);
    }
    g.fillStyle = palette.accent;
    for (const ps of marks.hits) g.fillRect(Math.round(scale.x(ps)), RULER - 4, 2, 4);
    const tag = measured ? drawMeasure(g, scene, palette, span) : null;
    if (marks.pointer !== null) drawHair(g, scene, palette, marks.pointer, decimals, tag);
  });
}

/** The length of the selection in a filled tag. @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {{start_ps: number, end_ps: number}} span */
function drawMeasure(g, { scale }, palette, span) {
  const text = timeText(span.end_ps - span.start_ps);
  const wide = textWidth(g, text) + 14;
  const [from, to] = [Math.max(scale.left, scale.x(span.start_ps)), Math.min(scale.right, scale.x(span.end_ps))];
  const x = Math.min(scale.right - wide, Math.max(scale.left, (from + to) / 2 - wide / 2));
  g.fillStyle = palette.surface;
  g.fillRect(from, 1, to - from, RULER - 2);
  g.fillStyle = palette.sel;
  if (to - from > wide) g.fillRect(from, 10, to - from, 1);
  for (const edge of [span.start_ps, span.end_ps].map(scale.x)) g.fillRect(Math.round(edge) - 0.75, 2, 1.5, RULER);
  g.fillRect(x, 3, wide, 15);
  g.fillStyle = palette.surface;
  g.fillText(text, x + 7, 11);
  return { from: x, to: x + wide };
}

/**
 * The time under the pointer; only the line where the tag of the selection has the place.
 * @param {CanvasRenderingContext2D} g @param {Scene} scene @param {Palette} palette @param {number} x @param {number} decimals
 * @param {{from: number, to: number}|null} tag
 */
function drawHair(g, { scale }, palette, x, decimals, tag) {
  const text = digits(scale.ps(x) / 1e9, Math.min(6, decimals + 2)) + '\u202fms';
  const wide = textWidth(g, text) + 8;
  const left = Math.min(scale.right - wide, x + 3);
  g.fillStyle = palette.ink;
  g.fillRect(Math.round(x), 2, 1, RULER);
  if (tag && left < tag.to + 4 && left + wide > tag.from - 4) return;
  g.fillStyle = palette.surface;
  g.fillRect(left, 2, wide, 16);
  g.fillStyle = palette.ink;
  g.fillText(text, left + 4, 10.5);
}
