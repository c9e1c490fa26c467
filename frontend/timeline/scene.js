/** One frame of the lanes as data: everything that drawing, hit testing and tests need to agree on. */

import { CLASSES, LABELS } from '../lib/classes.js';
import { firstAfter, sliceAt } from './columns.js';
import { textOf } from './tones.js';

/** @typedef {import('./layout.js').Lane} Lane */
/** @typedef {import('./columns.js').Columns} Columns */
/**
 * @typedef {object} Scene
 * @property {import('./scale.js').Scale} scale
 * @property {Lane[]} lanes @property {number} top height of the ruler above the lanes @property {number} scroll
 * @property {number} width @property {number} height of the canvas
 * @property {import('./columns.js').Slices|null} slices
 */
/**
 * A slice that was found: enough to name it, select it and outline it.
 * @typedef {object} Found
 * @property {Lane} lane @property {string} row @property {number} depth @property {number} index
 * @property {number} start_ps @property {number} end_ps
 * @property {string} name what it is called: its own name, or the label of its class
 * @property {number} kind as in the columns @property {number} count @property {number} busy_ps
 * @property {string|null} event `<host index>.<event id>`
 */

/** @param {Scene} scene @param {Lane} lane @returns {Columns|null} */
export function columnsOf(scene, lane) {
  return scene.slices?.rows.get(lane.row.id)?.[lane.depth] ?? null;
}

/** Where a lane stands on the canvas. @param {Scene} scene @param {Lane} lane */
export const laneTop = (scene, lane) => scene.top + lane.y - scene.scroll;

/** The lanes in sight. @param {Scene} scene */
export function visibleLanes(scene) {
  return scene.lanes.filter((lane) => laneTop(scene, lane) + lane.h > scene.top && laneTop(scene, lane) < scene.height);
}

/** The lane at a height of the canvas, if it is in sight there. @param {Scene} scene @param {number} y @returns {Lane|null} */
export function laneAt(scene, y) {
  if (y < scene.top) return null;
  const at = y - scene.top + scene.scroll;
  return scene.lanes.find((lane) => at >= lane.y && at < lane.y + lane.h) ?? null;
}

/** The lane that shows a depth of a row, or the lane that it is folded into. @param {Lane[]} lanes @param {string} row @param {number} depth */
export function laneFor(lanes, row, depth) {
  const own = lanes.filter((lane) => lane.kind === 'slices' && lane.row.id === row);
  return own.find((lane) => lane.depth === depth) ?? own.at(-1)
    ?? lanes.find((lane) => lane.rows.some(({ id }) => id === row)) ?? null;
}

/** The host index of a row's id: `h0.t3` → `0`. @param {string} row */
const hostIndex = (row) => /^h(\d+)/.exec(row)?.[1] ?? '0';

/** @param {Scene} scene @param {Lane} lane @param {number} index @returns {Found|null} */
export function foundAt(scene, lane, index) {
  const columns = columnsOf(scene, lane);
  if (!columns || !scene.slices || index < 0 || index >= columns.length) return null;
  const id = columns.event[index];
  return {
    lane, row: lane.row.id, depth: lane.depth, index,
    start_ps: columns.start[index], end_ps: columns.end[index],
    name: scene.slices.names[columns.name[index]] ?? textOf(lane.row.kind, columns, index, scene.slices.names),
    kind: columns.kind[index], count: columns.count[index], busy_ps: columns.busy[index],
    event: id >= 0 ? `${hostIndex(lane.row.id)}.${id}` : null,
  };
}

/** The slice under a point of the canvas. @param {Scene} scene @param {number} x @param {number} y @returns {Found|null} */
export function find(scene, x, y) {
  const lane = laneAt(scene, y);
  if (!lane || lane.kind !== 'slices' || x < scene.scale.left) return null;
  const columns = columnsOf(scene, lane);
  return columns && foundAt(scene, lane, sliceAt(columns, scene.scale.ps(x), scene.scale.psPerPx * 2));
}

/** Whether the class index of a slice in this lane is one of the twelve. @param {Lane} lane */
export const hasClass = (lane) => lane.row.kind === 'thread' || lane.row.kind === 'classes' || lane.row.kind === 'gaps';

/** The word for what a slice is: its class on host lanes, the kind of its row else. @param {Found} found */
export function whatIs(found) {
  if (found.lane.row.kind === 'gaps') return `gap, mostly ${LABELS[CLASSES[found.kind]] ?? ''}`;
  if (hasClass(found.lane)) return LABELS[CLASSES[found.kind]] ?? '';
  if (found.lane.row.kind === 'ops') return ['op', 'collective', 'stall'][found.kind] ?? 'op';
  return { steps: 'step', annotations: 'annotation', modules: 'module', scopes: 'scope', async: 'asynchronous op', stream: 'stream' }[
    /** @type {'steps'} */ (found.lane.row.kind)] ?? '';
}

/** All slices in sight, for tests: made when asked for. @param {Scene} scene */
export function visibleSlices(scene) {
  const { scale } = scene;
  return scene.lanes.flatMap((lane) => {
    const columns = lane.kind === 'slices' ? columnsOf(scene, lane) : null;
    const y = laneTop(scene, lane);
    if (!columns || y + lane.h < scene.top || y > scene.height) return [];
    const all = [];
    for (let i = firstAfter(columns, scale.start_ps); i < columns.length && columns.start[i] < scale.end_ps; i += 1) {
      const { lane: _, ...found } = /** @type {Found} */ (foundAt(scene, lane, i));
      const x = Math.max(scale.left, scale.x(found.start_ps));
      all.push({ ...found, class: hasClass(lane) ? CLASSES[found.kind] : null, x, y, w: Math.min(scale.right, scale.x(found.end_ps)) - x, h: lane.h });
    }
    return all;
  });
}
