/** Converts the hosts document into rows, and finds steps and classes in it. */

import { UNITS } from '../lib/format.js';
import { hostNumber, shortNames } from '../lib/host-names.js';
import { stepKey } from '../lib/link.js';
import { groupBy, maximum, total } from '../lib/totals.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').StepRange} StepRange */

/** Picoseconds in a microsecond, the unit of the hosts document. */
export const PS_PER_US = UNITS.us.ps;

/** Device work, listed with the classes of host time but not part of the step's sum. */
export const DEVICE = 'device';

/** The step indices of a range; without one, of all steps. @param {StepRange|null} range @param {number} steps */
export const stepsIn = (range, steps) =>
  Array.from({ length: range ? range[1] - range[0] + 1 : steps }, (_, index) => (range?.[0] ?? 0) + index);

/** The lower median; null without values. @param {number[]} values */
const median = (values) => (values.length ? [...values].sort((a, b) => a - b)[(values.length - 1) >> 1] : null);

/**
 * One row per host, in the document's order, with values of the range's steps.
 * @param {HostsAnswer} document
 * @param {StepRange|null} range
 * @returns {HostRow[]}
 */
export function hostRows(document, range) {
  const { hosts, charges, median_host } = document;
  const shorts = shortNames(hosts.name);
  const isCompared = document.state === 'compared';
  const inRange = (/** @type {number} */ step) => !range || (step >= range[0] && step <= range[1]);
  const chargeIndices = [...charges.step.keys()].filter((charge) => inRange(charges.step[charge]));
  const allLast = total(chargeIndices, (/** @type {number} */ charge) => charges.last_count[charge]);
  const chargesByHost = groupBy(chargeIndices, (/** @type {number} */ charge) => charges.host[charge]);
  return hosts.name.map((name, index) => {
    const ownCharges = chargesByHost.get(index) ?? [];
    const last = total(ownCharges, (/** @type {number} */ charge) => charges.last_count[charge]);
    const times = stepsIn(range, document.steps.number.length).flatMap((step) => stepUs(document, index, step) ?? []);
    return {
      index,
      name,
      short: shorts[index],
      number: hostNumber(shorts[index]),
      steps: range ? times.length : hosts.steps[index],
      step_us: median(times),
      last_count: !range ? hosts.last_count[index] : isCompared ? last : null,
      share: !range ? hosts.last_share[index] : isCompared && allLast ? last / allLast : null,
      last_steps: range
        ? stepsIn(range, 0).filter((step) => document.steps.last_host[step] === index).length
        : hosts.last_steps[index],
      others_wait_us: !range
        ? hosts.others_wait_us[index]
        : isCompared
          ? total(ownCharges, (/** @type {number} */ charge) => charges.others_wait_us[charge])
          : null,
      duty: hosts.duty_cycle[index],
      span_us: hosts.span_us[index],
      differences:
        median_host === null
          ? []
          : classDifferences(document.classes, document.class_us[index], document.class_us[median_host]),
      difference_class: hosts.difference_class[index],
      difference_us: hosts.difference_us[index],
      difference_in_one_step: hosts.difference_in_one_step[index],
      offset_us: hosts.offset_us[index],
      residual_us: hosts.residual_us[index],
      is_clock_uncertain: hosts.is_clock_uncertain[index],
    };
  });
}

/**
 * The duration of a step on a host, µs; null if the host does not have the step.
 * @param {HostsAnswer} document
 * @param {number} host
 * @param {number} step
 */
export function stepUs({ steps, step_difference_us }, host, step) {
  const difference = step_difference_us[host]?.[step];
  return difference == null ? null : steps.step_us[step] + difference;
}

/**
 * The largest lateness of some hosts in the steps in which one of them was last, µs; 0 without such a step.
 * @param {HostsAnswer} document @param {number[]} hosts @param {StepRange|null} range of the steps; null for all
 */
export function largestLateness({ steps, late_us }, hosts, range) {
  const lastHosts = stepsIn(range, steps.number.length).map((step) => ({ step, host: steps.last_host[step] }));
  return maximum(lastHosts.map(({ step, host }) => (hosts.includes(host) ? (late_us[host]?.[step] ?? 0) : 0)), 0);
}

/**
 * The difference from the median host per class of host time, in µs.
 * @param {string[]} classes @param {number[]} times @param {number[]} medianTimes
 */
const classDifferences = (classes, times, medianTimes) =>
  classes.flatMap((name, index) => (name === DEVICE ? [] : [{ name, us: times[index] - medianTimes[index] }]));

/**
 * Mean time by class over a range's steps, µs; null if the host has none of them.
 * @param {(number[]|null)[]} steps
 * @param {StepRange|null} range
 */
export function meanOf(steps, range) {
  const present = stepsIn(range, steps.length).flatMap((step) => (steps[step] ? [steps[step]] : []));
  if (!present.length) return null;
  const sumOf = (/** @type {number} */ index) => total(present, (/** @type {number[]} */ step) => step[index]);
  return present[0].map((_, index) => Math.round(sumOf(index) / present.length));
}

/**
 * The range that a link names (`1210` or `1210-1220`); null if this session does not have it.
 * @param {HostsAnswer['steps']} steps
 * @param {string|undefined} text
 * @returns {StepRange|null}
 */
export function stepsOfLink({ number }, text) {
  if (!text) return null;
  const keys = number.map((_, step) => stepKey(number, step));
  const indices = text.split('-').map((key) => keys.indexOf(key));
  const [from, to = from] = indices;
  if (indices.length > 2 || indices.includes(-1)) return null;
  return [Math.min(from, to), Math.max(from, to)];
}

/** A step's name in sentences. @param {HostsAnswer['steps']} steps @param {number} step index */
export const stepName = ({ number }, step) => String(number[step] ?? step);

/** CSV rows, one per host and step. @param {HostsAnswer} document */
export function csvRows(document) {
  const { hosts, charges, steps } = document;
  const chargesByCell = new Map(charges.host.map((host, charge) => [`${host} ${charges.step[charge]}`, charge]));
  return hosts.name.flatMap((host, index) => steps.number.map((_, step) => {
    const charge = chargesByCell.get(`${index} ${step}`);
    const late = document.late_us[index]?.[step] ?? -1;
    const isCompared = document.state === 'compared';
    return {
      host,
      step: stepName(steps, step),
      step_us: stepUs(document, index, step),
      late_us: late < 0 ? null : late,
      last_count: isCompared ? (charge === undefined ? 0 : charges.last_count[charge]) : null,
      others_wait_us: isCompared ? (charge === undefined ? 0 : charges.others_wait_us[charge]) : null,
      clock_offset_us: hosts.offset_us[index],
      clock_residual_us: hosts.residual_us[index],
    };
  }));
}

export const CSV_HEADS = [
  'host',
  'step',
  'step_us',
  'late_us',
  'last_count',
  'others_wait_us',
  'clock_offset_us',
  'clock_residual_us',
];
