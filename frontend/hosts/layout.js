/** Where hosts and steps stand in the heat map, and what is how high or dark: pixels and numbers, no drawing. */

import { clamp } from '../lib/axis.js';

/**
 * Rows in the order of the table: a host by itself, or several of which the latest is shown.
 * @typedef {{hosts: number[], y: number, h: number, named: boolean}} HeatRow
 */

export const LEFT = 128;
export const RIGHT = 62;
export const HEAD = 40;
const NAMED = 33;
const AFTER_NAMED = 3;
const BEFORE_THIN = 6;
const THIN_TOGETHER = 90;
const THIN_MOST = 18;
/** Room for the words beside the thin rows. */
const THIN_WORDS = 48;
const LEAST_COLUMN = 6;
const MOST_COLUMNS = 120;

/**
 * How many steps are in sight: all up to 120, if each has 6 px.
 * @param {number} width of the columns together
 * @param {number} steps
 */
export const columnsThatFit = (width, steps) =>
  Math.min(steps, MOST_COLUMNS, Math.max(1, Math.floor(width / LEAST_COLUMN)));

/** Rows from top to bottom. @param {number[]} named @param {number[]} unnamed */
export function heatRows(named, unnamed) {
  /** @type {HeatRow[]} */
  const rows = named.map((host, index) => ({
    hosts: [host],
    y: HEAD + index * (NAMED + AFTER_NAMED),
    h: NAMED,
    named: true,
  }));
  const top = HEAD + named.length * (NAMED + AFTER_NAMED) + (named.length ? BEFORE_THIN : 0);
  const hostsPerRow = Math.ceil(unnamed.length / THIN_TOGETHER);
  const groups = Array.from({ length: hostsPerRow ? Math.ceil(unnamed.length / hostsPerRow) : 0 }, (_, index) =>
    unnamed.slice(index * hostsPerRow, (index + 1) * hostsPerRow),
  );
  const high = Math.min(THIN_MOST, THIN_TOGETHER / groups.length);
  groups.forEach((hosts, index) => {
    const y = Math.round(top + index * high);
    rows.push({ hosts, y, h: Math.round(top + (index + 1) * high) - y, named: false });
  });
  const last = rows.at(-1);
  const bottom = Math.max(last ? last.y + last.h : top, unnamed.length ? top + THIN_WORDS : 0);
  return { rows, top, each: hostsPerRow, bottom };
}

/**
 * The left edge of a column, on whole pixels, so that all have sharp edges.
 * @param {number} at counted from the first in sight
 * @param {number} fits
 * @param {number} width
 */
export const columnX = (at, fits, width) => LEFT + Math.round((at * (width - LEFT - RIGHT)) / fits);

/** The column under the pointer, -1 beside them. @param {number} x @param {number} fits @param {number} width */
export function columnAt(x, fits, width) {
  const at = Math.floor(((x - LEFT) * fits) / (width - LEFT - RIGHT));
  return at >= 0 && at < fits ? at : -1;
}

/** The row at a height; its space below belongs to it. @param {HeatRow[]} rows @param {number} y */
export const rowAt = (rows, y) =>
  rows.findIndex((row) => y >= row.y && y < row.y + row.h + (row.named ? AFTER_NAMED : 0));

/**
 * Scales fit the 95th percentile: one wild value does not flatten the rest.
 * @param {number[]} values
 * @param {number} [part]
 */
export function percentile(values, part = 0.95) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] : 0;
}

/** How much of the scale a value is. @param {number} value @param {number} from @param {number} to */
export const onScale = (value, from, to) => (to > from ? clamp((value - from) / (to - from), 0, 1) : 0);

/**
 * Which columns have their number written, so that labels of a width keep apart.
 * @param {number} column
 * @param {number} label
 */
export const labelEvery = (column, label) =>
  [1, 2, 4, 5, 10, 20, 50, 100].find((step) => step * column >= label) ?? 200;

/**
 * Neighbours with the same key as one: `[from, to, key]`, both in it.
 * @template K
 * @param {K[]} keys
 * @returns {[number, number, K][]}
 */
export function runsOf(keys) {
  /** @type {[number, number, K][]} */
  const runs = [];
  keys.forEach((key, at) => {
    const last = runs.at(-1);
    if (last && last[2] === key) last[1] = at;
    else runs.push([at, at, key]);
  });
  return runs;
}
