/** Devices and their idle time in whole steps, a row each, from the columns that the server sends. Nothing here draws. */

/** @typedef {import('../lib/views').DeviceColumns} DeviceColumns */
/** @typedef {import('../lib/views').DutyDevice} DutyDevice */
/** @typedef {import('../lib/views').DeviceTime} DeviceTime */

/** @param {DeviceColumns} columns @returns {DutyDevice[]} */
export const dutyRows = ({ unit_ps, id, name, host, duty }) => id.map((own, at) => ({
  id: own, name: name[at], host: host[at],
  duty: /** @type {DutyDevice['duty']} */ (each(duty.span, (span, by) => (
    { span_ps: span[at] * unit_ps, busy_ps: duty.busy[by][at] * unit_ps, stall_ps: duty.stall[by][at] * unit_ps }))),
}));

/** Of the devices that have any. @param {DeviceColumns} columns @returns {DeviceTime[]} */
export const idleRows = ({ unit_ps, id, host, steps, small, idle }) => id.flatMap((own, at) => (steps[at] === null ? [] : [{
  id: own, host: host[at], steps: steps[at], small_ps: small[at] * unit_ps, by_class_ps: each(idle, (column) => column[at] * unit_ps) }]));

/** @template T, V @param {Record<string, T>} of @param {(value: T, name: string) => V} make @returns {Record<string, V>} */
const each = (of, make) => Object.fromEntries(Object.entries(of).map(([name, value]) => [name, make(value, name)]));
