/** Lays out the lanes of several hosts as groups: a head, the host's rows, and its devices. */

import { share } from '../lib/format.js';
import { parseRowId } from '../lib/row-ids.js';

/** @typedef {import('./layout.js').Row} Row */
/** @typedef {import('./layout.js').Device} Device */

/** With more hosts than this, all but one are folded at first. */
const MAX_OPEN_HOSTS = 16;
const HEAD_PX = 17;
const HEAD_SPACE_PX = 2;
const FOLDED_DEVICES_PX = 10;

/** The ids of the rows' devices. @param {Row[]} rows */
export const devicesOf = (rows) => [...new Set(rows.flatMap((row) => (row.device ? [row.device] : [])))];

/** The first device with busy time, else the first one. @param {string[]} ids @param {Device[]} devices */
export const firstActive = (ids, devices) =>
  ids.find((id) => (devices.find((device) => device.id === id)?.busy_ps ?? 0) > 0) ?? ids[0];

/** The label of several devices: `TPU:0, 1, 3`. @param {string[]} names */
export function devicesLabel(names) {
  const stem = /^.*?(?=\d+$)/.exec(names[0])?.[0] ?? '';
  return stem && names.every((name) => name.startsWith(stem))
    ? stem + names.map((name) => name.slice(stem.length)).join(', ')
    : names.join(', ');
}

/** The id of the group to which a row belongs: `h12` for `h12.t3`. @param {{id: string}} row */
export const groupOf = ({ id }) => `h${parseRowId(id)?.host ?? ''}`;

/**
 * Lays out the groups. The host of `focusDevice`, else the first one, shows all its rows and one device. For
 * comparison, the other hosts show their classes and the runs of the same device, or if there are many, only their
 * heads. All can be unfolded.
 * @param {import('./layout.js').Stack} stack
 * @param {Row[]} rows
 * @param {import('./layout.js').LayoutOptions} options
 */
export function layoutGroups(
  stack,
  rows,
  {
    open,
    requiredDepths,
    allDevices,
    shiftText,
    firstHosts = [],
    lastHosts = [],
    rankLabels = new Map(),
    shortNames = new Map(),
    focusDevice = null,
  },
) {
  const hostNames = [...new Set(rows.map(({ host }) => host))];
  const names = [
    ...firstHosts.filter((name) => hostNames.includes(name) && !lastHosts.includes(name)),
    ...hostNames.filter((name) => !firstHosts.includes(name) && !lastHosts.includes(name)),
    ...lastHosts.filter((name) => hostNames.includes(name)),
  ];
  const deviceById = new Map(allDevices.map((device) => [device.id, device]));
  const focused =
    focusDevice && names.includes(deviceById.get(focusDevice)?.host ?? '') ? deviceById.get(focusDevice) : null;
  const fullHost = focused?.host ?? names[0];
  for (const name of names) addGroup(name, rows.filter(({ host }) => host === name));

  /** @param {string} name @param {Row[]} hostRows */
  function addGroup(name, hostRows) {
    const id = groupOf(hostRows[0]);
    const isFull = name === fullHost;
    const isOpen = open.get(id) ?? (names.length <= MAX_OPEN_HOSTS || isFull);
    const steps = hostRows.find(({ kind }) => kind === 'steps');
    const head = {
      label: name,
      short: shortNames.get(name),
      bold: true,
      right: rankLabels.get(name) ?? '',
      rule: name !== names[0],
      fold: { id, open: isOpen },
    };
    if (steps) stack.addRow(steps, head);
    else {
      const lane = { id: `${id}.head`, kind: /** @type {const} */ ('head'), row: hostRows[0], rows: [], depth: 0 };
      stack.add({ ...lane, ...head }, HEAD_PX, HEAD_SPACE_PX);
    }
    if (!isOpen) return;
    const shown = shownRows(id, hostRows.filter((row) => !row.device && row !== steps), isFull);
    const isThread = (/** @type {Row} */ { kind }) => kind === 'thread';
    stack.addHost(shown.rows.filter((row) => !isThread(row)), ({ kind }) => ({
      indent: 1,
      bold: false,
      ...(kind === 'classes' ? shown.fold : {}),
    }));
    addDevices(id, hostRows, isFull);
    stack.addHost(shown.rows.filter(isThread), () => ({ indent: 1 }));
  }

  /**
   * The host's rows, or only its classes if they are folded; with what a click on the classes opens or closes.
   * @param {string} id
   * @param {Row[]} hostRows
   * @param {boolean} unfolded
   */
  function shownRows(id, hostRows, unfolded) {
    const fold = { id: `${id}.rows`, open: open.get(`${id}.rows`) ?? unfolded };
    const kept = hostRows.filter((row) => fold.open || row.kind === 'classes' || requiredDepths.has(row.id));
    return { rows: kept, fold: hostRows.length > 1 ? { fold } : {} };
  }

  /**
   * Adds the host's main device, in full or only its runs, and one lane for the others.
   * @param {string} id
   * @param {Row[]} hostRows
   * @param {boolean} unfolded
   */
  function addDevices(id, hostRows, unfolded) {
    const ids = devicesOf(hostRows);
    if (!ids.length) return;
    const name = (/** @type {string} */ device) => deviceById.get(device)?.name ?? device;
    const main =
      ids.find((device) => focused && device === focused.id) ??
      ids.find((device) => focused && name(device) === focused.name) ??
      firstActive(ids, allDevices);
    const rowsOf = (/** @type {string} */ device) => hostRows.filter((row) => row.device === device);
    const isSelected = (/** @type {string} */ device) => rowsOf(device).some((row) => requiredDepths.has(row.id));
    const foldedIds = ids.filter((device) => device !== main && !isSelected(device) && !open.get(device));
    const fold = { id: `${id}.rest`, open: open.get(`${id}.rest`) ?? false };
    for (const device of ids.filter((candidate) => fold.open || !foldedIds.includes(candidate))) {
      const rowsOfDevice = rowsOf(device);
      const duty = deviceById.get(device)?.duty_cycle;
      const isOpen = isSelected(device) || (open.get(device) ?? (unfolded && device === main));
      const head = {
        label: name(device),
        right: shiftText(rowsOfDevice[rowsOfDevice.length - 1].id) || (duty === undefined ? '' : share(duty)),
        fold: { id: device, open: isOpen },
      };
      const firstOf = (/** @type {string} */ kind) => rowsOfDevice.find((row) => row.kind === kind);
      const runs = firstOf('modules') ?? firstOf('ops');
      if (isOpen) stack.addDevice(rowsOfDevice, head);
      else if (device === main && runs && open.get(device) === undefined) stack.addRow(runs, { ...head, bold: true });
      else stack.addFolded(device, rowsOfDevice, head);
    }
    if (foldedIds.length) {
      const foldedRows = foldedIds.flatMap(rowsOf);
      const runRows = foldedRows.filter(({ kind }) => kind === 'modules');
      stack.addFolded(
        fold.id,
        runRows.length ? runRows : foldedRows,
        { label: devicesLabel(foldedIds.map(name)), indent: 1, fold },
        FOLDED_DEVICES_PX,
      );
    }
  }
}
