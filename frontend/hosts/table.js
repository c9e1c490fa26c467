/** The table of hosts, by how long others wait for them; hosts that were never last fold into one row. */

import { button, h } from '../lib/dom.js';
import { classCell } from '../lib/classes.js';
import { lengthBar, link, showButton } from '../lib/cards.js';
import { briefUnitFor, count, difference, digits, MISSING, plural, share } from '../lib/format.js';
import { maximum, minimum, total } from '../lib/totals.js';
import { roundParts, roundShares } from '../lib/rounded-parts.js';
import { definedColumn } from '../lib/defined-column.js';
import { countColumn, sortableTable } from '../lib/table.js';
import { TABLES } from '../lib/table-definitions.js';
import { DEVICE, PS_PER_US } from './rows.js';
import { differenceBar } from './difference.js';
import { classLabel } from './verdict.js';

/** @typedef {import('./types').HostRow} HostRow */

/** Key of the column of bars, whose foot has a note. */
const BARS_KEY = 'difference_bars';

/** Formats how long others wait for each host: in one unit, rounded so that the rows add up. @param {HostRow[]} rows */
export function waitTexts(rows) {
  const times = rows.map(({ others_wait_us }) => (others_wait_us ?? 0) * PS_PER_US);
  const unit = briefUnitFor(total(times, Number));
  const rounded = roundParts(times, unit.ps / 1000);
  const roundedOf = new Map(rows.map((row, index) => [row, rounded[index]]));
  const hasWaits = rows.some(({ others_wait_us }) => others_wait_us !== null);
  /** @param {HostRow[]} group */
  const sum = (group) => (hasWaits ? digits(total(group, (row) => roundedOf.get(row)) / 1000, 3) : MISSING);
  return { unit, hasWaits, sum };
}

/**
 * The share of each host's collectives at which it was last. Those of hosts that take part in the same collectives are
 * rounded so that they add up.
 * @param {HostRow[]} rows
 */
export function lastShares(rows) {
  const addUp = Math.abs(total(rows, 'share') - 1) < 1e-6;
  const rounded = roundShares(rows.map(({ last_count }) => last_count ?? 0));
  const shares = new Map(rows.map((row, index) => [row, addUp && row.share !== null ? rounded[index] : row.share]));
  return { addUp, shareOf: (/** @type {HostRow} */ row) => shares.get(row) ?? null };
}

/**
 * @param {HostRow[]} rows hosts to list, in order
 * @param {HostRow[]} allRows rows of all hosts
 * @param {object} options
 * @param {boolean} options.isExpanded whether hosts that were never last are listed singly
 * @param {() => void} options.toggle
 * @param {boolean} options.isFiltered whether a filter is set; then nothing folds
 * @param {number|null} options.selectedHost index
 * @param {(row: HostRow) => void} options.select @param {(row: HostRow) => void} options.open
 * @param {{sort?: string, onSort: (order: string) => void}} options.order
 * @param {boolean} options.isPartial whether some hosts are not read yet
 * @param {number} options.minDifference_us smaller differences from the median host are left out of the bars
 */
export function hostsTable(
  rows,
  allRows,
  { isExpanded, toggle, isFiltered, selectedHost, select, open, order, isPartial, minDifference_us },
) {
  const { unit, hasWaits, sum } = waitTexts(allRows);
  const longest = maximum(allRows.map(({ others_wait_us }) => others_wait_us ?? 0), 1);
  const notableDifferences = (/** @type {HostRow} */ { differences }) =>
    differences.filter(({ us }) => Math.abs(us) >= minDifference_us);
  const scale_us = maximum(
    allRows.flatMap((row) =>
      [-1, 1].map((sign) =>
        total(
          notableDifferences(row).filter(({ us }) => us * sign > 0),
          ({ us }) => Math.abs(us),
        ),
      ),
    ),
    minDifference_us,
  );
  const neverLast = isFiltered || !hasWaits ? [] : rows.filter(({ last_count }) => last_count === 0);
  const folds = neverLast.length > 1;
  const items = folds && !isExpanded ? rows.filter(({ last_count }) => last_count !== 0) : rows;
  const { shareOf, addUp } = lastShares(allRows);
  const hasClocks = allRows.some(({ offset_us }) => offset_us !== null);
  // A single host has nothing to differ from.
  const hasDifferences = allRows.length > 1 && allRows.some(({ differences }) => differences.length);
  /** @type {import('../lib/table.js').Column<HostRow>[]} */
  const columns = [
    definedColumn(TABLES.hosts.name, {
      key: 'host',
      value: ({ index }) => index,
      cell: (row) => link(row.name, () => select(row)),
    }),
    definedColumn(TABLES.hosts.steps),
    definedColumn(TABLES.hosts.step_ps, { field: ({ step_us }) => (step_us === null ? null : step_us * PS_PER_US) }),
    countColumn('Times last', 'last_count', { key: 'last' }),
    definedColumn(TABLES.hosts.last_share, { key: 'share', field: 'share', cell: (row) => share(shareOf(row)) }),
    definedColumn(TABLES.hosts.others_wait_ps, {
      key: 'waits',
      timeUnit: unit,
      field: ({ others_wait_us }) => (others_wait_us ?? 0) * PS_PER_US,
      cell: (row) => (row.others_wait_us === null ? MISSING : sum([row])),
    }),
    {
      head: '',
      name: 'Bar',
      cell: ({ others_wait_us }) => others_wait_us !== null && lengthBar(others_wait_us / longest),
    },
    definedColumn(TABLES.hosts.duty_cycle, { key: 'duty', field: 'duty' }),
    ...(hasDifferences
      ? [
          {
            key: BARS_KEY,
            head: 'Against the median host, ms a step',
            cell: (/** @type {HostRow} */ row) => differenceBar(notableDifferences(row), scale_us),
          },
          definedColumn(TABLES.hosts.difference, {
            value: (/** @type {HostRow} */ { difference_us }) => Math.abs(difference_us ?? 0),
            title: undefined,
            cell: differenceCell,
          }),
        ]
      : []),
    ...(hasClocks
      ? [
          {
            key: 'clock',
            head: TABLES.hosts.clock_offset_ps.head,
            number: true,
            value: (/** @type {HostRow} */ { offset_us }) => offset_us ?? 0,
            cell: (/** @type {HostRow} */ { offset_us }) => (offset_us === null ? MISSING : difference(offset_us)),
          },
          {
            key: 'residual',
            head: '± residual',
            value: (/** @type {HostRow} */ { residual_us }) => residual_us ?? Infinity,
            cell: residualCell,
          },
        ]
      : []),
    { head: '', name: 'Show', number: true, cell: (row) => showButton(() => open(row), 'host-show') },
  ];
  const listed = isFiltered ? rows : allRows;
  const sums = listed.length
    ? {
        host: `${isFiltered ? `${count(rows.length)} of ` : ''}${plural(allRows.length, 'host')}`,
        steps: stepCounts(listed),
        step: medianStep(listed),
        last: hasWaits ? count(total(listed, 'last_count')) : MISSING,
        share:
          !hasWaits || !listed.some((row) => shareOf(row) !== null)
            ? MISSING
            : addUp
              ? share(Math.round(total(listed, (row) => (shareOf(row) ?? 0) * 1000)) / 1000)
              : '',
        waits: h(
          'span',
          { 'data-ps': total(listed, 'others_wait_us') * PS_PER_US },
          isPartial && hasWaits ? '≥\u202f' : '',
          sum(listed),
        ),
        duty: dutyOf(listed),
      }
    : { host: `0 of ${plural(allRows.length, 'host')}` };
  const note = hasWaits
    ? 'waiting for another host counts as busy: a host that is late because of its own host work has the lowest ' +
      'duty cycle'
    : '';
  const foot = columns.map(({ key }) =>
    key === BARS_KEY
      ? h('span', { class: 'muted small' }, note)
      : (/** @type {Record<string, string|Node>} */ (sums)[key ?? ''] ?? ''),
  );
  const view = sortableTable({
    label: 'Hosts side by side', testid: 'hosts-table', items, columns, foot, select, open, ...order,
    selected: ({ index }) => index === selectedHost, rowTestid: ({ index }) => `host-row-${index}`,
  });
  if (folds) addFoldedRow(view.element, columns, neverLast, isExpanded, toggle, sum);
  // The note spans the columns without a sum.
  const noteIndex = columns.findIndex(({ key }) => key === BARS_KEY);
  const cells = [...view.element.querySelectorAll('tfoot tr:last-child td')];
  if (noteIndex >= 0) {
    cells[noteIndex].setAttribute('colspan', String(columns.length - noteIndex));
    cells.slice(noteIndex + 1).forEach((cell) => cell.remove());
  }
  return view;
}

/** @param {HostRow} row */
function differenceCell({ difference_class: name, difference_us, difference_in_one_step }) {
  if (name === null || difference_us === null) return h('span', { class: 'muted' }, 'nothing stands out');
  return [
    ...(name === DEVICE ? [classLabel(name)] : classCell(/** @type {import('../lib/routes').ClassName} */ (name))),
    ' ',
    h('span', { class: 'secondary' }, difference(difference_us / 1000, 3)),
    difference_in_one_step && [' ', h('span', { class: 'tag once', title: 'most of it in one step' }, 'once')],
  ].flat();
}

/** @param {HostRow} row */
function residualCell({ residual_us, is_clock_uncertain }) {
  if (residual_us === null) return h('span', { class: 'muted' }, 'not known');
  return [
    h('span', { class: 'secondary' }, `±\u202f${digits(residual_us, 1)}`),
    is_clock_uncertain &&
      [' ', h('span', { class: 'tag warning', title: 'more than the host was ever late' }, 'too wide')],
  ].flat();
}

/** The duty cycle of the devices of several hosts, weighted by span. @param {HostRow[]} rows */
export function dutyOf(rows) {
  const span = total(rows, 'span_us');
  return span ? share(total(rows, ({ duty, span_us }) => (duty ?? 0) * span_us) / span) : MISSING;
}

/** `12`, `11 – 12`: the numbers of steps of some hosts. @param {HostRow[]} rows at least one */
export function stepCounts(rows) {
  const counts = rows.map(({ steps }) => steps);
  const [least, most] = [minimum(counts), maximum(counts)];
  return least === most ? count(least) : `${count(least)} – ${count(most)}`;
}

/** The median of the hosts' median steps, ms. @param {HostRow[]} rows */
function medianStep(rows) {
  const times = rows.flatMap(({ step_us }) => step_us ?? []).sort((a, b) => a - b);
  return times.length ? digits(times[(times.length - 1) >> 1] / 1000, 3) : MISSING;
}

/**
 * Adds a row for the hosts that were never last, above the sum.
 * @param {HTMLElement} tableElement
 * @param {import('../lib/table.js').Column<HostRow>[]} columns
 * @param {HostRow[]} neverLast
 * @param {boolean} isExpanded
 * @param {() => void} toggle
 * @param {(rows: HostRow[]) => string} sum
 */
function addFoldedRow(tableElement, columns, neverLast, isExpanded, toggle, sum) {
  const largestResidual = maximum(neverLast.map(({ residual_us }) => residual_us ?? 0));
  /** @type {Record<string, import('../lib/dom.js').Child>} */
  const cells = {
    host: button(
      [
        h('span', { class: 'muted', 'aria-hidden': 'true' }, isExpanded ? '▾' : '▸'),
        `${count(neverLast.length)} more, never last`,
      ],
      toggle,
      { class: 'fold', 'aria-expanded': String(isExpanded) },
    ),
    steps: stepCounts(neverLast),
    step: medianStep(neverLast),
    last: '0',
    share: share(0),
    waits: sum(neverLast),
    duty: dutyOf(neverLast),
    residual: largestResidual ? h('span', { class: 'secondary' }, `≤\u202f${digits(largestResidual, 1)}`) : '',
  };
  const noneDiffers = neverLast.every((row) => row.difference_class === null);
  tableElement.querySelector('tfoot')?.prepend(
    h(
      'tr',
      { class: 'rest', 'data-testid': 'host-rest' },
      columns.map(({ key = '', number }) =>
        h(
          'td',
          { class: number && 'numeric' },
          key === 'difference' && noneDiffers
            ? h('span', { class: 'muted' }, 'nothing stands out')
            : (cells[key] ?? ''),
        ),
      ),
    ),
  );
}
