/** Converts the server's columns of devices to rows: spans and busy times, and idle time in whole steps. */

import { deviceId } from '../lib/devices.js';

/** @typedef {import('../lib/routes').DeviceColumns} DeviceColumns */
/** @typedef {import('../lib/views').DutyDevice} DutyDevice */
/** @typedef {import('../lib/views').DeviceTime} DeviceTime */

/** @param {DeviceColumns} columns @returns {DutyDevice[]} */
export const dutyRows = ({ unit_ps, name, host, span, busy, stall }) => host.map((hostName, index) => ({
  id: deviceId(hostName, name[index]), name: name[index], host: hostName,
  span_ps: span[index] * unit_ps, busy_ps: busy[index] * unit_ps, stall_ps: stall[index] * unit_ps,
}));

/**
 * Idle times of the devices that the mean step includes: in whole steps or, without any, in the devices' spans.
 * @param {DeviceColumns} columns @returns {DeviceTime[]}
 */
export const idleRows = ({ unit_ps, name, host, steps, small, edges, idle }) =>
  host.flatMap((hostName, index) =>
    steps[index] === null
      ? []
      : [
          {
            id: deviceId(hostName, name[index]),
            host: hostName,
            steps: steps[index],
            small_ps: small[index] * unit_ps,
            edges_ps: edges[index] * unit_ps,
            by_class_ps: mapValues(idle, (column) => column[index] * unit_ps),
          },
        ],
  );

/**
 * @template {string} K
 * @template T, V
 * @param {Partial<Record<K, T>>} record
 * @param {(value: T, name: K) => V} convert
 * @returns {Partial<Record<K, V>>}
 */
const mapValues = (record, convert) => /** @type {Partial<Record<K, V>>} */ (Object.fromEntries(
  /** @type {[K, T][]} */ (Object.entries(record)).map(([name, value]) => [name, convert(value, name)]),
));
