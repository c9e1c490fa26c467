/** Times of device ops in both sessions, by annotation and by op, sorted by the difference per step. */

import { h } from '../lib/dom.js';
import { tableCard } from '../lib/cards.js';
import { columnUnit } from '../lib/totals.js';
import { cutMiddle, MISSING, share } from '../lib/format.js';
import { countColumn, textColumn, timeColumn } from '../lib/table.js';
import { differenceText, ratioCell } from './lazy.js';
import { chanceTitle, verdictCell } from './verdict.js';

/** @typedef {import('./types').WorkRow} WorkRow */
/** @typedef {import('./types').OpRow} OpRow */

const FOUND = { both: '', only_a: 'only in A', only_b: 'only in B', changed: 'changed' };

/** Negligible differences have no sign. @param {number|null} of */
function stepShare(of) {
  const text = of == null ? MISSING : share(Math.abs(of));
  return of && /^\d/.test(text) ? `${of < 0 ? '−' : '+'}${text}` : text;
}

/**
 * The columns of both tables.
 * @template {WorkRow} T
 * @param {T[]} items
 * @returns {import('../lib/table.js').Column<T>[]}
 */
function columns(items) {
  const unit = columnUnit(items, ({ a_ps, b_ps }) => Math.max(a_ps, b_ps));
  return [
    timeColumn('A', unit, (/** @type {T} */ { a_ps }) => a_ps),
    timeColumn('B', unit, (/** @type {T} */ { b_ps }) => b_ps),
    timeColumn('B − A', unit, (/** @type {T} */ { difference_ps }) => difference_ps, {
      value: (item) => item.difference_ps,
      cell: (item) => differenceText(item.a_ps, item.b_ps, unit),
    }),
    countColumn('Of A’s step', (/** @type {T} */ { of_step }) => of_step, {
      value: (item) => item.of_step ?? 0,
      cell: ({ of_step }) => stepShare(of_step),
    }),
    countColumn('B / A', (/** @type {T} */ { ratio }) => ratio, { cell: (item) => ratioCell(item.ratio) }),
    ...(items.some(({ found }) => FOUND[found])
      ? [textColumn('In', (/** @type {T} */ { found }) => FOUND[found])]
      : []),
    { head: '', name: 'Verdict', cell: ({ verdict }) => verdictCell(verdict), title: chanceTitle },
  ];
}

/** An op; of several that have changed, those with most time. @param {OpRow} row */
function opNames({ ops_a, ops_b, count: [inA, inB], found }) {
  const side = (/** @type {string[]} */ [first], /** @type {number} */ number) =>
    first ? [`${first}${number > 1 ? ` and ${number - 1} more` : ''}`] : [];
  return [...side(ops_a, inA), ...(found === 'both' ? [] : side(ops_b, inB))].join(' → ');
}

/** @param {import('./types').Comparison['device_work']} work @returns {HTMLElement[]} */
export function deviceCards({ annotations, ops }) {
  if (!annotations.length) return [];
  return [
    tableCard(
      'Device time by annotation',
      { note: 'per step and core, without what annotations inside of it take', class: 'across list-card' },
      {
        testid: 'compare-annotations',
        items: annotations,
        columns: [
          textColumn('Annotation', (row) => row.path ?? 'no annotation', {
            cell: ({ path }) => (path == null ? 'no annotation' : h('code', null, cutMiddle(path, 44))),
          }),
          ...columns(annotations),
        ],
      },
    ),
    tableCard(
      'Device time by op',
      { note: 'per step and core', class: 'across list-card' },
      {
        testid: 'compare-ops',
        items: ops,
        columns: [
          textColumn('Op', opNames, {
            cell: (row) => h('code', null, cutMiddle(opNames(row), 44)),
            title: (row) => [row.program, ...new Set([...row.ops_a, ...row.ops_b])].join('\n'),
          }),
          textColumn('Annotation', (row) => row.annotation?.split('/').at(-1) ?? 'no annotation', {
            title: ({ annotation }) => annotation ?? '',
          }),
          ...columns(ops),
        ],
      },
    ),
  ];
}
