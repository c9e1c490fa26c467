/** Rows of gaps at the same time on several cores, figures of recurring gaps, and the list's filters. */

import { CLASSES } from '../lib/classes.js';
import { UNITS } from '../lib/format.js';
import { groupBy, total } from '../lib/totals.js';
import { causeOf } from './cause.js';

/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('../lib/routes').GapPatternRow} GapPattern */
/** @typedef {import('../lib/types').ByClass} ByClass */
/** @typedef {import('../lib/routes').ClassName} ClassName */
/**
 * @typedef {object} GapRow
 * @property {GapItem} gap the row's only gap; of several, the one that findings link to
 * @property {GapItem[]} gaps one per core @property {number} mean_ps @property {ByClass} by_class_ps of all its gaps
 * @property {GapRow|null} parent the row of several cores that opens into this one
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

/** @param {GapItem[]} gaps @param {GapRow|null} [parent] @returns {GapRow} */
export function rowOf(gaps, parent = null) {
  return {
    gap: gaps.find(({ isCopy }) => !isCopy) ?? gaps[0],
    gaps,
    parent,
    mean_ps: total(gaps, 'duration_ps') / gaps.length,
    by_class_ps: sumClasses(gaps),
  };
}

/**
 * One row per gap that the server lists; a gap on several cores is one row.
 * @param {GapItem[]} items from `eachCore`, possibly filtered
 * @param {string[]} devices ids of all devices, in their order
 * @returns {GapRow[]} longest first
 */
export function groupGaps(items, devices) {
  const indices = new Map(devices.map((device, index) => [device, index]));
  const indexOf = (/** @type {GapItem} */ { device }) => indices.get(device) ?? -1;
  return [...groupBy(items, 'index').values()].map((gaps) => rowOf(gaps.sort((a, b) => indexOf(a) - indexOf(b))))
    .sort((a, b) => b.mean_ps - a.mean_ps || a.gap.start_ps - b.gap.start_ps);
}

/**
 * One item per core from items that stand for the same gap on several cores. The answer has the first core's classes;
 * on the others, which may idle for up to a tenth less or more, they have the same shares.
 * @param {GapItem[]} items @returns {GapItem[]}
 */
export const eachCore = (items) =>
  items.flatMap((item) =>
    item.devices.map((device, index) => ({
      ...item,
      device,
      start_ps: item.starts_ps[index],
      duration_ps: item.durations_ps[index],
      all_cores_idle_ps: item.all_cores_idle_by_device_ps[index],
      by_class_ps: index ? scaled(item.by_class_ps, item.durations_ps[index] / item.durations_ps[0]) : item.by_class_ps,
      isCopy: index > 0,
    })),
  );

/** @param {ByClass} times @param {number} factor @returns {ByClass} */
const scaled = (times, factor) =>
  Object.fromEntries(Object.entries(times).map(([name, ps]) => [name, Math.round(ps * factor)]));

/**
 * Number and time of the gaps of a pattern that have the same cause.
 * @typedef {{cause: import('./cause.js').CauseName, count: number, ps: number}} CauseSum
 */
/**
 * A pattern with figures from its gaps. `causes`: the one with most time first; `reason`: the id of the finding that is
 * the reason for most of its time.
 * @typedef {GapPattern & {median_ps: number|null, causes: CauseSum[], reason: string|null}} PatternRow
 */

/**
 * Patterns with the figures of the given gaps; patterns without gaps keep their position and count 0.
 * @param {GapPattern[]} patterns @param {GapItem[]} items @returns {PatternRow[]}
 */
export const patternRows = (patterns, items) => patterns.map((pattern) => {
  const patternGaps = items.filter((gap) => hasPattern(gap, pattern));
  const durations = patternGaps.map(({ duration_ps }) => duration_ps).sort((a, b) => a - b);
  const total_ps = total(durations, Number);
  return {
    ...pattern,
    ...mainCause(patternGaps),
    causes: causesOf(patternGaps),
    reason: mainReason(patternGaps, total_ps),
    by_class_ps: sumClasses(patternGaps),
    count: patternGaps.length,
    total_ps,
    mean_ps: total_ps / patternGaps.length,
    median_ps: durations[(durations.length - 1) >> 1] ?? null,
    min_ps: durations[0],
    max_ps: durations[durations.length - 1],
  };
});

/**
 * `cause` and `kind` of gaps, as the server's patterns have them; nothing of no gap.
 * @param {GapItem[]} gaps @returns {Partial<Pick<GapPattern, 'cause'|'kind'>>}
 */
function mainCause(gaps) {
  const [longest] = [...groupBy(gaps, 'cause')]
    .map(([cause, ofCause]) => ({ cause, ofCause, ps: total(ofCause, 'duration_ps') }))
    .sort((a, b) => b.ps - a.ps);
  if (!longest) return {};
  const { cause, ofCause, ps } = longest;
  const queued_ps = total(ofCause, (gap) => (gap.kind === 'queued' ? gap.duration_ps : 0));
  return { cause, kind: 2 * queued_ps > ps ? 'queued' : null };
}

/**
 * The id of the finding that is the reason for more than half of the time of gaps; null if there is none.
 * @param {GapItem[]} gaps
 * @param {number} total_ps
 */
function mainReason(gaps, total_ps) {
  const reasons = [...groupBy(gaps, 'reason')];
  return reasons.find(([, withReason]) => 2 * total(withReason, 'duration_ps') > total_ps)?.[0] ?? null;
}

/** The causes of gaps, the one with most time first. @param {GapItem[]} items @returns {CauseSum[]} */
function causesOf(items) {
  /** @type {Map<CauseSum['cause'], CauseSum>} */
  const causes = new Map();
  for (const gap of items) {
    const cause = causeOf(gap);
    const { count, ps } = causes.get(cause) ?? { count: 0, ps: 0 };
    causes.set(cause, { cause, count: count + 1, ps: ps + gap.duration_ps });
  }
  return [...causes.values()].sort((a, b) => b.ps - a.ps);
}

/**
 * A pattern in a link, by the names of its programs: `train → eval`, `in train`.
 * @param {Pick<GapPattern, 'before'|'after'|'inside_run'>} pattern
 */
export const patternText = ({ before, after, inside_run }) =>
  inside_run ? `in ${after}` : `${before ?? ''} → ${after ?? ''}`;

/** The step's number, otherwise its index; empty outside of steps. @param {Pick<GapItem, 'step'|'step_number'>} gap */
export const stepOf = (gap) => String(gap.step_number ?? gap.step ?? '');

/** @param {GapItem} gap @param {GapPattern} pattern */
const hasPattern = (gap, pattern) =>
  gap.before === pattern.before && gap.after === pattern.after && gap.inside_run === pattern.inside_run;

/**
 * @param {GapItem[]} items @param {Map<string, string>} filters device, cause, kind, step, finding, min (ms)
 * @param {GapPattern|null} pattern @param {string[]} devices ids of the selected devices
 */
export function filterGaps(items, filters, pattern, devices) {
  const min_ps = Number(filters.get('min') ?? 0) * UNITS.ms.ps;
  const selected = new Set(devices);
  const matches = (/** @type {string} */ key, /** @type {string} */ value) =>
    !filters.get(key) || filters.get(key) === value;
  return items.filter(
    (gap) =>
      gap.duration_ps >= min_ps &&
      matches('device', gap.device) &&
      matches('cause', gap.cause) &&
      matches('kind', gap.kind) &&
      matches('step', stepOf(gap)) &&
      (!filters.get('finding') || Boolean(gap.by_finding_ps[filters.get('finding') ?? ''])) &&
      (!pattern || hasPattern(gap, pattern)) &&
      selected.has(gap.device),
  );
}
