/** Comparison of lazy and dynamo executions of two sessions, for Compare and Executions. */

import { card, codeCell } from '../lib/cards.js';
import { cutMiddle, deviceTimeCell, difference, MISSING, ratio, UNITS } from '../lib/format.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { table } from '../lib/table.js';

/**
 * B − A of times as the columns beside it show them, so that the three add up.
 * @param {number|null} a_ps
 * @param {number|null} b_ps
 * @param {import('../lib/format.js').Unit} unit
 */
export function differenceText(a_ps, b_ps, unit) {
  if (a_ps == null || b_ps == null) return MISSING;
  const thousandths = (/** @type {number} */ ps) => Math.round((ps / unit.ps) * 1000);
  return difference((thousandths(b_ps) - thousandths(a_ps)) / 1000, 3);
}

/** @param {number|null|undefined} value @param {number} [decimals] */
export const ratioCell = (value, decimals) => (value == null ? MISSING : ratio(value, decimals));

/** @typedef {NonNullable<import('../lib/routes').CompareAnswer['lazy_dynamo']>} LazyDynamo */

const KINDS = /** @type {const} */ (['lazy', 'dynamo']);

/** The times of a step, lazy and dynamo. @param {LazyDynamo} answer */
export function lazySteps(answer) {
  const items = KINDS.map((kind) => ({ kind, ...answer.step[answer[kind]] }));
  const { kind: kindDefinition, tracing_ps, device_ps, wall_ps, executions } = TABLES.lazy_dynamo_steps;
  return table({
    label: 'Lazy against dynamo',
    testid: 'lazy-dynamo-table',
    fixed: true,
    items,
    columns: [
      definedColumn(kindDefinition, { title: undefined }),
      definedColumn(tracing_ps),
      definedColumn(device_ps),
      definedColumn(wall_ps),
      definedColumn(executions, {
        field: (/** @type {typeof items[number]} */ item) => Math.round((item.executions ?? 0) * 100) / 100,
      }),
    ],
    foot: [
      'lazy / dynamo',
      ...['tracing', 'device', 'wall'].map((key) => ratioCell(answer.speedup[/** @type {'wall'} */ (key)])),
      '',
    ],
  });
}

/** A step of each, its executions, and what lies between them. @param {LazyDynamo|null} answer */
export function lazyCard(answer) {
  if (!answer) return null;
  const { program, host_ps, device_ps, overhead_ps } = TABLES.lazy_dynamo_executions;
  /** @template T @param {Record<'a'|'b', T[]>} of @param {string} what */
  const rows = (of, what) =>
    KINDS.flatMap((kind) => of[answer[kind]].map((row) => ({ ...row, of: `${kind}: ${what}` })));
  const group = (/** @type {{of: string}} */ { of }) => of;
  return card(
    'Lazy against dynamo',
    { note: 'per step and core, then means of a run' },
    lazySteps(answer),
    table({
      label: 'Executions',
      testid: 'compare-runs',
      fixed: true,
      group,
      items: rows(answer.executions, 'executions in the order of the device'),
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
      group,
      items: rows(answer.between, 'between executions'),
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
