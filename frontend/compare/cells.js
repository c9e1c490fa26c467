/** Texts of differences and ratios between sessions. */

import { count, difference, MISSING, ratio } from '../lib/format.js';

/**
 * B − A of the times as a table prints them, so that the three add up.
 * @param {number|null} a_ps
 * @param {number|null} b_ps
 * @param {import('../lib/format.js').Unit} unit
 */
export function differenceText(a_ps, b_ps, unit) {
  if (a_ps == null || b_ps == null) return MISSING;
  const thousandths = (/** @type {number} */ ps) => Math.round((ps / unit.ps) * 1000);
  return difference((thousandths(b_ps) - thousandths(a_ps)) / 1000, 3);
}

/**
 * `; the 200 of 312 with most device time`, the end of a table's note; empty if all its rows are listed.
 * @param {unknown[]} items the listed rows @param {number} rowCount of all rows @param {string} which are listed
 */
export const listedRows = ({ length }, rowCount, which) =>
  length < rowCount ? `; the ${count(length)} of ${count(rowCount)} ${which}` : '';

/** @param {number|null|undefined} value @param {number} [decimals] */
export const ratioCell = (value, decimals) => (value == null ? MISSING : ratio(value, decimals));
