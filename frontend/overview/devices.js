/**
 * Devices and their idle time in whole steps, a row each, from the columns that the server sends. Nothing here draws.
 */

import { deviceId } from '../lib/devices.js';

/** @typedef {import('../lib/views').DeviceColumns} DeviceColumns */
/** @typedef {import('../lib/views').DutyDevice} DutyDevice */
/** @typedef {import('../lib/views').DeviceTime} DeviceTime */

/** @param {DeviceColumns} columns @returns {DutyDevice[]} */
export const dutyRows = ({ unit_ps, name, host, duty }) => host.map((own, at) => ({
  id: deviceId(own, name[at]), name: name[at], host: own,
  duty: /** @type {DutyDevice['duty']} */ (each(duty.span, (span, by) => (
    { span_ps: span[at] * unit_ps, busy_ps: duty.busy[by][at] * unit_ps, stall_ps: duty.stall[by][at] * unit_ps }))),
}));

/** Of the devices that have any. @param {DeviceColumns} columns @returns {DeviceTime[]} */
export const idleRows = ({ unit_ps, name, host, steps, small, edges, idle }) =>
  host.flatMap((own, at) =>
    steps[at] === null
      ? []
      : [
          {
            id: deviceId(own, name[at]),
            host: own,
            steps: steps[at],
            small_ps: small[at] * unit_ps,
            edges_ps: edges[at] * unit_ps,
            by_class_ps: each(idle, (column) => column[at] * unit_ps),
          },
        ],
  );

/**
 * @template T, V
 * @param {Record<string, T>} of
 * @param {(value: T, name: string) => V} make
 * @returns {Record<string, V>}
 */
const each = (of, make) => Object.fromEntries(Object.entries(of).map(([name, value]) => [name, make(value, name)]));
