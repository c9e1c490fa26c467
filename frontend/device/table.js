/** The table of ops by own time: the longest are listed, all others fold into one row. */

import { button, h } from '../lib/dom.js';
import { cutName, lengthBar, link, showButton } from '../lib/cards.js';
import { count, cutMiddle, digits, MISSING, share } from '../lib/format.js';
import { maximum, total } from '../lib/totals.js';
import { definedColumn } from '../lib/defined-column.js';
import { countColumn, sortableTable } from '../lib/table.js';
import { TABLES } from '../lib/table-definitions.js';
import { shortPathNames } from '../lib/path-names.js';
import { annotationPaths, divisor, hasRates, isInRow, roundTimesAndShares } from './rows.js';
import { boundCell, toneChip } from './tree.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').RestRow} RestRow */
/** @typedef {import('./rows.js').Filter} Filter */

/** Number of ops listed at first. */
const MAX_LISTED = 12;
const MAX_NAME_LETTERS = 36;

/** Formats a mean number of executions, without decimals if it is whole. @param {number} value */
const executionsText = (value) => digits(value, Number.isInteger(Math.round(value * 1e6) / 1e6) ? 0 : 1);

/** The last two parts of a path, with the line. @param {string} source */
export const shortSource = (source) => source.split('/').slice(-2).join('/');

/** Short names of the annotations of ops, by path. @param {DeviceAnswer} document @param {OpRow[]} rows */
export const annotationNames = (document, rows) =>
  shortPathNames(rows.map(({ path }) => path), annotationPaths(document));

/**
 * @param {DeviceAnswer} document
 * @param {OpRow[]} rows ops that the server lists singly
 * @param {RestRow[]} rest sums of all other ops
 * @param {OpRow[]} passing rows that pass the filters
 * @param {object} options
 * @param {Filter} options.filter
 * @param {boolean} options.isExpanded whether all ops are listed
 * @param {() => void} options.toggle
 * @param {string} options.selectedId of an op
 * @param {Map<string, number>} options.tones
 * @param {Map<string, string>} options.names short names of annotations by path
 * @param {(row: OpRow) => void} options.select
 * @param {(row: OpRow) => void} options.open
 * @param {(source: string) => void} options.copy
 * @param {(row: OpRow|null) => void} options.highlight
 * @param {{sort?: string, onSort: (order: string) => void}} options.order
 */
export function opsTable(
  document,
  rows,
  rest,
  passing,
  { filter, isExpanded, toggle, selectedId, tones, names, select, open, copy, highlight, order },
) {
  const allRows = [...rows, ...rest];
  const { unit, times, shares } = roundTimesAndShares(allRows.map(({ ps }) => ps));
  const indices = new Map(allRows.map((row, index) => [row, index]));
  const indexOf = (/** @type {OpRow|RestRow} */ row) => indices.get(row) ?? -1;
  const timeText = (/** @type {(OpRow|RestRow)[]} */ group) =>
    digits(total(group, (row) => times[indexOf(row)]) / 1000, 3);
  const sumCell = (/** @type {(OpRow|RestRow)[]} */ group) =>
    h('span', { 'data-ps': Math.round(total(group, 'ps')) }, timeText(group));
  /** The share of a group; one that rounds to 0 keeps its exact value. @param {(OpRow|RestRow)[]} group */
  const shareText = (group) =>
    share(
      Math.round(total(group, (row) => shares[indexOf(row)]) * 1000) / 1000 ||
        (group.length ? total(group, 'ps') / (total(allRows, 'ps') || 1) : 0),
    );
  const longest = maximum(
    rows.map(({ ps }) => ps),
    1,
  );
  // Sums have no texts to search: a search loads all ops first.
  const passingRest = rest.filter(
    (row) => !filter.text && isInRow(row.path, filter.an) && (!filter.bound || row.bound_by === filter.bound),
  );
  const folds = passing.length + passingRest.length > MAX_LISTED + 1 && !filter.text;
  const items =
    folds && !isExpanded ? passing.filter((row, index) => index < MAX_LISTED || row.id === selectedId) : passing;
  const listedRows = new Set(items);
  const foldedRows = [...passing.filter((row) => !listedRows.has(row)), ...passingRest];
  const withRates = hasRates(rows);
  /** @type {import('../lib/table.js').Column<OpRow>[]} */
  const columns = [
    definedColumn(TABLES.work_by_op.op, {
      title: ({ op, shape, program }) => [op, shape, program].filter(Boolean).join('\n'),
      cell: (row) => link(cutName(row.op, MAX_NAME_LETTERS), () => select(row)),
    }),
    definedColumn(TABLES.work_by_op.category, {
      cell: ({ category }) => h('span', { class: 'secondary' }, category),
    }),
    definedColumn(TABLES.work_by_op.annotation, {
      field: 'path',
      title: ({ path }) => path ?? '',
      cell: ({ path }) => [
        toneChip(path, tones),
        path === null ? 'no annotation' : cutMiddle(names.get(path) ?? path, MAX_NAME_LETTERS),
      ],
    }),
    definedColumn(TABLES.work_by_op.executions, { key: 'count', cell: ({ executions }) => executionsText(executions) }),
    definedColumn(TABLES.work_by_op.self_ps, {
      field: 'ps',
      timeUnit: unit,
      cell: (row) => timeText([row]),
    }),
    { head: '', name: 'Bar', cell: ({ ps }) => lengthBar(ps / longest) },
    definedColumn(TABLES.work_by_op.share, { field: 'ps', cell: (row) => shareText([row]) }),
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
  const summedRows = [...items, ...foldedRows];
  const isFiltered = Boolean(filter.an || filter.bound || filter.text);
  const opCount = (/** @type {(OpRow|RestRow)[]} */ group) =>
    total(group, (row) => ('op_count' in row ? row.op_count : 1));
  /** @type {Record<string, Node|string>} */
  const sums = {
    op: isFiltered ? `${count(opCount(summedRows))} of ${count(opCount(allRows))} rows` : 'All ops',
    self: sumCell(summedRows),
    share: summedRows.length ? shareText(summedRows) : MISSING,
    count: executionsText(
      isFiltered ? total(summedRows, 'executions') : document.total.executions / divisor(document),
    ),
    ...(isFiltered ? {} : { flops: share(document.total.flops_share), hbm: share(document.total.bytes_share) }),
  };
  const view = sortableTable({
    label: 'Device work by op',
    testid: 'op-table',
    items,
    columns,
    select,
    open,
    selected: ({ id }) => id === selectedId,
    rowTestid: () => 'op-row',
    key: ({ id }) => id,
    ...order,
    foot: columns.map(({ key = '' }) => sums[key] ?? ''),
  });
  if (foldedRows.length || (folds && isExpanded)) {
    view.element.querySelector('tfoot')?.prepend(
      h(
        'tr',
        { class: 'rest', 'data-testid': 'op-rest' },
        columns.map(({ key, number }) =>
          h(
            'td',
            { class: number && 'numeric' },
            {
              op: button(
                [
                  h('span', { class: 'muted', 'aria-hidden': 'true' }, isExpanded ? '▾' : '▸'),
                  isExpanded ? `show ${MAX_LISTED} only` : `${count(opCount(foldedRows))} more`,
                ],
                toggle,
                { class: 'fold', 'aria-expanded': String(isExpanded), 'data-testid': 'op-more' },
              ),
              ...(foldedRows.length && {
                count: executionsText(total(foldedRows, 'executions')),
                self: sumCell(foldedRows),
                share: shareText(foldedRows),
              }),
            }[key ?? ''] ?? '',
          ),
        ),
      ),
    );
  }
  view.element.addEventListener('pointerover', (event) => {
    const id = /** @type {Element} */ (event.target).closest('tr')?.dataset.key;
    highlight(items.find((row) => row.id === id) ?? null);
  });
  view.element.addEventListener('pointerleave', () => highlight(null));
  return view;
}
