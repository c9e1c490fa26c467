/** Idle time by class of the selected devices, per step and core. */

import { CLASSES } from '../lib/classes.js';
import { groupBy, total } from '../lib/totals.js';

/** @typedef {import('../lib/routes').ClassName} ClassName */
/** @typedef {import('../lib/views').DeviceTime} DeviceTime */
/**
 * Idle time of a class (null: in gaps under 10 µs): per step and core, and of all cores.
 * @typedef {{name: ClassName|null, ps: number, all_ps: number}} IdlePart
 */

/**
 * The parts of the idle time of some devices. Every step counts the same and is divided by the selected cores of its
 * own host; without steps the means are per core.
 * @param {DeviceTime[]} devices @returns {IdlePart[]}
 */
export function idleParts(devices) {
  const hosts = groupBy(devices, 'host');
  const steps = [...hosts.values()].reduce((sum, [first]) => sum + first.steps, 0);
  /** A device's part of the mean over steps and cores. */
  const weightOf = (/** @type {DeviceTime} */ { host }) =>
    1 / (steps ? steps * (hosts.get(host)?.length ?? 1) : devices.length);
  /** @param {ClassName|null} name @param {(device: DeviceTime) => number} idleOf @returns {IdlePart} */
  const part = (name, idleOf) => ({
    name,
    ps: total(devices, (device) => idleOf(device) * weightOf(device)),
    all_ps: total(devices, idleOf),
  });
  return [
    ...CLASSES.map((name) => part(name, ({ by_class_ps }) => by_class_ps[name] ?? 0)),
    part(null, ({ small_ps }) => small_ps),
  ].filter(({ all_ps }) => all_ps);
}
