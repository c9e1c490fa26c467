/** Parts of a whole, rounded so that the printed parts still add up. */

import { h } from './dom.js';
import { digits } from './format.js';
import { total } from './totals.js';

/** @param {number[]} values */
const sumOf = (values) => total(values, Number);

/**
 * Rounds parts to multiples of a quantum by largest remainder: the rounded parts add up to the rounded sum.
 *
 *     roundParts([1.4, 1.4, 1.2], 1) → [2, 1, 1]      (sum 4)
 *
 * @param {number[]} parts non-negative @param {number} quantum @returns {number[]} the number of quanta of each part
 */
export function roundParts(parts, quantum) {
  const exact = parts.map((part) => part / quantum);
  const floors = exact.map(Math.floor);
  const whole = Math.round(sumOf(parts) / quantum);
  const order = [...parts.keys()].sort((a, b) => exact[b] - floors[b] - (exact[a] - floors[a]) || a - b);
  for (const index of order.slice(0, Math.max(0, whole - sumOf(floors)))) floors[index] += 1;
  return floors;
}

/**
 * Shares of a whole, rounded to 0.1 %, that add up to 100.0 %; all 0 if the whole is 0.
 * @param {number[]} parts @returns {number[]} from 0 to 1
 */
export function roundShares(parts) {
  const sum = sumOf(parts);
  return sum > 0 ? roundParts(parts.map((part) => part / sum), 0.001).map((part) => part / 1000) : parts.map(() => 0);
}

/**
 * Times for a column with a sum row: their texts, and the cell of their sum.
 * @param {number[]} parts @param {import('./format.js').Unit} unit
 */
export function roundTimes(parts, unit) {
  const rounded = roundParts(parts, unit.ps / 1000);
  const text = (/** @type {number} */ value) => digits(value / 1000, 3);
  return { texts: rounded.map(text), sum: h('span', { 'data-ps': Math.round(sumOf(parts)) }, text(sumOf(rounded))) };
}
