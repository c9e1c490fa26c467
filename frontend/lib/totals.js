/** Sums, groups, extremes and the common unit of items. */

import { unitFor } from './format.js';

/**
 * A value of an item: a field by name, or a function of the item.
 * @template T, V
 * @typedef {{[K in keyof T]: T[K] extends V ? K : never}[keyof T] | ((item: T) => V)} Field
 */
/** @typedef {number|null|undefined} Amount */

/** @template T, V @param {Field<T, V>} field @returns {(item: T) => V} */
export const accessor = (field) =>
  typeof field === 'function' ? /** @type {(item: T) => V} */ (field) : (item) => /** @type {any} */ (item)[field];

/** @template T @param {readonly T[]} items @param {Field<T, Amount>} field */
export function total(items, field) {
  const read = accessor(field);
  return items.reduce((sum, item) => sum + (read(item) ?? 0), 0);
}

/**
 * The items by key, in their order.
 * @template T, K
 * @param {T[]} items
 * @param {Field<T, K>} field
 * @returns {Map<K, T[]>}
 */
export function groupBy(items, field) {
  const read = accessor(field);
  const groups = new Map();
  for (const item of items) {
    const key = read(item);
    groups.get(key)?.push(item) ?? groups.set(key, [item]);
  }
  return groups;
}

/**
 * The unit for a column of times: that of the largest one.
 * @template T
 * @param {readonly T[]} items
 * @param {Field<T, Amount>} field
 */
export function columnUnit(items, field) {
  const read = accessor(field);
  return unitFor(items.reduce((largest, item) => Math.max(largest, Math.abs(read(item) ?? 0)), 0));
}

/**
 * The largest of the values and `from`. `Math.max(...values)` overflows the stack from a hundred thousand values on.
 * @param {Iterable<number>} values @param {number} [from]
 */
export function maximum(values, from = -Infinity) {
  for (const value of values) from = Math.max(from, value);
  return from;
}

/** The smallest of the values and `from`. @param {Iterable<number>} values @param {number} [from] */
export function minimum(values, from = Infinity) {
  for (const value of values) from = Math.min(from, value);
  return from;
}
