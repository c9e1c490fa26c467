/** The panel of a window: times by class, thread and device. */

import { h, button } from '../lib/dom.js';
import { columnUnit, total } from '../lib/totals.js';
import { sortByTime } from '../lib/classes.js';
import { classColumn, link } from '../lib/cards.js';
import { count, cutMiddle, rangeText, share, timeText, unitFor } from '../lib/format.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { partColumns, shareColumn, table } from '../lib/table.js';
import {
  devicesTable,
  eventColumn,
  frameButton,
  partsTable,
  quietColumn,
  stackedBar,
  tableButton,
} from './panel-parts.js';

/** @typedef {import('../lib/routes').Window} Window */
/** @typedef {Window['threads'][number]} Thread */
/** @typedef {import('../lib/routes').ClassName} ClassName */
/** @typedef {import('./panel-parts.js').PanelActions} PanelActions */

const { self_ps: { head: OWN_TIME } } = TABLES.window_annotations;
/** @type {Pick<Window['hosts'][number], 'by_class_ps'|'row_by_class'>} */
const NO_HOST = { by_class_ps: {}, row_by_class: {} };

/**
 * @param {Window} answer
 * @param {PanelActions} act
 * @param {string[]} hosts names of the chosen hosts
 * @param {string} [slowest] the slowest host, whose times are shown first if it is chosen
 * @returns {import('./panel-parts.js').PanelContent}
 */
export function windowContent(answer, act, hosts, slowest) {
  const { annotations, duration_ps, start_ps, end_ps, top } = answer;
  const chosenHosts = answer.hosts.filter(({ host }) => hosts.includes(host));
  const devices = act.tracedDevices(answer.devices);
  const threads = answer.threads.filter(({ host }) => hosts.includes(host));
  const windowUnit = unitFor(duration_ps);
  const unit = columnUnit(top, 'total_ps');
  const ops = annotations.flatMap(({ path, top_ops, more_ops }) =>
    [...top_ops, ...(more_ops.names ? [{ ...more_ops, op: `${count(more_ops.names)} more` }] : [])].map((row) => ({
      ...row,
      path: path ?? 'no annotation',
    })),
  );
  const { time, share: part, sum } = partColumns(OWN_TIME, ops, 'self_ps');
  const busyShare = (/** @type {{busy_ps: number}} */ { busy_ps }) => busy_ps / duration_ps;
  return {
    title: `Window of ${timeText(duration_ps)}`,
    note: rangeText(start_ps, end_ps),
    buttons: [frameButton(act), tableButton(act)],
    body: h(
      'div',
      { class: 'columns' },
      hostSection(
        chosenHosts,
        act,
        (chosenHosts.find(({ host }) => host === slowest) ?? chosenHosts[0])?.host ?? '',
      ),
      h(
        'section',
        null,
        devices.length > 0 &&
          h(
            'div',
            { 'data-testid': 'window-devices' },
            devicesTable(
              'Devices in the window',
              act.inLaneOrder(devices),
              answer.hosts,
              'Share',
              busyShare,
              ({ span_ps }) => duration_ps - span_ps,
            ),
          ),
        ops.length > 0 &&
          h(
            'div',
            { 'data-testid': 'window-ops' },
            table({
              label: 'Device ops in the window, by annotation',
              items: ops,
              sort: `-${OWN_TIME}`,
              columns: [
                definedColumn(TABLES.window_annotations.path, { cell: ({ path }) => cutMiddle(path, 36) }),
                definedColumn(TABLES.window_ops.op, { cell: ({ op }) => cutMiddle(op, 36) }),
                definedColumn(TABLES.window_ops.count),
                time,
                part,
              ],
              // Not the sum of the column: an op of several annotations counts in each of them.
              foot: ['all ops', '', count(total(answer.devices, 'ops')), sum, share(1)],
            }),
          ),
        h(
          'div',
          { 'data-testid': 'window-threads' },
          table({
            label: 'Threads in the window',
            items: threads,
            columns: [
              ...(answer.hosts.length > 1 ? [definedColumn(TABLES.window_threads.host)] : []),
              definedColumn(TABLES.window_threads.name, {
                field: (/** @type {Thread} */ { row }) => act.rowLabel(row),
                cell: ({ row }) => link(act.rowLabel(row), () => act.revealRow(row), { title: act.rowLabel(row) }),
              }),
              quietColumn(TABLES.window_threads.role.head, ({ role }) => role.replace('_', ' ')),
              classColumn('Mostly', mainClass),
              definedColumn(TABLES.window_threads.busy_ps, { timeUnit: windowUnit }),
              shareColumn('Of the window', busyShare),
              definedColumn(TABLES.window_threads.events),
              definedColumn(TABLES.window_threads.top, {
                field: (/** @type {Thread} */ { top: [first] }) => first?.name,
                title: (/** @type {Thread} */ { top: names }) =>
                  names.map(({ name, self_ps }) => `${name} ${timeText(self_ps)}`).join('\n'),
                cell: ({ top: [first] }) =>
                  first && [
                    cutMiddle(first.name, 36),
                    h('span', { class: 'secondary' }, ` ${timeText(first.self_ps)}`),
                  ],
              }),
            ],
          }),
        ),
        h(
          'div',
          { 'data-testid': 'window-top' },
          table({
            label: 'Events that take most time',
            items: top,
            sort: '-self',
            open: ({ longest }) => act.open(longest),
            select: ({ longest }) => act.select(longest),
            columns: [
              eventColumn(
                'Event (opens the longest)',
                (item) => ({ ...item.longest, name: item.name, class: item.class }),
                act,
              ),
              definedColumn(TABLES.window_events.count),
              definedColumn(TABLES.window_events.total_ps, { timeUnit: unit }),
              definedColumn(TABLES.window_events.self_ps, { timeUnit: unit }),
            ],
          }),
        ),
        (chosenHosts.length < answer.hosts.length || devices.length < answer.devices.length) &&
          h(
            'p',
            { class: 'small muted', 'data-testid': 'window-note' },
            'The tables of ops and of events cover all hosts and devices in memory.',
          ),
      ),
    ),
  };
}

/**
 * The class with most time on a thread; undefined if more time has no class than any class has.
 * @param {Thread} thread
 */
function mainClass({ by_class_ps, no_class_ps }) {
  const [longest] = sortByTime(by_class_ps);
  return longest && longest[1] >= no_class_ps ? longest[0] : undefined;
}

/**
 * The time of a host by class, with buttons for the other ones.
 * @param {Window['hosts']} hosts to choose from
 * @param {PanelActions} act
 * @param {string} host name; empty if there is no host
 * @returns {HTMLElement}
 */
function hostSection(hosts, act, host) {
  const { by_class_ps: parts, row_by_class } = hosts.find((item) => item.host === host) ?? NO_HOST;
  const threadOf = (/** @type {ClassName} */ name) => {
    const row = row_by_class[name];
    return row ? act.rowLabel(row) : '';
  };
  const section = h(
    'section',
    { 'data-testid': 'window-breakdown' },
    hosts.length > 1 &&
      h(
        'div',
        { class: 'row' },
        h('span', { class: 'muted' }, 'Host'),
        hosts.map((item) =>
          button(item.host, () => section.replaceWith(hostSection(hosts, act, item.host)), {
            'aria-pressed': String(item.host === host),
          }),
        ),
      ),
    stackedBar(parts),
    partsTable(parts, 'Window', threadOf),
  );
  return section;
}
