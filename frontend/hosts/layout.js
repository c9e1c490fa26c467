/** The geometry and scales of the heat map, in pixels and numbers; draws nothing. */

import { clamp } from '../lib/axis.js';

/**
 * A row of the map, in the order of the table: one named host, or several hosts, of which the latest is shown.
 * @typedef {{hosts: number[], y: number, h: number, named: boolean}} HeatRow
 */

/** Margins of the map, and heights of its rows, px. */
export const LEFT = 128;
export const RIGHT = 62;
export const HEAD = 40;
const NAMED = 33;
const AFTER_NAMED = 3;
const BEFORE_THIN = 6;
/** Height of all thin rows together. */
const THIN_HEIGHT = 90;
const MAX_THIN_ROW = 18;
/** Height of the text beside the thin rows. */
const THIN_TEXT = 48;
/** Width of a column. */
const MIN_COLUMN = 6;
const MAX_COLUMNS = 120;

/**
 * The number of visible steps: all, up to 120, if each gets at least 6 px.
 * @param {number} width of all columns, px
 * @param {number} steps
 */
export const columnsThatFit = (width, steps) =>
  Math.min(steps, MAX_COLUMNS, Math.max(1, Math.floor(width / MIN_COLUMN)));

/**
 * The rows from top to bottom: named hosts first, then thin rows of the unnamed ones.
 * @param {number[]} named @param {number[]} unnamed
 */
export function heatRows(named, unnamed) {
  /** @type {HeatRow[]} */
  const rows = named.map((host, index) => ({
    hosts: [host],
    y: HEAD + index * (NAMED + AFTER_NAMED),
    h: NAMED,
    named: true,
  }));
  const top = HEAD + named.length * (NAMED + AFTER_NAMED) + (named.length ? BEFORE_THIN : 0);
  const hostsPerRow = Math.ceil(unnamed.length / THIN_HEIGHT);
  const groups = Array.from({ length: hostsPerRow ? Math.ceil(unnamed.length / hostsPerRow) : 0 }, (_, index) =>
    unnamed.slice(index * hostsPerRow, (index + 1) * hostsPerRow),
  );
  const rowHeight = Math.min(MAX_THIN_ROW, THIN_HEIGHT / groups.length);
  groups.forEach((hosts, index) => {
    const y = Math.round(top + index * rowHeight);
    rows.push({ hosts, y, h: Math.round(top + (index + 1) * rowHeight) - y, named: false });
  });
  const last = rows.at(-1);
  const bottom = Math.max(last ? last.y + last.h : top, unnamed.length ? top + THIN_TEXT : 0);
  return { rows, top, hostsPerRow, bottom };
}

/**
 * The left edge of a column, rounded to whole pixels for sharp edges.
 * @param {number} at index from the first visible column
 * @param {number} fits
 * @param {number} width
 */
export const columnX = (at, fits, width) => LEFT + Math.round((at * (width - LEFT - RIGHT)) / fits);

/**
 * The column under the pointer; -1 outside the columns.
 * @param {number} x @param {number} fits @param {number} width
 */
export function columnAt(x, fits, width) {
  const at = Math.floor(((x - LEFT) * fits) / (width - LEFT - RIGHT));
  return at >= 0 && at < fits ? at : -1;
}

/** The row at a height; the space below a row belongs to it. @param {HeatRow[]} rows @param {number} y */
export const rowAt = (rows, y) =>
  rows.findIndex((row) => y >= row.y && y < row.y + row.h + (row.named ? AFTER_NAMED : 0));

/**
 * A percentile of values. Scales end at the 95th, so that an outlier does not flatten the rest.
 * @param {number[]} values
 * @param {number} [part]
 */
export function percentile(values, part = 0.95) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] : 0;
}

/** The position of a value on a scale, 0 to 1. @param {number} value @param {number} from @param {number} to */
export const onScale = (value, from, to) => (to > from ? clamp((value - from) / (to - from), 0, 1) : 0);

/**
 * The distance, in columns, between labels that do not touch.
 * @param {number} column width, px
 * @param {number} label width, px
 */
export const labelEvery = (column, label) =>
  [1, 2, 4, 5, 10, 20, 50, 100].find((step) => step * column >= label) ?? 200;

/**
 * Merges neighbours with equal keys: `[from, to, key]`, both ends included.
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
