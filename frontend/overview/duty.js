/** The duty cycle of each device. */

import { h, percent } from '../lib/dom.js';
import { groupBy, maximum, minimum, total } from '../lib/totals.js';
import { card, coreCountText, deviceName, lengthBar, link, noDeviceCard } from '../lib/cards.js';
import { count, cutMiddle, digits, share } from '../lib/format.js';
import { shortNames } from '../lib/host-names.js';
import { escapeItem } from '../lib/link.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { partColumns, sumText, table } from '../lib/table.js';

/** @typedef {import('../lib/views').DutyDevice} DutyDevice */
/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('../frame/app.js').App} App */

/** From this many devices on, a distribution is drawn. */
const MIN_DISTRIBUTION_DEVICES = 17;
/** Text of a card whose devices are all on other hosts than the chosen ones. */
export const NO_SELECTED_DEVICE = 'The chosen hosts have no device.';
/** Number of rows of the lowest devices below a distribution. */
const MAX_LOWEST_ROWS = 3;
/** Number of bars of a distribution. */
const BINS = 80;
/** Number of intervals from 0 to 100 %: the distribution's axis begins and ends at multiples of 5 %. */
const AXIS_INTERVALS = 20;
const MAX_TICKS = 6;

/** @typedef {DutyDevice & {duty: number}} DutyRow */

/** @param {DutyDevice[]} devices @returns {DutyRow[]} */
const rowsOf = (devices) =>
  devices.map((device) => ({ ...device, duty: device.span_ps ? device.busy_ps / device.span_ps : 0 }));

/** @param {DutyDevice[]} devices @param {Ready} session @param {App} app */
export function dutyCard(devices, session, app) {
  if (!devices.length) {
    return noDeviceCard('Duty cycle', 'Duty cycle needs', 'Steps, annotations and host time by class are complete.');
  }
  const selected = app.selectedDevices(devices);
  if (!selected.length) return card('Duty cycle', {}, h('p', null, NO_SELECTED_DEVICE));
  const rows = rowsOf(selected);
  return card(
    'Duty cycle',
    { note: coreCountText(devices.length, selected.length), class: 'duty' },
    h(
      'div',
      { class: 'fill', 'data-testid': 'duty-card' },
      devices.length < MIN_DISTRIBUTION_DEVICES
        ? dutyTable(rows, devices.length, session, app)
        : distribution(rows, devices.length, session, app),
      h('p', { class: 'small muted' }, 'First to last run, not only whole steps.'),
      stallNote(rows),
    ),
  );
}

/**
 * A single device, or several that agree, in one line.
 * @param {DutyDevice[]} devices @param {number} deviceCount of the session @param {Ready} session @param {App} app
 */
export function dutyLine(devices, deviceCount, session, app) {
  const rows = rowsOf(devices);
  return h(
    'div',
    { class: 'duty-one', 'data-testid': 'duty-one' },
    devices.length > 1
      ? h('span', null, h('b', null, coreCountText(deviceCount, devices.length)), ' agree: each is busy')
      : h('span', null, 'Duty cycle ', deviceLink(devices[0], session, app)),
    h('div', { class: 'fill' }, h('span', { class: 'row' }, bar(rows[0]), h('span', null, overallDuty(rows)))),
    h('span', { class: 'small muted' }, 'of its span'),
    stallNote(rows),
  );
}

/** A link to the device's row in the timeline. @param {DutyDevice} device @param {Ready} session @param {App} app */
const deviceLink = (device, session, app) =>
  link(
    cutMiddle(deviceName(device, session.session.hosts), 13),
    () => app.open({ v: 'timeline', x: escapeItem(device.id), w: '', sel: '' }),
    { title: `${device.name} on ${device.host}` },
  );

/** A bar of the duty cycle; its end, the busy time in which an op only waits, is hatched. @param {DutyRow} row */
const bar = ({ span_ps, busy_ps, stall_ps, duty }) =>
  h(
    'span',
    { class: 'duty-bar' },
    lengthBar(duty),
    stall_ps > 0 &&
      h('i', {
        class: 'stall', style: { left: percent((busy_ps - stall_ps) / span_ps), width: percent(stall_ps / span_ps) },
      }),
  );

/** The duty cycle of several devices: their busy time over their spans. @param {DutyRow[]} rows */
const overallDuty = (rows) => share(total(rows, 'busy_ps') / total(rows, 'span_ps'));

/** @param {DutyRow[]} rows @param {number} deviceCount @param {Ready} session @param {App} app */
function dutyTable(rows, deviceCount, session, app) {
  const { time, sum } = partColumns(TABLES.devices.idle_ps.head, rows, ({ span_ps, busy_ps }) => span_ps - busy_ps);
  return table({
    label: 'Duty cycle', testid: 'duty-table', items: rows,
    columns: [
      definedColumn(TABLES.devices.name, {
        field: (/** @type {DutyRow} */ device) => device.name,
        title: undefined,
        cell: (device) => deviceLink(device, session, app),
      }),
      { head: '', name: 'Bar', cell: bar },
      definedColumn(TABLES.devices.duty_cycle, { field: (/** @type {DutyRow} */ { duty }) => duty }), time,
    ],
    foot: [coreCountText(deviceCount, rows.length), '', overallDuty(rows), sumText(sum)],
  });
}

/**
 * A histogram of the duty cycles, and a table of the lowest ones. Cores of one host with equal duty cycles share a row,
 * which links to Hosts.
 * @param {DutyRow[]} rows @param {number} deviceCount @param {Ready} session @param {App} app
 */
function distribution(rows, deviceCount, session, app) {
  const hosts = session.session.hosts.map(({ name }) => name);
  const short = shortNames(hosts);
  const groups = [...groupBy(rows, ({ host, duty }) => `${host} ${share(duty)}`).values()].sort(
    (a, b) => a[0].duty - b[0].duty,
  );
  const lowest = groups.slice(0, MAX_LOWEST_ROWS);
  const remaining = groups.slice(lowest.length).flat().sort((a, b) => a.duty - b.duty);
  const nameOf = (/** @type {DutyRow[]} */ [device, ...rest]) => {
    const host =
      hosts.length > 1
        ? link(short[hosts.indexOf(device.host)] ?? device.host, () => app.open({ v: 'hosts', hs: device.host }), {
            title: device.host,
          })
        : '';
    return rest.length ? [host, host && ', ', coreCountText(rest.length + 1)] : [device.name, host && ' · ', host];
  };
  const items = [
    ...lowest.map((group, index) => ({ name: nameOf(group), note: index ? '' : 'lowest', duty: group[0].duty })),
    ...(remaining.length
      ? [
          {
            name: [`${count(remaining.length)} more ${remaining.length > 1 ? 'cores' : 'core'}`],
            note: 'median',
            duty: remaining[(remaining.length - 1) >> 1].duty,
          },
        ]
      : []),
  ];
  return [
    histogram(rows.map(({ duty }) => duty)),
    table({
      label: 'Duty cycle, lowest first',
      testid: 'duty-table',
      items,
      fixed: true,
      columns: [
        { head: 'Cores', cell: ({ name, note }) => [...name, note && h('span', { class: 'muted' }, ` ${note}`)] },
        definedColumn(TABLES.devices.duty_cycle, { field: 'duty' }),
      ],
      foot: [coreCountText(deviceCount, rows.length), overallDuty(rows)],
    }),
  ];
}

/**
 * The ends of a distribution's axis: multiples of 5 %, apart from each other, from 0 to 1.
 * @param {number[]} dutyCycles from 0 to 1
 */
export function axisEnds(dutyCycles) {
  const first = Math.min(AXIS_INTERVALS - 1, Math.floor(minimum(dutyCycles) * AXIS_INTERVALS));
  const last = Math.max(first + 1, Math.ceil(maximum(dutyCycles) * AXIS_INTERVALS));
  return { low: first / AXIS_INTERVALS, high: last / AXIS_INTERVALS };
}

/** A histogram; the table below has the same data. @param {number[]} dutyCycles from 0 to 1 */
function histogram(dutyCycles) {
  const { low, high } = axisEnds(dutyCycles);
  const bins = new Array(BINS).fill(0);
  for (const duty of dutyCycles) bins[Math.round((duty - low) / (high - low) * (BINS - 1))] += 1;
  const fullest = maximum(bins);
  const intervals = Math.round((high - low) * AXIS_INTERVALS);
  const labelEvery = Math.ceil(intervals / MAX_TICKS);
  const ticks = [...Array(intervals + 1).keys()].filter((tick) => tick % labelEvery === 0);
  return h(
    'div',
    { 'data-testid': 'duty-distribution', 'aria-hidden': 'true' },
    // A bin of a few devices stays visible beside one of thousands.
    h(
      'div',
      { class: 'bins' },
      bins.map((size) => h('i', { style: { height: percent(size / fullest), 'min-height': size ? '4px' : '0' } })),
    ),
    h(
      'div',
      { class: 'bin-ticks muted small' },
      ticks.map((tick) =>
        h(
          'span',
          { style: { left: percent(tick / intervals) } },
          digits((low + tick / AXIS_INTERVALS) * 100),
          tick ? '' : '\u202f%',
        ),
      ),
    ),
  );
}

/** @param {DutyRow[]} rows */
function stallNote(rows) {
  const stallShare = total(rows, 'stall_ps') / total(rows, 'busy_ps');
  return stallShare > 0
    ? h('p', { class: 'small muted' }, `Hatched: busy, but an op only waits (${share(stallShare)} of busy time).`)
    : null;
}
