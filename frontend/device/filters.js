/** The Device view's filters: device, step and category, with the peaks that ops are compared with. */

import { coreCountText } from '../lib/cards.js';
import { button, h, labelledSelect, withValue } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { shortNames } from '../lib/host-names.js';
import { groupBy } from '../lib/totals.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('../lib/types').Device} Device */
/** @typedef {[value: string, text: string]} Choice */
/** @typedef {[key: string, device: Device]} KeyedDevice */

/**
 * The devices by their keys in links: index of the host, and index on that host, such as `0.3`.
 * @param {Ready} session
 * @returns {Map<string, Device>}
 */
export function devicesByKey({ session: { hosts }, devices }) {
  const hostIndices = new Map(hosts.map(({ name }, index) => [name, index]));
  return new Map(
    [...groupBy(devices, (/** @type {Device} */ { host }) => host)].flatMap(([host, hostDevices]) =>
      hostDevices.map((device, core) => /** @type {KeyedDevice} */ ([`${hostIndices.get(host)}.${core}`, device])),
    ),
  );
}

/**
 * The key of the device before or after a choice. The sum of all devices or of a host precedes its first device.
 * @param {string[]} keys of the devices, in their order
 * @param {string} dd the choice: a key, `all`, or the index of a host
 * @param {1|-1} by
 * @returns {string|undefined} undefined beyond the ends
 */
export function neighbourKey(keys, dd, by) {
  const index = keys.indexOf(dd);
  if (index >= 0) return keys[index + by];
  const firstOfSum = Math.max(0, keys.findIndex((key) => key.startsWith(`${dd}.`)));
  return keys[by > 0 ? firstOfSum : firstOfSum - 1];
}

/**
 * The choices of devices: all, then each host and its cores. A host stands for the sum of all its cores, listed or not.
 * @param {Ready} session
 * @param {string} chosen the current choice, which is always listed
 * @param {Device[]} devices to list
 * @returns {Choice[]}
 */
export function deviceChoices(session, chosen, devices) {
  const shorts = shortNames(session.session.hosts.map(({ name }) => name));
  const hasSeveralHosts = shorts.length > 1;
  const deviceSet = new Set(devices);
  const devicesOfHost = groupBy(session.devices, (/** @type {Device} */ { host }) => host);
  const coresText = (/** @type {number} */ host) =>
    coreCountText(devicesOfHost.get(session.session.hosts[host].name)?.length ?? 0);
  const choices = [...devicesByKey(session)].filter(
    ([key, device]) => deviceSet.has(device) || key === chosen || key.split('.')[0] === chosen,
  );
  const hosts = [...groupBy(choices, (/** @type {KeyedDevice} */ [key]) => Number(key.split('.')[0]))];
  return [
    ...((session.devices.length > 1 && (hosts.length > 1 || !hasSeveralHosts)) || chosen === 'all'
      ? [/** @type {Choice} */ (['all', `all ${count(session.devices.length)}`])]
      : []),
    ...hosts.flatMap(([host, hostDevices]) => [
      ...((hasSeveralHosts && hostDevices.length > 1) || chosen === String(host)
        ? [/** @type {Choice} */ ([String(host), `${shorts[host]}, ${coresText(host)}`])]
        : []),
      ...hostDevices.map(
        ([key, { name }]) => /** @type {Choice} */ ([key, hasSeveralHosts ? `${name} · ${shorts[host]}` : name]),
      ),
    ]),
  ];
}

/**
 * The controls: a menu per filter, the peaks, and the button that changes them.
 * @param {Ready} session @param {DeviceAnswer} answer @param {Device[]} devices to list
 * @param {object} on
 * @param {(cores: string) => void} on.cores
 * @param {(steps: string) => void} on.steps
 * @param {(name: string) => void} on.category
 * @param {() => void} on.peaks
 */
export function filterControls(
  session,
  { chosen, whole_steps, steps, categories, peaks, peaks_text },
  devices,
  on,
) {
  /** Choices whose values are their texts. */
  const choicesOf = (/** @type {string[]} */ names) => names.map((name) => /** @type {Choice} */ ([name, name]));
  const hasPeaks = peaks.flops_per_s !== null || peaks.bytes_per_s !== null;
  return [
    labelledSelect('device', deviceChoices(session, chosen.cores, devices), chosen.cores, on.cores, 'device-pick'),
    labelledSelect(
      'step',
      [
        ...(whole_steps > 1 || chosen.steps === 'mean'
          ? [/** @type {Choice} */ (['mean', `mean of ${count(whole_steps)}`])]
          : []),
        ['all', 'whole session'],
        ...choicesOf(steps),
      ],
      chosen.steps,
      on.steps,
      'device-step',
    ),
    labelledSelect(
      'category',
      withValue([['', 'any'], ...choicesOf(categories)], chosen.category),
      chosen.category ?? '',
      on.category,
      'device-category',
    ),
    h('span', { class: 'grow' }),
    h('span', { class: 'small secondary', 'data-testid': 'device-peaks' }, peaks_text),
    button(hasPeaks ? 'change' : 'Set peaks…', on.peaks, { class: 'link small', 'data-testid': 'peaks-change' }),
  ];
}
