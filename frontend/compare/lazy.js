/** Comparison of lazy and dynamo executions of two sessions, for Compare and Executions. */

import { card, codeCell } from '../lib/cards.js';
import { cutMiddle, deviceTimeCell, listedRows, UNITS } from '../lib/format.js';
import { definedColumn, definedColumns } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { table } from '../lib/table.js';
import { ratioCell } from './cells.js';

/** @typedef {NonNullable<import('../lib/routes').CompareAnswer['lazy_dynamo']>} LazyDynamo */

const KINDS = /** @type {const} */ (['lazy', 'dynamo']);
/** The table of the times of a lazy step and of a dynamo step. @param {LazyDynamo} answer */
export function lazySteps(answer) {
  const items = KINDS.map((kind) => ({ kind, ...answer.step[answer[kind]] }));
  return table({
    label: 'Lazy against dynamo',
    testid: 'lazy-dynamo-table',
    fixed: true,
    items,
    columns: definedColumns(TABLES.lazy_dynamo_steps, {
      kind: { title: undefined },
      steps: null,
      executions: {
        field: (/** @type {typeof items[number]} */ { executions }) =>
          executions === null ? null : Math.round(executions * 100) / 100,
      },
    }),
    foot: [
      'lazy / dynamo',
      ...['tracing', 'device', 'wall'].map((key) => ratioCell(answer.speedup[/** @type {'wall'} */ (key)])),
      '',
    ],
  });
}

/**
 * The card: a lazy and a dynamo step, the executions of both, and the times between these. Null unless one session
 * is lazy and the other dynamo.
 * @param {LazyDynamo|null} answer
 * @param {number[]} betweenCounts numbers of pairs of programs in A and in B
 */
export function lazyCard(answer, [inA, inB]) {
  if (!answer) return null;
  const { program, host_ps, device_ps, overhead_ps } = TABLES.lazy_dynamo_executions;
  /**
   * Rows of both kinds, in a group each.
   * @template T
   * @param {Record<'a'|'b', T[]>} bySession
   * @param {(session: 'a'|'b') => string} titleOf
   */
  const groupRows = (bySession, titleOf) =>
    KINDS.flatMap((kind) => {
      const title = `${kind}: ${titleOf(answer[kind])}`;
      return bySession[answer[kind]].map((row) => ({ ...row, group: title }));
    });
  const betweenTitle = (/** @type {'a'|'b'} */ session) =>
    `between executions${listedRows(answer.between[session], session === 'a' ? inA : inB, 'with most time')}`;
  const groupOf = (/** @type {{group: string}} */ { group }) => group;
  return card(
    'Lazy against dynamo',
    { note: 'per step and core, then means of a run' },
    lazySteps(answer),
    table({
      label: 'Executions',
      testid: 'compare-runs',
      fixed: true,
      group: groupOf,
      items: groupRows(answer.executions, () => 'executions in the order in which the device ran them'),
      columns: [
        definedColumn(program, { title: undefined, cell: (row) => codeCell(row.program, 26) }),
        definedColumn(host_ps),
        definedColumn(device_ps, { cell: (row) => deviceTimeCell(row.device_ps, UNITS.ms) }),
        definedColumn(overhead_ps),
      ],
    }),
    table({
      label: 'Between executions',
      testid: 'compare-between',
      fixed: true,
      group: groupOf,
      items: groupRows(answer.between, betweenTitle),
      columns: [
        {
          head: 'Before → after',
          cell: ({ before, after }) => `${cutMiddle(before ?? '', 21)} → ${cutMiddle(after ?? '', 21)}`,
          title: ({ before, after }) => `${before ?? ''} → ${after ?? ''}`,
        },
        definedColumn(TABLES.between_executions.mean_ps),
      ],
    }),
  );
}
