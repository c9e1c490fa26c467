/** Arrows between the selected event and its flow partners: what launched it, what it launched. */

import { placeText } from '../lib/format.js';
import { laneFor, laneTop } from './scene.js';
import { clipped, textWidth } from './slices.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {{row: string, depth: number, start_ps: number, duration_ps: number}} Place */
/** @typedef {{from: Place, to: Place}} Arrow */

const MOST = 32;

/** Flows of one event as arrows in the order of time. @param {Place} own @param {{from: Place[], to: Place[]}} flow @returns {Arrow[]} */
export function arrowsOf(own, flow) {
  return [...flow.from.map((from) => ({ from, to: own })), ...flow.to.map((to) => ({ from: own, to }))];
}

/**
 * Where an arrow begins and ends in time: from the end of the source, or from within it when the target begins earlier.
 * @param {Arrow} arrow
 */
export function arrowTimes({ from, to }) {
  return { start_ps: Math.max(from.start_ps, Math.min(from.start_ps + from.duration_ps, to.start_ps)), end_ps: to.start_ps };
}

/** @param {CanvasRenderingContext2D} g @param {Scene} scene @param {import('../lib/theme.js').Palette} palette @param {Arrow[]} arrows */
export function drawFlows(g, scene, palette, arrows) {
  const { scale } = scene;
  clipped(g, scale.left, scene.top - 2, scale.right - scale.left, scene.height, () => {
    let left = arrows.length;
    for (const arrow of arrows.slice(0, MOST)) {
      left -= 1;
      const source = laneFor(scene.lanes, arrow.from.row, arrow.from.depth);
      const target = laneFor(scene.lanes, arrow.to.row, arrow.to.depth);
      if (!source || !target) continue;
      const times = arrowTimes(arrow);
      const [x0, x1] = [scale.x(times.start_ps), scale.x(times.end_ps)];
      const seen = (/** @type {Place} */ place) => place.start_ps < scale.end_ps && place.start_ps + place.duration_ps > scale.start_ps;
      if (!seen(arrow.from) && !seen(arrow.to) && (Math.max(x0, x1) < scale.left || Math.min(x0, x1) > scale.right)) continue;
      const [y0, y1] = [source, target].map((lane) => laneTop(scene, lane) + lane.h / 2);
      // Off screen an arrow begins or ends at the border, with the time it goes on to.
      const inside = (/** @type {number} */ x) => Math.min(scale.right - 2, Math.max(scale.left + 4, x));
      drawArrow(g, palette, inside(x0 > scale.right ? scale.right - 40 : x0), y0, inside(x1), y1);
      if (x1 > scale.right) note(g, palette, `→ ${placeText(times.end_ps)}`, scale.right - 12, y1, 'right');
      if (x1 < scale.left) note(g, palette, `← ${placeText(times.end_ps)}`, scale.left + 12, y1, 'left');
      if (x0 < scale.left) note(g, palette, `${placeText(times.start_ps)} →`, scale.left + 12, y0, 'left');
    }
    if (left > 0) note(g, palette, `+${left} more`, scale.right - 6, scene.top + 8, 'right');
  });
}

/** @param {CanvasRenderingContext2D} g @param {import('../lib/theme.js').Palette} palette @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function drawArrow(g, palette, x0, y0, x1, y1) {
  const reach = Math.min(120, Math.max(10, Math.abs(x1 - x0) / 2));
  for (const [color, width] of /** @type {[string, number][]} */ ([[palette.surface, 4], [palette.ink, 1.5]])) {
    g.strokeStyle = color;
    g.lineWidth = width;
    g.beginPath();
    g.moveTo(x0, y0);
    g.bezierCurveTo(x0 + reach, y0, x1 - reach, y1, x1 - 4, y1);
    g.stroke();
  }
  g.fillStyle = palette.ink;
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x1 - 7, y1 - 3.5);
  g.lineTo(x1 - 7, y1 + 3.5);
  g.fill();
  g.beginPath();
  g.arc(x0, y0, 2.5, 0, 7);
  g.fill();
}

/** @param {CanvasRenderingContext2D} g @param {import('../lib/theme.js').Palette} palette @param {string} text @param {number} x @param {number} y @param {'left'|'right'} side */
function note(g, palette, text, x, y, side) {
  const wide = textWidth(g, text) + 6;
  const left = side === 'left' ? x : x - wide;
  g.fillStyle = palette.surface;
  g.fillRect(left, y - 8, wide, 16);
  g.fillStyle = palette.ink2;
  g.fillText(text, left + 3, y + 0.5);
}
