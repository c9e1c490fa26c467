/** The cards of input, transfers, collectives and stalls. Each appears only if the session has data for it. */

import { h } from '../lib/dom.js';
import { columnUnit, total } from '../lib/totals.js';
import { classChip } from '../lib/classes.js';
import { card, coreCountText, link, tableCard } from '../lib/cards.js';
import { bytes, count, cutMiddle, digits, MISSING, plural } from '../lib/format.js';
import { definedColumn, definedColumns } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { partColumns, shareColumn, sumText, table, textColumn } from '../lib/table.js';

/** @typedef {import('../lib/routes').Overview} Overview */
/** @typedef {import('../lib/views').OpTime} OpTime */
/** @typedef {import('../frame/app.js').App} App */

/** @param {Overview} answer @param {number} deviceCount of the session @param {App} app */
export const dataCards = (answer, deviceCount, app) =>
  h(
    'div',
    { class: 'data' },
    inputCard(answer, deviceCount),
    transfersCard(answer),
    opsCard('Collectives', answer.collectives, app, 'Exposed: the core computes nothing else meanwhile.'),
    opsCard('Stalls', answer.stalls, app, 'In these ops, a core counts as busy but only waits.'),
  );

/** @param {Overview} answer @param {number} deviceCount of the session */
function inputCard({ input_pipeline, input_text }, deviceCount) {
  const { kind, verdict, wait_ps, idle_ps, load_ps, load_hidden, send_ps, send_hidden } = input_pipeline;
  if (!kind || (verdict === 'unknown' && deviceCount)) return null;
  /** @type {{name: string, ps: number, hidden?: number|null}[]} */
  const items = [
    { name: 'Driving thread loads or waits', ps: wait_ps },
    ...(deviceCount ? [{ name: `${coreCountText(deviceCount)} idle for lack of data`, ps: idle_ps }] : []),
    { name: 'Loading', ps: load_ps, hidden: load_hidden },
    { name: 'Sending', ps: send_ps, hidden: send_hidden },
  ];
  return card(
    'Input',
    {},
    h(
      'p',
      { 'data-testid': 'input-verdict' },
      `${input_text} ${deviceCount
        ? 'Idle time by cause includes all idle time of whole steps, starved or not.'
        : 'A device plane is needed to see whether devices wait.'}`,
    ),
    table({
      label: 'Input',
      testid: 'input-table',
      items,
      fixed: true,
      columns: [
        textColumn('What', 'name'),
        definedColumn(TABLES.transfers.duration_ps, {
          field: (/** @type {typeof items[number]} */ { ps }) => ps,
          timeUnit: columnUnit(items, 'ps'),
        }),
        ...(deviceCount
          ? [shareColumn('While a device works', (/** @type {typeof items[number]} */ { hidden }) => hidden)]
          : []),
      ],
    }),
  );
}

/** @param {Overview} answer */
function transfersCard({ transfers }) {
  const items = /** @type {const} */ (['to_device', 'from_device'])
    .map((name) => ({ name, ...transfers[name] }))
    .filter((item) => item.count);
  return items.length
    ? tableCard(
        'Transfers',
        { note: 'time on the host' },
        {
          testid: 'transfers-table',
          items,
          fixed: true,
          columns: definedColumns(TABLES.transfers, {
            direction: {
              field: (/** @type {typeof items[number]} */ { name }) => name,
              cell: ({ name }) => [classChip(name), name.replace('_', ' ')],
            },
            per_step: { cell: ({ per_step }) => (per_step == null ? MISSING : digits(per_step, 1)) },
            duration_ps: { timeUnit: columnUnit(items, 'duration_ps') },
            // Not every transfer has a recorded size: then the sum is a lower bound.
            bytes: {
              cell: (item) =>
                (item.bytes != null && item.known_size_count < item.count ? '≥ ' : '') + bytes(item.bytes),
              title: ({ known_size_count }) => `of ${plural(known_size_count, 'transfer')}`,
            },
          }),
        },
      )
    : null;
}

/** @param {string} title @param {OpTime[]} items @param {App} app @param {string} note below the table */
function opsCard(title, items, app, note) {
  if (!items.length) return null;
  const hasKinds = items.some(({ kind }) => kind);
  const duration = partColumns(TABLES.collectives.duration_ps.head, items, 'duration_ps');
  const exposed = partColumns(TABLES.collectives.exposed_ps.head, items, (item) => item.exposed_ps ?? 0);
  return tableCard(
    title,
    { note: 'all cores' },
    {
      testid: `${title.toLowerCase()}-table`,
      items,
      fixed: true,
      columns: [
        definedColumn(TABLES.collectives.op, {
          cell: ({ op, summed_ops }) =>
            op
              ? link(cutMiddle(op, hasKinds ? 24 : 36), () => app.open({ v: 'timeline', q: `name:${op}` }))
              : `${count(summed_ops)} more`,
        }),
        ...(hasKinds ? [definedColumn(TABLES.collectives.kind)] : []),
        definedColumn(TABLES.collectives.count),
        duration.time,
        hasKinds ? exposed.time : duration.share,
      ],
      foot: [
        'All',
        ...(hasKinds ? [''] : []),
        sumText(count(total(items, 'count'))),
        sumText(duration.sum),
        hasKinds ? sumText(exposed.sum) : '',
      ],
    },
    h('p', { class: 'small muted' }, note),
  );
}
