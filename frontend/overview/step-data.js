/** Converts the server's columns of steps to rows, and says how many steps they leave out. */

import { count, plural } from '../lib/format.js';

/** @typedef {import('../lib/routes').StepColumns} StepColumns */
/**
 * @typedef {object} Step
 * @property {number} index
 * @property {number|null} number
 * @property {string} host
 * @property {number} start_ps
 * @property {number} duration_ps
 * @property {number} device_busy_ps
 * @property {number} executions
 * @property {number} compiles
 * @property {number} early_syncs
 * @property {number} input_syncs @property {number} from_device @property {import('../lib/types').ByClass} host_ps
 */

/** Converts columns of equal length to rows. @param {Record<string, any[]>} columns @returns {any[]} */
export function rowsOf(columns) {
  const entries = Object.entries(columns);
  const [[, firstColumn] = ['', []]] = entries;
  return firstColumn.map((_, row) => Object.fromEntries(entries.map(([key, values]) => [key, values[row]])));
}

/** @param {StepColumns} columns @returns {Step[]} */
export function stepRows({ host_ps, ...columns }) {
  const host = rowsOf(host_ps);
  return rowsOf(columns).map((step, index) => ({ ...step, host_ps: host[index] ?? {} }));
}

/**
 * `; the first 1 000 of 1 840 steps`, the end of the card's note; empty if the server sent all steps. Of several hosts
 * it sends the steps of those in memory.
 * @param {number} listed number of steps that the server sent
 * @param {number} stepCount of the session
 * @param {boolean} hasSeveralHosts
 */
export function listedStepsText(listed, stepCount, hasSeveralHosts) {
  if (listed >= stepCount) return '';
  const counts = `${count(listed)} of ${plural(stepCount, 'step')}`;
  return hasSeveralHosts ? `; ${counts} of all hosts` : `; the first ${counts}`;
}
