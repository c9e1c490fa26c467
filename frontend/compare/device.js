/** Times of device ops in both sessions, by annotation and by op, sorted by the difference per step or run. */

import { PRESENCE_TEXTS } from '../lib/compare-texts.js';
import { h } from '../lib/dom.js';
import { tableCard } from '../lib/cards.js';
import { definedColumn } from '../lib/defined-column.js';
import { columnUnit } from '../lib/totals.js';
import { cutMiddle, listedRows, MISSING, share, timeCell } from '../lib/format.js';
import { TABLES } from '../lib/table-definitions.js';
import { pathText, shortPathNames } from '../lib/path-names.js';
import { differenceText, ratioCell } from './cells.js';
import { VERDICT_COLUMN } from './verdict.js';

/** @typedef {import('../lib/routes').ComparedWork|import('../lib/routes').ListedOp} WorkRow */
/** @typedef {import('../lib/routes').CompareAnswer} CompareAnswer */
/** @typedef {CompareAnswer['device_work']['annotations'][number]} AnnotationRow */
/** @typedef {CompareAnswer['device_work']['ops'][number]} WorkOp */

const NO_ANNOTATION = 'no annotation';

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
    ...(items.some((item) => PRESENCE_TEXTS[item.presence])
      ? [definedColumn(presence, { field: (/** @type {T} */ item) => PRESENCE_TEXTS[item.presence] })]
      : []),
    VERDICT_COLUMN,
  ];
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
  const { all } = device_time;
  const [coveredOfA, coveredOfB] = device_time.annotated_share.map(share);
  const byDifference = 'with the largest difference';
  return [
    tableCard(
      'Device time by annotation',
      {
        note: `own time per ${unit} and core; covered by annotations: ${coveredOfA} of A, ${coveredOfB} of B` +
          listedRows(annotations, row_counts.device_annotations, byDifference),
        class: 'across list-card compact',
      },
      {
        testid: 'compare-annotations',
        items: annotations,
        columns: [
          definedColumn(TABLES.annotation_differences.path, {
            field: (/** @type {AnnotationRow} */ { path }) => (path === null ? NO_ANNOTATION : pathText(path)),
            cell: ({ path }) =>
              path === null ? NO_ANNOTATION : h('code', { title: path }, cutMiddle(pathText(path), 44)),
          }),
          ...annotationColumns,
        ],
        foot: [
          'All',
          timeCell(all.a_ps, timeUnit),
          timeCell(all.b_ps, timeUnit),
          differenceText(all.a_ps, all.b_ps, timeUnit),
          '',
          ratioCell(all.ratio),
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
            cell: ({ name }) => h('code', null, cutMiddle(name, 44)),
            title: (row) => [row.program, ...new Set([...row.ops_a, ...row.ops_b])].join('\n'),
          }),
          definedColumn(TABLES.op_differences.annotation, {
            field: (/** @type {WorkOp} */ { annotation }) =>
              annotation === null ? NO_ANNOTATION : names.get(annotation),
            title: ({ annotation }) => annotation ?? '',
          }),
          ...differenceColumns(ops),
        ],
      },
    ),
  ];
}
