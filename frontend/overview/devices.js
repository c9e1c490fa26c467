/** Converts the server's columns of devices to rows: spans and busy times, and idle time in whole steps. */

import { deviceId } from '../lib/devices.js';

/** @typedef {import('../lib/routes').DeviceColumns} DeviceColumns */
/** @typedef {import('../lib/views').DutyDevice} DutyDevice */
/** @typedef {import('../lib/views').DeviceTime} DeviceTime */

/** @param {DeviceColumns} columns @returns {DutyDevice[]} */
export const dutyRows = ({ unit_ps, name, host, duty }) => host.map((hostName, at) => ({
  id: deviceId(hostName, name[at]), name: name[at], host: hostName,
  duty: /** @type {DutyDevice['duty']} */ (
    mapValues(duty.span, (span, definition) => ({
      span_ps: span[at] * unit_ps,
      busy_ps: (duty.busy[definition]?.[at] ?? 0) * unit_ps,
      stall_ps: (duty.stall[definition]?.[at] ?? 0) * unit_ps,
    }))
  ),
}));

/** Idle times; leaves out devices without idle time in steps. @param {DeviceColumns} columns @returns {DeviceTime[]} */
export const idleRows = ({ unit_ps, name, host, steps, small, edges, idle }) =>
  host.flatMap((hostName, at) =>
    steps[at] === null
      ? []
      : [
          {
            id: deviceId(hostName, name[at]),
            host: hostName,
            steps: steps[at],
            small_ps: small[at] * unit_ps,
            edges_ps: edges[at] * unit_ps,
            by_class_ps: mapValues(idle, (column) => column[at] * unit_ps),
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
