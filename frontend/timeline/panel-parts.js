/**
 * What several panels show: parts of host time by class (a bar, and a table whose sum row equals the whole), events as
 * links, columns of them, buttons.
 */

import { h, button } from '../lib/dom.js';
import { columnUnit, total } from '../lib/totals.js';
import { CLASSES, LABELS, classChip, fillColors, tone } from '../lib/classes.js';
import { cutMiddle, deviceTimeCell, digits, MISSING, share, timeText } from '../lib/format.js';
import { roundTimes } from '../lib/rounded-parts.js';
import { classColumn, deviceName, lengthBar, link } from '../lib/cards.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { partColumns, shareColumn, table, textColumn, timeColumn } from '../lib/table.js';

/** @typedef {import('../lib/routes').EventSummary} EventSummary */
/**
 * Actions of the timeline that panels use.
 * @typedef {object} PanelActions
 * @property {(brief: EventSummary) => void} open selects an event and brings it into view
 * @property {() => (() => void)|null} back returns to the gap from whose chain the selected event was opened
 * @property {(brief: EventSummary) => void} select selects an event and leaves the window alone
 * @property {() => void} frameSelection
 * @property {() => void} showTable shows the window as a table
 * @property {() => void} closeTable returns from the table to the selection
 * @property {(row: string) => void} revealRow brings a row into view
 * @property {(op: {device: string, depth: number, start_ps: number}) => void} openOp selects an op of a device
 * @property {(device: string) => string} deviceName
 * @property {(host: string) => string} shortHost the short name of a host
 * @property {<T extends {host: string}>(devices: T[]) => T[]} inLaneOrder sorts devices as their lanes are
 * @property {import('../frame/app.js').App['selectedDevices']} tracedDevices those of some devices that have lanes
 * @property {(row: string) => string} rowLabel the label of a row on the canvas
 * @property {(finding: import('../lib/routes').Finding) => void} openFinding shows its first place
 */
/** @typedef {{title: string, tags?: (string|Node)[], note?: string, buttons?: Node[], body: Node}} PanelContent */

/** @param {EventSummary} brief @param {PanelActions} act */
export const eventLink = (brief, act) =>
  link(cutMiddle(brief.name), () => act.open(brief), { title: brief.name, 'data-event': brief.event });

/**
 * A column of events, each a link.
 * @template T
 * @param {string} head
 * @param {(item: T) => EventSummary} of
 * @param {PanelActions} act
 * @returns {import('../lib/table.js').Column<T>}
 */
export const eventColumn = (head, of, act) => ({
  head,
  value: (item) => of(item).name,
  cell: (item) => [classChip(of(item).class), eventLink(of(item), act)],
});

/**
 * A muted column that explains another one.
 * @template T
 * @param {string} head
 * @param {import('../lib/totals.js').Field<T, string|null|undefined>} of
 * @returns {import('../lib/table.js').Column<T>}
 */
export function quietColumn(head, of) {
  const column = textColumn(head, of);
  return { ...column, cell: (item) => h('span', { class: 'sec' }, column.cell(item)) };
}

/** @param {PanelActions} act */
export const frameButton = (act) => button('Frame', act.frameSelection, {}, h('kbd', null, 'f'));

/** @param {PanelActions} act */
export const tableButton = (act) => button('Timeline as table', act.showTable, { 'data-testid': 'as-table' });

/** @typedef {import('../lib/types').ByClass} ByClass */
/** @typedef {import('../lib/routes').ClassName} ClassName */

const MIN_LABEL_SHARE = 0.11;

/** @param {ByClass} parts */
const partsOf = (parts) => CLASSES.flatMap((name) => (parts[name] ? [{ name, ps: parts[name] }] : []));

/**
 * @param {ByClass} parts
 * @param {(name: ClassName) => void} [open] what a click on a part shows; a table beside the bar leads there by
 *   keyboard
 */
export function stackedBar(parts, open) {
  const items = partsOf(parts);
  const whole = total(items, 'ps');
  return h(
    'div',
    { class: 'stack', 'aria-hidden': 'true' },
    items.map(({ name, ps }) =>
      h(
        'span',
        {
          ...tone(name, { ...fillColors(`c-${name}`), flex: `${ps} 1 0`, ...(open && { cursor: 'pointer' }) }),
          onclick: () => open?.(name),
          title: `${LABELS[name]} ${timeText(ps)}`,
        },
        ps / whole > MIN_LABEL_SHARE && LABELS[name],
      ),
    ),
  );
}

const { class: { head: classHead }, ps: { head: timeHead } } = TABLES.window_classes;

/**
 * @param {ByClass} parts @param {string} whole what the sum row is called
 * @param {(name: ClassName) => string} threadOf the thread that did most of it
 * @param {object} [more]
 * @param {Beside|null} [more.beside] parts of another host's gap
 * @param {boolean} [more.brief] without explanatory columns
 * @param {string} [more.head] of the column of classes
 */
export function partsTable(parts, whole, threadOf, { beside = null, brief = false, head = classHead } = {}) {
  const items = partsOf(parts);
  for (const { name } of partsOf(beside?.by_class_ps ?? {})) {
    if (!parts[name]) items.push({ name, ps: 0 });
  }
  const { time, share: part, sum, unit } = partColumns(timeHead, items, 'ps');
  const besideCells = beside && besideColumn(beside, unit, items, ({ name }) => beside.by_class_ps[name]);
  return table({
    label: 'Time by class',
    items,
    sort: `-${timeHead}`,
    columns: [
      classColumn(head, ({ name }) => name),
      ...(brief ? [] : [quietColumn('Mostly on', (/** @type {typeof items[number]} */ { name }) => threadOf(name))]),
      time,
      ...(besideCells ? [besideCells.time] : []),
      part,
    ],
    foot: [whole, ...(brief ? [] : ['']), sum, ...(besideCells ? [besideCells.sum] : []), share(items.length ? 1 : 0)],
  });
}

/**
 * The parts of another host's gap of the same step.
 * @typedef {{name: string, duration_ps: number, by_class_ps: ByClass}} Beside
 */

/**
 * A column of the other host's times, and its sum: all of that gap, of which the items may leave out a part.
 * @template T
 * @param {Beside} beside
 * @param {import('../lib/format.js').Unit} unit
 * @param {T[]} items
 * @param {(item: T) => number|undefined} of
 */
export function besideColumn({ name, duration_ps }, unit, items, of) {
  const parts = items.map((item) => of(item) ?? 0);
  const { texts } = roundTimes([...parts, Math.max(0, duration_ps - total(parts, Number))], unit);
  const cell = (/** @type {T} */ item) => (of(item) === undefined ? MISSING : texts[items.indexOf(item)]);
  const time = timeColumn(name, unit, (/** @type {T} */ item) => of(item) ?? null, {
    cell: (item) => h('span', { class: 'sec' }, cell(item)),
  });
  return { time, sum: h('span', { 'data-ps': duration_ps }, digits(duration_ps / unit.ps, 3)) };
}

/**
 * What devices did in a stretch of time: their own, or a window.
 * @template {Pick<import('../lib/types').Device, 'name'|'host'|'busy_ps'|'stall_ps'|'idle_ps'|'modules'|'ops'>} T
 * @param {string} label
 * @param {T[]} items
 * @param {unknown[]} hosts
 * @param {string} head
 * @param {(device: T) => number|null} part busy part of that time
 * @param {(device: T) => number} [outside] how much of the time lies before the device's first or after its last run
 */
export function devicesTable(label, items, hosts, head, part, outside = () => 0) {
  const unit = columnUnit(items, ({ busy_ps, idle_ps }) => busy_ps + idle_ps);
  const time = (/** @type {'busy_ps'|'stall_ps'|'idle_ps'} */ key) =>
    definedColumn(TABLES.window_devices[key], {
      timeUnit: unit,
      cell: (/** @type {T} */ device) => deviceTimeCell(device[key], unit),
    });
  const beside = items.some(outside) ? [timeColumn('Before or after all runs', unit, outside)] : [];
  return table({
    label, items,
    columns: [
      definedColumn(TABLES.window_devices.name, { cell: (device) => deviceName(device, hosts) }),
      { head: '', name: 'Bar', cell: (device) => lengthBar(part(device) ?? 0) },
      shareColumn(head, part),
      time('busy_ps'), time('idle_ps'), ...beside, time('stall_ps'),
      definedColumn(TABLES.window_devices.modules), definedColumn(TABLES.window_devices.ops),
    ],
  });
}
