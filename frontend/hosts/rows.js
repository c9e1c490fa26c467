/** The document of the view as rows: of all steps, or of those between two. */

import { hostNumber, shortNames } from '../lib/host-names.js';
import { groupBy, maximum, total } from '../lib/totals.js';

/** @typedef {import('./types').HostsDocument} HostsDocument */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').StepRange} StepRange */

/** Classes in which a host only waits for its devices, so for the others: never a cause. */
export const WAITING = ['wait', 'from_device'];
/** The devices' own work: beside the classes of host time, no part of the step. */
export const DEVICE = 'device';

/** @param {StepRange|null} range @param {number} steps */
export const stepsIn = (range, steps) =>
  Array.from({ length: range ? range[1] - range[0] + 1 : steps }, (_, index) => (range?.[0] ?? 0) + index);

/** The middle value, the lower one of two; null of none. @param {number[]} values */
export const median = (values) => (values.length ? [...values].sort((a, b) => a - b)[(values.length - 1) >> 1] : null);

/**
 * What the hosts do in these steps, in the order of the document.
 * @param {HostsDocument} document
 * @param {StepRange|null} range
 * @returns {HostRow[]}
 */
export function hostRows(document, range) {
  const { hosts, charges, median_host } = document;
  const shorts = shortNames(hosts.name);
  const counted = document.state === 'compared';
  const inRange = (/** @type {number} */ step) => !range || (step >= range[0] && step <= range[1]);
  const places = [...charges.step.keys()].filter((at) => inRange(charges.step[at]));
  const allLast = total(places, (/** @type {number} */ at) => charges.last[at]);
  const charged = groupBy(places, (/** @type {number} */ at) => charges.host[at]);
  return hosts.name.map((name, at) => {
    const ownCharges = charged.get(at) ?? [];
    const last = total(ownCharges, (/** @type {number} */ place) => charges.last[place]);
    const times = stepsIn(range, document.steps.number.length).flatMap((step) => stepUs(document, at, step) ?? []);
    return {
      at,
      name,
      short: shorts[at],
      number: hostNumber(shorts[at]),
      steps: range ? times.length : hosts.steps[at],
      step_us: median(times),
      last: !range ? hosts.last[at] : counted ? last : null,
      share: !range ? hosts.last_share[at] : counted && allLast ? last / allLast : null,
      last_steps: range
        ? stepsIn(range, 0).filter((step) => document.steps.last[step] === at).length
        : hosts.last_steps[at],
      waits_us: !range
        ? hosts.waits_us[at]
        : counted
          ? total(ownCharges, (/** @type {number} */ place) => charges.waits_us[place])
          : null,
      duty: hosts.duty_cycle[at],
      span_us: hosts.span_us[at],
      apart:
        median_host === null ? [] : apartFrom(document.classes, document.class_us[at], document.class_us[median_host]),
      differs: hosts.differs[at],
      differs_us: hosts.differs_us[at],
      once: hosts.once[at],
      offset_us: hosts.offset_us[at],
      residual_us: hosts.residual_us[at],
      too_wide: hosts.too_wide[at],
      named: hosts.named[at],
    };
  });
}

/**
 * How long a step is on a host; null where it has none.
 * @param {HostsDocument} document
 * @param {number} host
 * @param {number} step
 */
export function stepUs({ steps, step_apart_us }, host, step) {
  const apart = step_apart_us[host]?.[step];
  return apart == null ? null : steps.step_us[step] + apart;
}

/**
 * The difference from the median host per class of host time, in µs.
 * @param {string[]} classes @param {number[]} times @param {number[]} medianTimes
 */
const apartFrom = (classes, times, medianTimes) =>
  classes.flatMap((name, index) => (name === DEVICE ? [] : [{ name, us: times[index] - medianTimes[index] }]));

/**
 * The class that took longest against the median host, of those that can hold up others; null where none did.
 * @param {string[]} classes
 * @param {number[]|null|undefined} times
 * @param {number[]|null|undefined} medianTimes
 */
export function longestClass(classes, times, medianTimes) {
  if (!times || !medianTimes) return null;
  const longer = classes.map((name, index) => (WAITING.includes(name) ? 0 : times[index] - medianTimes[index]));
  const longest = maximum(longer);
  return longest > 0 ? classes[longer.indexOf(longest)] : null;
}

/**
 * The mean of some steps by class; null where there is none of them.
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
 * What a link calls a step: its number, with its index where several have that.
 * @param {HostsDocument['steps']} steps
 * @param {number} at
 */
export function stepKey({ number }, at) {
  const stepNumber = number[at];
  if (stepNumber == null) return String(at);
  return number.indexOf(stepNumber) === number.lastIndexOf(stepNumber) ? String(stepNumber) : `${stepNumber}.${at}`;
}

/**
 * `1210`, or `1210-1220`: steps that the link names; null where it names none of this session.
 * @param {HostsDocument['steps']} steps
 * @param {string|undefined} text
 * @returns {StepRange|null}
 */
export function stepsOfLink(steps, text) {
  if (!text) return null;
  const keys = steps.number.map((_, at) => stepKey(steps, at));
  const places = text.split('-').map((key) => keys.indexOf(key));
  const [from, to = from] = places;
  if (places.length > 2 || places.includes(-1)) return null;
  return [Math.min(from, to), Math.max(from, to)];
}

/** How a step is called in sentences. @param {HostsDocument['steps']} steps @param {number} at */
export const stepName = ({ number }, at) => String(number[at] ?? at);

/** One row per host and step. @param {HostsDocument} document */
export function csvRows(document) {
  const { hosts, charges, steps } = document;
  const charged = new Map(charges.host.map((host, at) => [`${host} ${charges.step[at]}`, at]));
  return hosts.name.flatMap((host, at) => steps.number.map((_, step) => {
    const place = charged.get(`${at} ${step}`);
    const late = document.late_us[at]?.[step] ?? -1;
    const compared = document.state === 'compared';
    return {
      host,
      step: stepName(steps, step),
      step_us: stepUs(document, at, step),
      late_us: late < 0 ? null : late,
      last: compared ? (place === undefined ? 0 : charges.last[place]) : null,
      others_wait_us: compared ? (place === undefined ? 0 : charges.waits_us[place]) : null,
      clock_offset_us: hosts.offset_us[at],
      clock_residual_us: hosts.residual_us[at],
    };
  }));
}
export const CSV_HEADS = [
  'host',
  'step',
  'step_us',
  'late_us',
  'last',
  'others_wait_us',
  'clock_offset_us',
  'clock_residual_us',
];
