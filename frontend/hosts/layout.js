/** The geometry and scales of the heat map, in pixels and numbers; draws nothing. */

import { clamp } from '../lib/axis.js';

/**
 * A row of the map, in the order of the table: that of a named host (in the answer `has_own_row`), or a thin row of one
 * or more other hosts, which shows their largest value of each step. `hosts`: their indices.
 * @typedef {{hosts: number[], y: number, h: number, named: boolean}} HeatRow
 */

/** Margins of the map, px. */
export const LEFT = 128;
export const RIGHT = 62;
export const HEAD = 40;
/** Height of the row of a named host, and of the spaces below it and above the thin rows, px. */
const NAMED_ROW_PX = 33;
const NAMED_GAP_PX = 3;
const THIN_GAP_PX = 6;
/** Height of all thin rows together, of one of them, and of the text beside them, px. */
const THIN_ROWS_PX = 90;
const MAX_THIN_ROW_PX = 18;
const THIN_TEXT_PX = 48;
const MIN_COLUMN_PX = 6;
const MAX_COLUMNS = 120;

/**
 * The number of visible steps: all, up to 120, if each gets at least 6 px.
 * @param {number} width of all columns, px
 * @param {number} steps
 */
export const columnsThatFit = (width, steps) =>
  Math.min(steps, MAX_COLUMNS, Math.max(1, Math.floor(width / MIN_COLUMN_PX)));

/**
 * The rows from top to bottom: named hosts first, then thin rows of the unnamed ones. `top` is that of the thin rows,
 * `bottom` that of the map; `hostsPerRow`: hosts per thin row, 0 without thin rows.
 * @param {number[]} named indices of hosts @param {number[]} unnamed
 */
export function heatRows(named, unnamed) {
  /** @type {HeatRow[]} */
  const rows = named.map((host, index) => ({
    hosts: [host],
    y: HEAD + index * (NAMED_ROW_PX + NAMED_GAP_PX),
    h: NAMED_ROW_PX,
    named: true,
  }));
  const top = HEAD + named.length * (NAMED_ROW_PX + NAMED_GAP_PX) + (named.length ? THIN_GAP_PX : 0);
  // Thin rows are at least 1 px high.
  const hostsPerRow = Math.ceil(unnamed.length / THIN_ROWS_PX);
  const groups = Array.from({ length: hostsPerRow ? Math.ceil(unnamed.length / hostsPerRow) : 0 }, (_, index) =>
    unnamed.slice(index * hostsPerRow, (index + 1) * hostsPerRow),
  );
  const rowHeight = Math.min(MAX_THIN_ROW_PX, THIN_ROWS_PX / groups.length);
  groups.forEach((hosts, index) => {
    const y = Math.round(top + index * rowHeight);
    rows.push({ hosts, y, h: Math.round(top + (index + 1) * rowHeight) - y, named: false });
  });
  const last = rows.at(-1);
  const bottom = Math.max(last ? last.y + last.h : top, unnamed.length ? top + THIN_TEXT_PX : 0);
  return { rows, top, hostsPerRow, bottom };
}

/**
 * The left edge of a column, rounded to whole pixels for sharp edges.
 * @param {number} column counted from the first visible one
 * @param {number} columnCount number of visible columns
 * @param {number} width of the map, px
 */
export const columnX = (column, columnCount, width) =>
  LEFT + Math.round((column * (width - LEFT - RIGHT)) / columnCount);

/**
 * The column under the pointer; -1 outside the columns.
 * @param {number} x @param {number} columnCount @param {number} width
 */
export function columnAt(x, columnCount, width) {
  const column = Math.floor(((x - LEFT) * columnCount) / (width - LEFT - RIGHT));
  return column >= 0 && column < columnCount ? column : -1;
}

/**
 * The index of the row at `y`, -1 if there is none; the space below a named row belongs to it.
 * @param {HeatRow[]} rows @param {number} y
 */
export const rowAt = (rows, y) =>
  rows.findIndex((row) => y >= row.y && y < row.y + row.h + (row.named ? NAMED_GAP_PX : 0));

/**
 * A percentile of values. Scales end at the 95th, so that an outlier does not flatten the rest.
 * @param {number[]} values
 * @param {number} [fraction] of the values that are at most the percentile
 */
export function percentile(values, fraction = 0.95) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)] : 0;
}

/** The position of a value on a scale, 0 to 1. @param {number} value @param {number} from @param {number} to */
export const onScale = (value, from, to) => (to > from ? clamp((value - from) / (to - from), 0, 1) : 0);

/**
 * The distance, in columns, between labels that do not touch.
 * @param {number} columnWidth px
 * @param {number} labelWidth px
 */
export const labelEvery = (columnWidth, labelWidth) =>
  [1, 2, 4, 5, 10, 20, 50, 100].find((step) => step * columnWidth >= labelWidth) ?? 200;

/**
 * Merges neighbours with equal keys: `[from, to, key]`, both ends included.
 * @template K
 * @param {K[]} keys
 * @returns {[number, number, K][]}
 */
export function mergeNeighbours(keys) {
  /** @type {[number, number, K][]} */
  const groups = [];
  keys.forEach((key, index) => {
    const last = groups.at(-1);
    if (last && last[2] === key) last[1] = index;
    else groups.push([index, index, key]);
  });
  return groups;
}
