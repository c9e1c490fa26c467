/** Elements that several panels share: times by class as a bar and as a table, links and columns of events, buttons. */

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
 * @property {(summary: EventSummary) => void} open selects an event and brings it into view
 * @property {() => (() => void)|null} back the action that returns to the gap from whose chain the selected event was
 *   opened; null without such a gap
 * @property {(summary: EventSummary) => void} select selects an event and leaves the window unchanged
 * @property {() => void} frameSelection
 * @property {(span: import('./scale.js').Span) => void} showSpan brings a span into view
 * @property {import('../frame/app.js').App['open']} openView opens a view
 * @property {() => void} showTable shows the window as a table
 * @property {() => void} closeTable returns from the table to the selection
 * @property {(row: string) => void} revealRow brings a row into view
 * @property {(op: {device: string, depth: number, start_ps: number}) => void} openOp selects an op of a device
 * @property {(device: string) => string} deviceName
 * @property {(host: string) => string} shortHost the short name of a host
 * @property {<T extends {host: string}>(devices: T[]) => T[]} inLaneOrder sorts devices in the order of their lanes
 * @property {import('../frame/app.js').App['selectedDevices']} tracedDevices keeps the devices that have lanes
 * @property {(row: string) => string} rowLabel the label of a row on the canvas
 */
/** @typedef {{title: string, tags?: (string|Node)[], note?: string, buttons?: Node[], body: Node}} PanelContent */

/** @param {EventSummary} summary @param {PanelActions} act */
export const eventLink = (summary, act) =>
  link(cutMiddle(summary.name), () => act.open(summary), { title: summary.name, 'data-event': summary.event });

/**
 * A column of events, each a link.
 * @template T
 * @param {string} head
 * @param {(item: T) => EventSummary} eventOf
 * @param {PanelActions} act
 * @returns {import('../lib/table.js').Column<T>}
 */
export const eventColumn = (head, eventOf, act) => ({
  head,
  value: (item) => eventOf(item).name,
  cell: (item) => [classChip(eventOf(item).class), eventLink(eventOf(item), act)],
});

/**
 * A muted column that explains another one.
 * @template T
 * @param {string} head
 * @param {import('../lib/totals.js').Field<T, string|null|undefined>} field
 * @returns {import('../lib/table.js').Column<T>}
 */
export function quietColumn(head, field) {
  const column = textColumn(head, field);
  return { ...column, cell: (item) => h('span', { class: 'secondary' }, column.cell(item)) };
}

/** @param {PanelActions} act */
export const frameButton = (act) =>
  button('Frame', act.frameSelection, { title: 'Zoom to the selection' }, h('kbd', null, 'f'));

/** @param {PanelActions} act */
export const tableButton = (act) => button('Timeline as table', act.showTable, { 'data-testid': 'as-table' });

/** @typedef {import('../lib/types').ByClass} ByClass */
/** @typedef {import('../lib/routes').ClassName} ClassName */

/** Narrower parts of a bar have no label. */
const MIN_LABEL_SHARE = 0.11;

/** Times by class as items, in the order of classes. @param {ByClass} parts */
const partsOf = (parts) => CLASSES.flatMap((name) => (parts[name] ? [{ name, ps: parts[name] }] : []));

/**
 * A stacked bar of times by class.
 * @param {ByClass} parts
 * @param {(name: ClassName) => (() => void)|undefined} [actionOf] the action of a click on a part; a table beside the
 *   bar has the same action for the keyboard
 */
export function stackedBar(parts, actionOf) {
  const items = partsOf(parts);
  const whole = total(items, 'ps');
  return h(
    'div',
    { class: 'stack', 'aria-hidden': 'true' },
    items.map(({ name, ps }) => {
      const action = actionOf?.(name);
      return h(
        'span',
        {
          ...tone(name, { ...fillColors(`c-${name}`), flex: `${ps} 1 0`, ...(action && { cursor: 'pointer' }) }),
          onclick: action,
          title: `${LABELS[name]} ${timeText(ps)}`,
        },
        ps / whole > MIN_LABEL_SHARE && LABELS[name],
      );
    }),
  );
}

const { class: { head: classHead }, ps: { head: timeHead } } = TABLES.window_classes;

/**
 * A table of times by class.
 * @param {ByClass} parts
 * @param {string} sumLabel label of the sum row
 * @param {(name: ClassName) => string} threadOf the thread with most time of a class
 * @param {object} [more]
 * @param {OtherGap|null} [more.otherGap] the gap of another host, for a column beside the times
 * @param {boolean} [more.narrow] leaves out explanatory columns
 * @param {string} [more.head] of the column of classes
 */
export function partsTable(parts, sumLabel, threadOf, { otherGap = null, narrow = false, head = classHead } = {}) {
  const items = partsOf(parts);
  for (const { name } of partsOf(otherGap?.by_class_ps ?? {})) {
    if (!parts[name]) items.push({ name, ps: 0 });
  }
  const { time, share: part, sum, unit } = partColumns(timeHead, items, 'ps');
  const otherCells = otherGap && otherGapColumn(otherGap, unit, items, ({ name }) => otherGap.by_class_ps[name]);
  return table({
    label: 'Time by class',
    items,
    sort: `-${timeHead}`,
    columns: [
      classColumn(head, ({ name }) => name),
      ...(narrow ? [] : [quietColumn('Mostly on', (/** @type {typeof items[number]} */ { name }) => threadOf(name))]),
      time,
      ...(otherCells ? [otherCells.time] : []),
      part,
    ],
    foot: [
      sumLabel,
      ...(narrow ? [] : ['']),
      sum,
      ...(otherCells ? [otherCells.sum] : []),
      share(items.length ? 1 : 0),
    ],
  });
}

/**
 * The gap of another host in the same step, with the host's name.
 * @typedef {{name: string, duration_ps: number, by_class_ps: ByClass}} OtherGap
 */

/**
 * A column of times in another host's gap, and the cell of its sum, which is the duration of that gap even if the items
 * do not cover all of it.
 * @template T
 * @param {OtherGap} gap
 * @param {import('../lib/format.js').Unit} unit
 * @param {T[]} items
 * @param {(item: T) => number|undefined} timeOf ps
 */
export function otherGapColumn({ name, duration_ps }, unit, items, timeOf) {
  const parts = items.map((item) => timeOf(item) ?? 0);
  const { texts } = roundTimes([...parts, Math.max(0, duration_ps - total(parts, Number))], unit);
  const cell = (/** @type {T} */ item) => (timeOf(item) === undefined ? MISSING : texts[items.indexOf(item)]);
  const time = timeColumn(name, unit, (/** @type {T} */ item) => timeOf(item) ?? null, {
    cell: (item) => h('span', { class: 'secondary' }, cell(item)),
  });
  return { time, sum: h('span', { 'data-ps': duration_ps }, digits(duration_ps / unit.ps, 3)) };
}

/**
 * A table of what devices did in a span of time: their own span, or a window.
 * @template {Pick<import('../lib/types').Device, 'name'|'host'|'busy_ps'|'stall_ps'|'idle_ps'|'modules'|'ops'>} T
 * @param {string} label
 * @param {T[]} items
 * @param {unknown[]} hosts of the session
 * @param {string} shareHead head of the column of shares
 * @param {(device: T) => number|null} busyShare busy time over the span
 * @param {(device: T) => number} [outside] time in the span before the device's first or after its last run, ps
 */
export function devicesTable(label, items, hosts, shareHead, busyShare, outside = () => 0) {
  const unit = columnUnit(items, ({ busy_ps, idle_ps }) => busy_ps + idle_ps);
  const time = (/** @type {'busy_ps'|'stall_ps'|'idle_ps'} */ key) =>
    definedColumn(TABLES.window_devices[key], {
      timeUnit: unit,
      cell: (/** @type {T} */ device) => deviceTimeCell(device[key], unit),
    });
  const { head: outsideHead } = TABLES.window_devices.outside_ps;
  const outsideColumn = items.some(outside) ? [timeColumn(outsideHead, unit, outside)] : [];
  return table({
    label, items,
    columns: [
      definedColumn(TABLES.window_devices.name, { cell: (device) => deviceName(device, hosts) }),
      { head: '', name: 'Bar', cell: (device) => lengthBar(busyShare(device) ?? 0) },
      shareColumn(shareHead, busyShare),
      time('busy_ps'), time('idle_ps'), ...outsideColumn, time('stall_ps'),
      definedColumn(TABLES.window_devices.modules), definedColumn(TABLES.window_devices.ops),
    ],
  });
}
