/** The Device view's filters: device, step and category, with the peaks that ops are compared with. */

import { button, h, labelledSelect } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { shortNames } from '../lib/host-names.js';
import { groupBy } from '../lib/totals.js';
import { peaksText } from './peaks.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('../lib/types').Device} Device */
/** @typedef {[value: string, text: string]} Choice */
/** @typedef {[place: string, device: Device]} Placed */

/**
 * Maps each device's key in links to the device: index of its host, and its index on that host.
 * @param {Ready} session
 * @returns {Map<string, Device>}
 */
export function devicePlaces({ session: { hosts }, devices }) {
  const places = new Map(hosts.map(({ name }, at) => [name, at]));
  return new Map(
    [...groupBy(devices, (/** @type {Device} */ { host }) => host)].flatMap(([host, hostDevices]) =>
      hostDevices.map((device, core) => /** @type {Placed} */ ([`${places.get(host)}.${core}`, device])),
    ),
  );
}

/**
 * The choices of devices: all, then each host and its cores.
 * @param {Ready} session
 * @param {string} chosen the current choice
 * @param {Device[]} listed
 * @returns {Choice[]}
 */
export function deviceChoices(session, chosen, listed) {
  const shorts = shortNames(session.session.hosts.map(({ name }) => name));
  const several = shorts.length > 1;
  const selected = new Set(listed);
  const shown = [...devicePlaces(session)].filter(([place, device]) => selected.has(device) || place === chosen);
  const hosts = [...groupBy(shown, (/** @type {Placed} */ [place]) => Number(place.split('.')[0]))];
  return [
    ...(session.devices.length > 1 && (hosts.length > 1 || !several || chosen === 'all')
      ? [/** @type {Choice} */ (['all', `all ${count(session.devices.length)}`])]
      : []),
    ...hosts.flatMap(([host, hostPlaces]) => [
      ...(several && hostPlaces.length > 1
        ? [/** @type {Choice} */ ([String(host), `${shorts[host]}, ${count(hostPlaces.length)} cores`])]
        : []),
      ...hostPlaces.map(
        ([place, { name }]) => /** @type {Choice} */ ([place, several ? `${name} · ${shorts[host]}` : name]),
      ),
    ]),
  ];
}

/**
 * @param {Ready} session @param {DeviceAnswer} answer @param {Device[]} listed
 * @param {object} on
 * @param {(cores: string) => void} on.cores
 * @param {(steps: string) => void} on.steps
 * @param {(name: string) => void} on.category
 * @param {() => void} on.peaks
 */
export function filterChoices(
  session,
  { chosen, whole_steps, steps, categories, peaks },
  listed,
  on,
) {
  const named = (/** @type {string[]} */ names) => names.map((name) => /** @type {Choice} */ ([name, name]));
  const hasPeaks = peaks.flops_per_s !== null || peaks.bytes_per_s !== null;
  return [
    labelledSelect('device', deviceChoices(session, chosen.cores, listed), chosen.cores, on.cores, 'device-pick'),
    labelledSelect(
      'step',
      [
        ...(whole_steps > 1 ? [/** @type {Choice} */ (['mean', `mean of ${count(whole_steps)}`])] : []),
        ['all', 'whole session'],
        ...named(steps),
      ],
      chosen.steps,
      on.steps,
      'device-step',
    ),
    labelledSelect(
      'category',
      [['', 'any'], ...named(categories)],
      chosen.category ?? '',
      on.category,
      'device-category',
    ),
    h('span', { class: 'grow' }),
    h('span', { class: 'small sec', 'data-testid': 'device-peaks' }, peaksText(peaks)),
    button(hasPeaks ? 'change' : 'Set peaks…', on.peaks, { class: 'link small', 'data-testid': 'peaks-change' }),
  ];
}
