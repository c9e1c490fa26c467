/** One frame of the lanes as data, for drawing, hit testing and tests. */

import { CLASSES } from '../lib/classes.js';
import { parseRowId } from '../lib/row-ids.js';
import { roundToNs } from '../lib/link.js';
import { eachSlice, nearestEdge, sliceAt } from './columns.js';
import { stepBars } from './paint-steps.js';
import { hasClass, textsOf } from './slice-style.js';

/** @typedef {import('./layout.js').Lane} Lane */
/**
 * @typedef {object} Scene
 * @property {import('./scale.js').Scale} scale
 * @property {Lane[]} lanes
 * @property {number} top y from which the lanes are drawn, below the ruler, px
 * @property {number} scroll px by which the lanes are scrolled
 * @property {number} fixed height of the lanes at the top that are not scrolled
 * @property {number} width @property {number} height of the canvas, px
 * @property {import('./columns.js').Slices|null} slices null until they are loaded
 * @property {(slice: DrawnSlice) => boolean} [isHidden] whether the legend hides a slice
 */
/**
 * A slice as drawn: what is needed to name, select and outline it.
 * @typedef {object} DrawnSlice
 * @property {Lane} lane
 * @property {string} row @property {number} depth
 * @property {number} index in the columns; -1 for an instant without a slice
 * @property {number} start_ps @property {number} end_ps as drawn
 * @property {number} real_ps its true start
 * @property {number} length_ps its true length
 * @property {string} name its name, else the longest candidate for its text, such as the label of its class
 * @property {number} classIndex @property {number} count @property {number} busy_ps as in the columns
 * @property {string|null} event id: `<host index>.<number of the event>`
 */

/** The slices of a lane. @param {Scene} scene @param {Lane} lane @returns {import('./columns.js').Columns|null} */
export const columnsOf = ({ slices }, { kind, row, depth }) =>
  kind === 'slices' ? (slices?.rows.get(row.id)?.[depth] ?? null) : null;

/** The y of a lane on the canvas. @param {Scene} scene @param {Lane} lane */
export const laneTop = ({ top, fixed, scroll }, lane) => top + lane.y - (lane.y < fixed ? 0 : scroll);

/** Whether a lane is not above the visible ones. @param {Scene} scene @param {Lane} lane */
const isBelowEdge = (scene, lane) => lane.y < scene.fixed || lane.y - scene.scroll >= scene.fixed;

/** The fully visible lanes. @param {Scene} scene */
export const visibleLanes = (scene) =>
  scene.lanes.filter((lane) => isBelowEdge(scene, lane) && laneTop(scene, lane) + lane.h <= scene.height);

/**
 * The lane whose label is drawn beside a lane: the lane itself, except that the topmost lane in view shows the label of
 * its row. The row's first lane has that label, and may be scrolled out of view.
 * @param {Scene} scene
 * @param {Lane} lane
 */
export function labelledLane(scene, lane) {
  const isTopmost = (/** @type {Lane} */ candidate) => candidate.y >= scene.fixed && isBelowEdge(scene, candidate);
  if (lane.label || scene.lanes.find(isTopmost) !== lane) return lane;
  return scene.lanes.find(({ row }) => row.id === lane.row.id) ?? lane;
}

/**
 * The visible lane at a height of the canvas.
 * @param {Scene} scene
 * @param {number} y
 * @returns {Lane|null}
 */
export function laneAt(scene, y) {
  return visibleLanes(scene).find((lane) => y >= laneTop(scene, lane) && y < laneTop(scene, lane) + lane.h) ?? null;
}

/**
 * The lane that shows a depth of a row, else the row's last lane, else the lane that the row is folded into; null if
 * there is none.
 * @param {Lane[]} lanes
 * @param {string} row
 * @param {number} depth
 */
export function laneFor(lanes, row, depth) {
  const rowLanes = lanes.filter((lane) => lane.kind === 'slices' && lane.row.id === row);
  return rowLanes.find((lane) => lane.depth === depth) ?? rowLanes.at(-1)
    ?? lanes.find((lane) => lane.rows.some(({ id }) => id === row)) ?? null;
}

/**
 * A slice of a lane, by its index in the columns.
 * @param {Scene} scene
 * @param {Lane} lane
 * @param {number} index
 * @returns {DrawnSlice|null}
 */
export function drawnSlice(scene, lane, index) {
  const columns = columnsOf(scene, lane);
  if (!columns || !scene.slices || index < 0 || index >= columns.length) return null;
  const { start, end, name, classIndex, count, busy, event, real } = columns;
  const real_ps = (real?.start ?? start)[index];
  return {
    lane, row: lane.row.id, depth: lane.depth, index, start_ps: start[index], end_ps: end[index],
    real_ps, length_ps: (real?.end ?? end)[index] - real_ps,
    name: scene.slices.names[name[index]] ?? textsOf(lane.row.kind, columns, index, scene.slices.names)[0],
    classIndex: classIndex[index], count: count[index], busy_ps: busy[index],
    event: event[index] < 0 ? null : `${parseRowId(lane.row.id)?.host ?? 0}.${event[index]}`,
  };
}

/** Slices this close to a point are found, px. */
const REACH_PX = 2;
/** An end of a dragged window moves to an edge this close to it, px. */
const SNAP_PX = 4;

/**
 * The slice at a point of the canvas.
 * @param {Scene} scene
 * @param {number} x
 * @param {number} y
 * @returns {DrawnSlice|null}
 */
export function findSlice(scene, x, y) {
  const { scale } = scene;
  const lane = x < scale.left ? null : laneAt(scene, y);
  const columns = lane && columnsOf(scene, lane);
  const index = columns?.parts
    ? (stepBars(columns, scale).bars.find((bar) => x >= bar.x && x < bar.x + bar.w)?.i ?? -1)
    : columns && sliceAt(columns, scale.ps(x), scale.psPerPx * REACH_PX);
  const slice = columns && drawnSlice(scene, lane, index ?? -1);
  return slice && scene.isHidden?.(slice) ? null : slice;
}

/**
 * An instant, moved to an edge of a slice near it in the lane at a height of the canvas; else rounded to ns.
 * @param {Scene} scene @param {number} ps @param {number} y
 */
export function snapToEdge(scene, ps, y) {
  const lane = laneAt(scene, y);
  const columns = lane && columnsOf(scene, lane);
  return (columns && nearestEdge(columns, ps, scene.scale.psPerPx * SNAP_PX)) ?? roundToNs(ps);
}

/** All visible slices, for tests. @param {Scene} scene */
export function visibleSlices(scene) {
  /** @type {object[]} */
  const slices = [];
  for (const lane of visibleLanes(scene)) {
    eachSlice(columnsOf(scene, lane), scene.scale, (i) => {
      const drawn = /** @type {DrawnSlice} */ (drawnSlice(scene, lane, i));
      if (scene.isHidden?.(drawn)) return;
      const { lane: _, ...slice } = drawn;
      const x = Math.max(scene.scale.left, scene.scale.x(slice.start_ps));
      const w = Math.min(scene.scale.right, scene.scale.x(slice.end_ps)) - x;
      slices.push({
        ...slice,
        class: hasClass(lane) ? CLASSES[slice.classIndex] : null,
        x,
        y: laneTop(scene, lane),
        w,
        h: lane.h,
      });
    });
  }
  return slices;
}
