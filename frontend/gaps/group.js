/** Gaps at the same time on several cores are one row; filters of the list. Nothing here draws. */

import { CLASSES } from '../lib/classes.js';
import { grouped, highest, lowest, total } from '../lib/items.js';

/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('../lib/views').GapPattern} GapPattern */
/** @typedef {import('../lib/types').ByClass} ByClass */
/**
 * @typedef {object} GapRow
 * @property {GapItem} gap the first of its gaps by device, or the gap itself
 * @property {GapItem[]} gaps one per core @property {number} mean_ps @property {ByClass} by_class_ps of all its gaps
 * @property {GapRow|null} whole the row that opens into this one
 */

/** @param {GapItem[]} gaps @returns {ByClass} */
export function sumClasses(gaps) {
  /** @type {ByClass} */
  const sum = {};
  for (const name of CLASSES) {
    const ps = total(gaps, ({ by_class_ps }) => by_class_ps[name]);
    if (ps) sum[name] = ps;
  }
  return sum;
}

/** @param {GapItem[]} gaps @param {GapRow|null} [whole] @returns {GapRow} */
export function rowOf(gaps, whole = null) {
  return { gap: gaps[0], gaps, whole, mean_ps: total(gaps, 'duration_ps') / gaps.length, by_class_ps: sumClasses(gaps) };
}

/**
 * One row per gap of the program: what the server found to be the same gap on several cores.
 * @param {GapItem[]} items as `eachCore` gives them, some left out @param {string[]} devices all of them, in their order @returns {GapRow[]} longest first
 */
export function groupGaps(items, devices) {
  const places = new Map(devices.map((device, at) => [device, at]));
  const placeOf = (/** @type {GapItem} */ { device }) => places.get(device) ?? -1;
  return [...grouped(items, 'index').values()].map((gaps) => rowOf(gaps.sort((a, b) => placeOf(a) - placeOf(b))))
    .sort((a, b) => b.mean_ps - a.mean_ps || a.gap.start_ps - b.gap.start_ps);
}

/**
 * One item per core from items that stand for the same gap on several cores.
 * @param {GapItem[]} items @returns {GapItem[]}
 */
export const eachCore = (items) => items.flatMap((item) => item.devices.map((device, at) => ({
  ...item, device, start_ps: item.starts_ps[at], duration_ps: item.durations_ps[at], together_ps: item.togethers_ps[at], alike: at > 0 })));

/**
 * Patterns with the numbers of some gaps only; those that have none of them keep their place in the list and count 0.
 * @param {GapPattern[]} patterns @param {GapItem[]} items @returns {GapPattern[]}
 */
export const patternsOf = (patterns, items) => patterns.map((pattern) => {
  const its = items.filter((gap) => hasPattern(gap, pattern));
  const each = its.map(({ duration_ps }) => duration_ps);
  const total_ps = total(each, Number);
  const by_class_ps = sumClasses(its);
  const cause = CLASSES.reduce((most, name) => ((by_class_ps[name] ?? 0) > (by_class_ps[most] ?? 0) ? name : most), pattern.cause);
  return { ...pattern, cause, by_class_ps, count: its.length, total_ps, mean_ps: total_ps / its.length, min_ps: lowest(each), max_ps: highest(each) };
});

/** @param {GapItem} gap as the page names it @returns {string} */
export const stepOf = (gap) => String(gap.step_number ?? gap.step ?? '');

/** @param {GapItem} gap @param {GapPattern} pattern */
export const hasPattern = (gap, pattern) => gap.before === pattern.before && gap.after === pattern.after && gap.inside_run === pattern.inside_run;

/**
 * @param {GapItem[]} items @param {Map<string, string>} filters device, cause, kind, step, min (ms)
 * @param {GapPattern|null} pattern @param {string[]} devices those that are chosen
 */
export function filterGaps(items, filters, pattern, devices) {
  const least = Number(filters.get('min') ?? 0) * 1e9;
  const chosen = new Set(devices);
  const is = (/** @type {string} */ key, /** @type {string} */ value) => !filters.get(key) || filters.get(key) === value;
  return items.filter((gap) => gap.duration_ps >= least && is('device', gap.device) && is('cause', gap.cause) && is('kind', gap.kind) && is('step', stepOf(gap))
    && (!pattern || hasPattern(gap, pattern)) && chosen.has(gap.device));
}
