/** Times of device ops in both sessions, by annotation and by op, sorted by the difference per step or run. */

import { h } from '../lib/dom.js';
import { tableCard } from '../lib/cards.js';
import { definedColumn } from '../lib/defined-column.js';
import { columnUnit } from '../lib/totals.js';
import { cutMiddle, listedRows, MISSING, share, timeCell } from '../lib/format.js';
import { TABLES } from '../lib/table-definitions.js';
import { shortPathNames } from '../lib/path-names.js';
import { differenceText, ratioCell } from './cells.js';
import { VERDICT_COLUMN } from './verdict.js';

/** @typedef {import('../lib/routes').ComparedWork|import('../lib/routes').ComparedOp} WorkRow */
/** @typedef {import('../lib/routes').ComparedOp} ComparedOp */
/** @typedef {import('../lib/routes').CompareAnswer} CompareAnswer */
/** @typedef {CompareAnswer['device_work']['annotations'][number]} AnnotationRow */

/** Which sessions have an op or annotation, as printed beside it: B lacks what is gone, A what is new. */
const PRESENCE = { both: '', only_a: 'gone', only_b: 'new', changed: 'changed' };

/** `−18.3 %`; negligible differences have no sign. @param {number|null} difference share of a step */
function stepShare(difference) {
  const text = difference == null ? MISSING : share(Math.abs(difference));
  return difference && /^\d/.test(text) ? `${difference < 0 ? '−' : '+'}${text}` : text;
}

/**
 * The columns of both tables.
 * @template {WorkRow} T
 * @param {T[]} items
 * @returns {import('../lib/table.js').Column<T>[]}
 */
function differenceColumns(items) {
  const timeUnit = columnUnit(items, ({ a_ps, b_ps }) => Math.max(a_ps ?? 0, b_ps ?? 0));
  const { a_ps, b_ps, difference_ps, of_step, ratio, presence } = TABLES.op_differences;
  return [
    definedColumn(a_ps, { timeUnit }),
    definedColumn(b_ps, { timeUnit }),
    definedColumn(difference_ps, {
      timeUnit,
      value: (/** @type {T} */ item) => item.difference_ps ?? 0,
      cell: (item) => differenceText(item.a_ps, item.b_ps, timeUnit),
    }),
    definedColumn(of_step, {
      value: (/** @type {T} */ item) => item.of_step ?? 0,
      cell: (item) => stepShare(item.of_step),
    }),
    definedColumn(ratio, { cell: (/** @type {T} */ item) => ratioCell(item.ratio) }),
    ...(items.some((item) => PRESENCE[item.presence])
      ? [definedColumn(presence, { field: (/** @type {T} */ item) => PRESENCE[item.presence] })]
      : []),
    VERDICT_COLUMN,
  ];
}

/** The name of an op; of changed ops, the one with most time in each session. @param {ComparedOp} row */
function opNames({ ops_a, ops_b, count: [inA, inB], presence }) {
  const sessionOps = (/** @type {string[]} */ [first], /** @type {number} */ opCount) =>
    first ? [`${first}${opCount > 1 ? ` and ${opCount - 1} more` : ''}`] : [];
  return [...sessionOps(ops_a, inA), ...(presence === 'both' ? [] : sessionOps(ops_b, inB))].join(' → ');
}

/**
 * The share of a session's device time that has an annotation.
 * @param {CompareAnswer['device_time']} time
 * @param {'a_ps'|'b_ps'} key of the session
 */
function coverage({ all, without_annotation }, key) {
  const total_ps = all[key] ?? 0;
  return share(total_ps ? 1 - (without_annotation[key] ?? 0) / total_ps : null);
}

/**
 * The cards of both tables; none without device time.
 * @param {CompareAnswer} comparison
 * @param {Set<string>} annotationPaths of all annotations of both sessions
 */
export function deviceCards({ verdict, device_work: { annotations, ops }, device_time, row_counts }, annotationPaths) {
  const unit = verdict.program === null ? 'step' : 'run';
  const names = shortPathNames(ops.map(({ annotation }) => annotation), annotationPaths);
  if (!annotations.length) return [];
  const timeUnit = columnUnit(annotations, ({ a_ps, b_ps }) => Math.max(a_ps ?? 0, b_ps ?? 0));
  const annotationColumns = differenceColumns(annotations);
  const [a, b] = [device_time.all.a_ps ?? 0, device_time.all.b_ps ?? 0];
  const byDifference = 'with the largest difference';
  return [
    tableCard(
      'Device time by annotation',
      {
        note: `own time per ${unit} and core; covered by annotations: ${coverage(device_time, 'a_ps')} of A, ` +
          `${coverage(device_time, 'b_ps')} of B` +
          listedRows(annotations, row_counts.device_annotations, byDifference),
        class: 'across list-card compact',
      },
      {
        testid: 'compare-annotations',
        items: annotations,
        columns: [
          definedColumn(TABLES.annotation_differences.path, {
            field: (/** @type {AnnotationRow} */ { path }) => path ?? 'no annotation',
            cell: ({ path }) => (path == null ? 'no annotation' : h('code', null, cutMiddle(path, 44))),
          }),
          ...annotationColumns,
        ],
        foot: [
          'All',
          timeCell(a, timeUnit),
          timeCell(b, timeUnit),
          differenceText(a, b, timeUnit),
          '',
          ratioCell(a ? b / a : null),
          ...annotationColumns.slice(5).map(() => ''),
        ],
      },
    ),
    tableCard(
      'Device time by op',
      {
        note: `per ${unit} and core${listedRows(ops, row_counts.device_ops, byDifference)}`,
        class: 'across list-card compact',
      },
      {
        testid: 'compare-ops',
        items: ops,
        columns: [
          definedColumn(TABLES.op_differences.name, {
            field: opNames,
            cell: (row) => h('code', null, cutMiddle(opNames(row), 44)),
            title: (row) => [row.program, ...new Set([...row.ops_a, ...row.ops_b])].join('\n'),
          }),
          definedColumn(TABLES.op_differences.annotation, {
            field: (/** @type {ComparedOp} */ { annotation }) =>
              annotation === null ? 'no annotation' : (names.get(annotation) ?? annotation),
            title: ({ annotation }) => annotation ?? '',
          }),
          ...differenceColumns(ops),
        ],
      },
    ),
  ];
}
