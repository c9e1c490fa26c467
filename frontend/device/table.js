/** The table of ops by own time: the longest are listed, all others fold into one row. */

import { button, h } from '../lib/dom.js';
import { cutName, lengthBar, link, showButton } from '../lib/cards.js';
import { count, cutMiddle, digits, MISSING, share } from '../lib/format.js';
import { maximum, total } from '../lib/totals.js';
import { definedColumn } from '../lib/defined-column.js';
import { countColumn, sortableTable } from '../lib/table.js';
import { TABLES } from '../lib/table-definitions.js';
import { hasRates, isOf, rounded } from './rows.js';
import { boundCell, toneChip } from './tree.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').RestRow} RestRow */
/** @typedef {import('./rows.js').Filter} Filter */

const LISTED = 12;
const MAX_NAME_LETTERS = 36;

/** Formats a mean number of executions, without decimals if whole. @param {number} value */
const times = (value) => digits(value, Number.isInteger(Math.round(value * 1e6) / 1e6) ? 0 : 1);

/** The last two parts of a path, with the line. @param {string} source */
export const shortSource = (source) => source.split('/').slice(-2).join('/');

/**
 * @param {DeviceAnswer} document
 * @param {OpRow[]} rows ops that the server lists singly
 * @param {RestRow[]} rest sums of the others
 * @param {OpRow[]} passing rows that pass the filters
 * @param {object} on
 * @param {Filter} on.filter
 * @param {boolean} on.opened
 * @param {() => void} on.toggle
 * @param {string} on.chosen id of an op
 * @param {Map<string, number>} on.tones
 * @param {Map<string, string>} on.names short names of annotations by path
 * @param {(row: OpRow) => void} on.select
 * @param {(row: OpRow) => void} on.open
 * @param {(source: string) => void} on.copy
 * @param {(row: OpRow|null) => void} on.lift
 * @param {{sort?: string, onSort: (order: string) => void}} on.order
 */
export function opsTable(
  document,
  rows,
  rest,
  passing,
  { filter, opened, toggle, chosen, tones, names, select, open, copy, lift, order },
) {
  const { unit, times: texts, shares } = rounded([...rows, ...rest].map(({ ps }) => ps));
  const place = new Map([...rows, ...rest].map((row, at) => [row, at]));
  const at = (/** @type {OpRow|RestRow} */ row) => place.get(row) ?? -1;
  const sum = (/** @type {(OpRow|RestRow)[]} */ group) =>
    h('span', { 'data-ps': Math.round(total(group, 'ps')) }, digits(total(group, (row) => texts[at(row)]) / 1000, 3));
  const part = (/** @type {(OpRow|RestRow)[]} */ group) =>
    share(
      Math.round(total(group, (row) => shares[at(row)]) * 1000) / 1000 ||
        (group.length ? total(group, 'ps') / (total([...rows, ...rest], 'ps') || 1) : 0),
    );
  const longest = maximum(
    rows.map(({ ps }) => ps),
    1,
  );
  // Sums have no texts to search: a search loads all ops first.
  const passingRest = rest.filter(
    (row) => !filter.text && isOf(row.path, filter.an) && (!filter.bound || row.bound_by === filter.bound),
  );
  const folds = passing.length + passingRest.length > LISTED + 1 && !filter.text;
  const items = folds && !opened ? passing.filter((row, index) => index < LISTED || row.id === chosen) : passing;
  const more = [...passing.filter((row) => !items.includes(row)), ...passingRest];
  const withRates = hasRates(rows);
  /** @type {import('../lib/table.js').Column<OpRow>[]} */
  const columns = [
    definedColumn(TABLES.work_by_op.op, {
      title: ({ op, shape, program }) => [op, shape, program].filter(Boolean).join('\n'),
      cell: (row) => link(cutName(row.op, 36), () => select(row)),
    }),
    definedColumn(TABLES.work_by_op.category, {
      cell: ({ category }) => h('span', { class: 'sec' }, category),
    }),
    definedColumn(TABLES.work_by_op.annotation, {
      field: 'path',
      title: ({ path }) => path ?? '',
      cell: ({ path }) => [
        toneChip(path, tones),
        path === null ? 'no annotation' : cutMiddle(names.get(path) ?? path, MAX_NAME_LETTERS),
      ],
    }),
    definedColumn(TABLES.work_by_op.executions, { key: 'count', cell: ({ executions }) => times(executions) }),
    definedColumn(TABLES.work_by_op.self_ps, {
      field: 'ps',
      timeUnit: unit,
      cell: (row) => digits(texts[at(row)] / 1000, 3),
    }),
    { head: '', name: 'Bar', cell: ({ ps }) => lengthBar(ps / longest) },
    definedColumn(TABLES.work_by_op.share, { field: 'ps', cell: (row) => part([row]) }),
    ...(withRates
      ? [
          definedColumn(TABLES.work_by_op.flops_share, { key: 'flops' }),
          definedColumn(TABLES.work_by_op.bytes_share, { key: 'hbm' }),
          countColumn('FLOP/byte', (/** @type {OpRow} */ row) => row.intensity, {
            key: 'intensity',
            cell: ({ intensity }) =>
              intensity === null
                ? h('span', { class: 'muted' }, MISSING)
                : intensity > 0 && intensity < 0.05
                  ? '<\u202f0.1'
                  : digits(intensity, 1),
          }),
          definedColumn(TABLES.work_by_op.bound_by, {
            key: 'bound',
            title: undefined,
            cell: (/** @type {OpRow} */ row) => boundCell(row.bound_by),
          }),
        ]
      : []),
    definedColumn(TABLES.work_by_op.source, {
      cell: ({ source }) =>
        source
          ? link(h('code', null, cutName(shortSource(source), 32)), () => copy(source), {
              title: `Copy ${source}`,
              'data-testid': 'op-source',
            })
          : MISSING,
    }),
    { head: '', name: 'Show', number: true, cell: (row) => showButton(() => open(row), 'op-show') },
  ];
  const listed = [...items, ...more];
  const filtered = Boolean(filter.an || filter.bound || filter.text);
  const opCount = (/** @type {(OpRow|RestRow)[]} */ group) =>
    total(group, (row) => ('op_count' in row ? row.op_count : 1));
  /** @type {Record<string, Node|string>} */
  const sums = {
    op: filtered ? `${count(opCount(listed))} of ${count(opCount([...rows, ...rest]))} rows` : 'All ops',
    self: sum(listed),
    share: listed.length ? part(listed) : MISSING,
    count: filtered
      ? times(total(listed, 'executions'))
      : times(document.total.executions / Math.max(1, document.core_steps)),
    ...(filtered ? {} : { flops: share(document.total.flops_share), hbm: share(document.total.bytes_share) }),
  };
  const view = sortableTable({
    label: 'Ops',
    testid: 'op-table',
    items,
    columns,
    select,
    open,
    selected: ({ id }) => id === chosen,
    rowid: () => 'op-row',
    key: ({ id }) => id,
    ...order,
    foot: columns.map(({ key = '' }) => sums[key] ?? ''),
  });
  if (more.length || (folds && opened)) {
    view.element.querySelector('tfoot')?.prepend(
      h(
        'tr',
        { class: 'rest', 'data-testid': 'op-rest' },
        columns.map(({ key, number }) =>
          h(
            'td',
            { class: number && 'num' },
            {
              op: button(
                [
                  h('span', { class: 'muted', 'aria-hidden': 'true' }, opened ? '▾' : '▸'),
                  opened ? `show ${LISTED} only` : `${count(opCount(more))} more`,
                ],
                toggle,
                { class: 'fold', 'aria-expanded': String(opened), 'data-testid': 'op-more' },
              ),
              ...(more.length ? { count: times(total(more, 'executions')), self: sum(more), share: part(more) } : {}),
            }[key ?? ''] ?? '',
          ),
        ),
      ),
    );
  }
  view.element.addEventListener('pointerover', (event) => {
    const id = /** @type {Element} */ (event.target).closest('tr')?.dataset.key;
    lift(items.find((row) => row.id === id) ?? null);
  });
  view.element.addEventListener('pointerleave', () => lift(null));
  return view;
}
