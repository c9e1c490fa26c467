/** Lanes of several hosts: a head per host, what the host did, and right below that its own devices. */

import { share } from '../lib/format.js';
import { parseRowId } from '../lib/row-ids.js';
import { gapRow } from './selection.js';

/** @typedef {import('./layout.js').Row} Row */
/** @typedef {import('./layout.js').Device} Device */

/** With more hosts than this, all but one are folded at first. */
const MAX_OPEN_HOSTS = 16;
const REST_HEIGHT = 10;

/** @param {Row[]} rows */
export const devicesOf = (rows) => [...new Set(rows.flatMap((row) => (row.device ? [row.device] : [])))];

/** The first device with busy time, else the first. @param {string[]} ids @param {Device[]} devices */
export const mostActive = (ids, devices) =>
  ids.find((id) => (devices.find((device) => device.id === id)?.busy_ps ?? 0) > 0) ?? ids[0];

/** `TPU:0, 1, 3` @param {string[]} names */
export function restLabel(names) {
  const stem = /^.*?(?=\d+$)/.exec(names[0])?.[0] ?? '';
  return stem && names.every((name) => name.startsWith(stem))
    ? stem + names.map((name) => name.slice(stem.length)).join(', ')
    : names.join(', ');
}

/** The group of a host by any of its rows: `h12` of `h12.t3`. @param {Row} row */
export const groupOf = ({ id }) => `h${parseRowId(id)?.host ?? ''}`;

/**
 * Lays out the groups. The host of the gap that was selected last, or else the first host, shows all its rows and one
 * device. To compare with, the others show what they did by class and the runs of the same device. All can be unfolded.
 * @param {import('./layout.js').Stack} stack @param {Row[]} rows @param {import('./layout.js').LayoutOptions} options
 */
export function layoutGroups(
  stack,
  rows,
  { open, taking, all, shift, first = [], last = [], ranks = new Map(), short = new Map(), focus = null },
) {
  const present = [...new Set(rows.map(({ host }) => host))];
  const names = [
    ...first.filter((name) => present.includes(name) && !last.includes(name)),
    ...present.filter((name) => !first.includes(name) && !last.includes(name)),
    ...last.filter((name) => present.includes(name)),
  ];
  const deviceById = new Map(all.map((device) => [device.id, device]));
  const focused = focus && names.includes(deviceById.get(focus)?.host ?? '') ? deviceById.get(focus) : null;
  const whole = focused?.host ?? names[0];
  names.forEach((name, place) =>
    addGroup(
      name,
      rows.filter(({ host }) => host === name),
      place,
    ),
  );

  /** @param {string} name @param {Row[]} hostRows @param {number} place */
  function addGroup(name, hostRows, place) {
    const id = groupOf(hostRows[0]);
    const shown = open.get(id) ?? (names.length <= MAX_OPEN_HOSTS || name === whole);
    const steps = hostRows.find(({ kind }) => kind === 'steps');
    const head = {
      label: name,
      short: short.get(name),
      bold: true,
      right: ranks.get(name) ?? '',
      rule: place > 0,
      fold: { id, open: shown },
    };
    if (steps) stack.addRow(steps, head);
    else stack.add({ id: `${id}.head`, kind: 'head', row: hostRows[0], rows: [], depth: 0, ...head }, 17, 2);
    if (!shown) return;
    addHost(
      id,
      hostRows.filter((row) => !row.device && row !== steps),
      name === whole,
    );
    addDevices(id, hostRows, name === whole);
  }

  /** @param {string} id @param {Row[]} hostRows @param {boolean} unfolded */
  function addHost(id, hostRows, unfolded) {
    if (!hostRows.length) return;
    const fold = { id: `${id}.rows`, open: open.get(`${id}.rows`) ?? unfolded };
    const shownRows = hostRows.filter((row) => fold.open || row.kind === 'classes' || taking.has(row.id));
    stack.addHost(shownRows, ({ kind }) => ({
      indent: 1,
      bold: false,
      ...(kind === 'classes' && hostRows.length > 1 ? { fold } : {}),
    }));
  }

  /** @param {string} id @param {Row[]} hostRows @param {boolean} unfolded */
  function addDevices(id, hostRows, unfolded) {
    const ids = devicesOf(hostRows);
    if (!ids.length) return;
    const name = (/** @type {string} */ device) => deviceById.get(device)?.name ?? device;
    const main =
      ids.find((device) => focused && device === focused.id) ??
      ids.find((device) => focused && name(device) === focused.name) ??
      mostActive(ids, all);
    const rowsOf = (/** @type {string} */ device) => hostRows.filter((row) => row.device === device);
    const isSelected = (/** @type {string} */ device) =>
      taking.has(gapRow(device)) || rowsOf(device).some((row) => taking.has(row.id));
    const rest = ids.filter((device) => device !== main && !isSelected(device) && !open.get(device));
    const fold = { id: `${id}.rest`, open: open.get(`${id}.rest`) ?? false };
    for (const device of ids.filter((candidate) => fold.open || !rest.includes(candidate))) {
      const rowsOfDevice = rowsOf(device);
      const duty = deviceById.get(device)?.duty_cycle;
      const opened = isSelected(device) || (open.get(device) ?? (unfolded && device === main));
      const head = {
        label: name(device),
        right: shift(rowsOfDevice[rowsOfDevice.length - 1].id) || (duty === undefined ? '' : share(duty)),
        fold: { id: device, open: opened },
      };
      const firstOf = (/** @type {string} */ kind) => rowsOfDevice.find((row) => row.kind === kind);
      const runs = firstOf('modules') ?? firstOf('ops');
      if (opened) stack.addDevice(rowsOfDevice, head);
      else if (device === main && runs && open.get(device) === undefined) stack.addRow(runs, { ...head, bold: true });
      else stack.addFolded(device, rowsOfDevice, head);
    }
    if (rest.length) {
      const folded = rest.flatMap(rowsOf).filter(({ kind }) => kind === 'modules');
      stack.addFolded(
        fold.id,
        folded.length ? folded : rest.flatMap(rowsOf),
        { label: restLabel(rest.map(name)), indent: 1, fold },
        REST_HEIGHT,
      );
    }
  }
}
