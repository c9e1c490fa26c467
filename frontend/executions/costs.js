/** Costs of executions per run, per step or in total, and the savings of fewer executions. */

import { total } from '../lib/totals.js';

/** @typedef {import('../lib/routes').ExecutionRow} ExecutionRow */
/** @typedef {'host_ps'|'device_ps'|'queue_ps'|'overhead_ps'} CostName */
/** What costs refer to. @typedef {'run'|'step'|'total'} Basis */

/** @type {CostName[]} */
export const COSTS = ['host_ps', 'device_ps', 'queue_ps', 'overhead_ps'];

/** The number of a row's runs whose launch is known. @param {Pick<ExecutionRow, 'count'|'joins'>} row */
export const knownRuns = ({ count, joins }) => count - (joins.none ?? 0);

/**
 * A cost of all rows together: the total, the mean of a run, or that of a step and core. In means, the queue time and
 * overhead of a run whose launch is not known are taken to be the mean of its program's other runs; totals lack them.
 * Host time is the sum of the three parts. Null if no launch is known, except for device time.
 * @param {ExecutionRow[]} rows @param {CostName} key @param {Basis} basis
 * @param {number|null} [coreSteps] null without steps, where a step's costs are the totals
 */
export function costOf(rows, key, basis, coreSteps) {
  const launched = rows.filter(knownRuns);
  if (key !== 'device_ps' && !launched.length) return null;
  if (basis === 'total' || (basis === 'step' && !coreSteps)) return sumCosts(rows)[key];
  const meanOf = (/** @type {ExecutionRow[]} */ items, /** @type {(row: ExecutionRow) => number} */ field) =>
    basis === 'run'
      ? total(items, field) / Math.max(1, total(items, 'count'))
      : total(items, (row) => (field(row) * row.per_step) / row.count);
  const device_ps = meanOf(rows, ({ device_ps: time_ps }) => time_ps);
  if (key === 'device_ps') return device_ps;
  if (key !== 'host_ps') return meanOf(launched, (row) => row[key] * (row.count / knownRuns(row)));
  return device_ps + meanOf(launched, (row) => (row.queue_ps + row.overhead_ps) * (row.count / knownRuns(row)));
}

/**
 * A session in the table of executions, which may have two.
 * @typedef {object} SessionCosts
 * @property {string} name of the session @property {ExecutionRow[]} rows
 * @property {number|null} coreSteps whole steps times cores; null without steps
 */

/** @param {ExecutionRow[]} rows @returns {Record<CostName|'count'|'launches', number>} */
export function sumCosts(rows) {
  const sum = { count: 0, launches: 0, host_ps: 0, device_ps: 0, queue_ps: 0, overhead_ps: 0 };
  for (const row of rows) {
    for (const key of /** @type {(keyof typeof sum)[]} */ (Object.keys(sum))) sum[key] += row[key];
  }
  return sum;
}

/** Programs whose runs take less time than their overhead. @param {ExecutionRow[]} rows */
export const smallPrograms = (rows) =>
  rows.filter((row) => (costOf([row], 'device_ps', 'run') ?? 0) < (costOf([row], 'overhead_ps', 'run') ?? 0));

/** With at most this many executions per step and core, there is hardly anything to merge. */
const MAX_EXECUTIONS_NOT_WORTH_MERGING = 1.5;

/**
 * The overhead of a step on a core, now and then, in up to two cases: without the small programs, or with all work in
 * one execution, whose overhead follows the line fitted to overhead against device time. Without steps, the overhead of
 * the session, in the first case only.
 * @param {ExecutionRow[]} rows
 * @param {{fixed_ps: number, slope: number}|null} fit
 * @param {number|null} coreSteps whole steps times cores; null without steps
 * @returns {{name: string, now_ps: number, then_ps: number}[]}
 */
export function savings(rows, fit, coreSteps) {
  const small = smallPrograms(rows);
  const now_ps = costOf(rows, 'overhead_ps', 'step', coreSteps) ?? 0;
  /** @type {{name: string, now_ps: number, then_ps: number}[]} */
  const results = [];
  if (small.length && small.length < rows.length) {
    results.push({
      name: `without the ${small.length === 1 ? 'small program' : `${small.length} small programs`}`,
      now_ps,
      then_ps: now_ps - (costOf(small, 'overhead_ps', 'step', coreSteps) ?? 0),
    });
  }
  const device_ps = costOf(rows, 'device_ps', 'step', coreSteps) ?? 0;
  const merged_ps = fit ? fit.fixed_ps + fit.slope * device_ps : 0;
  const canMerge = coreSteps && total(rows, 'per_step') > MAX_EXECUTIONS_NOT_WORTH_MERGING;
  if (fit && canMerge && merged_ps >= 0 && merged_ps < now_ps) {
    results.push({ name: 'all work in one execution', now_ps, then_ps: merged_ps });
  }
  return results;
}
