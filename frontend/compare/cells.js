/** Texts of differences and ratios between sessions. */

import { difference, MISSING, ratio } from '../lib/format.js';

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

/** @param {number|null|undefined} value */
export const ratioCell = (value) => (value == null ? MISSING : ratio(value));
