/** Cards beside the table of executions: costs by kind, causes, idle time between runs, and the table in words. */

import { h } from '../lib/dom.js';
import { columnUnit } from '../lib/totals.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { card, link, shortProgram, tableCard } from '../lib/cards.js';
import { count, cutMiddle, digits, listedRows, MISSING, timeCell } from '../lib/format.js';
import { table, textColumn, timeColumn } from '../lib/table.js';
import { causeCell, causeLabel } from '../gaps/cause.js';

/** @typedef {import('../lib/routes').Executions} Executions */
/** @typedef {import('../lib/routes').ExecutionSums} ExecutionSums */
/** @typedef {keyof import('../lib/routes').Costs} CostName */

/** From this width of the window on, the card is wide enough for the names of two programs. */
const WIDE_FROM_PX = 1900;

/** What host time and its parts are called in answers. @type {CostName[]} */
export const COSTS = ['host_ps', 'device_ps', 'queue_ps', 'overhead_ps'];

/** Costs by kind of launch, and how far the host runs ahead. @param {Executions} answer */
export function kindsCard({ kinds, all, lead, core_steps }) {
  const items = Object.entries(kinds).map(([kind, sums]) => ({ kind, ...sums }));
  const costsOf = (/** @type {ExecutionSums} */ { costs }) => costs.step ?? costs.total;
  const unit = columnUnit(items, (sums) => costsOf(sums).host_ps);
  const runsText = (/** @type {ExecutionSums} */ { per_step, count: runs }) =>
    core_steps ? digits(per_step, Number.isInteger(per_step) ? 0 : 2) : count(runs);
  return tableCard(
    'By kind',
    { note: core_steps ? 'per step and core' : 'total, all cores', class: 'tight' },
    {
      testid: 'lazy-dynamo-table',
      items,
      columns: [
        definedColumn(TABLES.executions.kind),
        definedColumn(TABLES.executions.count, { cell: runsText }),
        ...COSTS.map((key) =>
          definedColumn(TABLES.executions[key], {
            field: (/** @type {ExecutionSums} */ sums) => costsOf(sums)[key],
            timeUnit: unit,
          }),
        ),
      ],
      foot: ['All', runsText(all), ...COSTS.map((key) => timeCell(costsOf(all)[key], unit))],
    },
    lead ? h('p', { class: 'secondary' }, lead) : null,
  );
}

/** Why programs run, from the debug log; null without one. @param {Executions} answer */
export function causesCard({ executions }) {
  const items = executions.flatMap(({ program, causes }) => causes.map((cause) => ({ ...cause, program })));
  return items.length
    ? tableCard(
        'Why programs run',
        { note: 'from the debug log beside the capture' },
        {
          testid: 'causes-table',
          items,
          columns: [
            definedColumn(TABLES.executions.program),
            definedColumn(TABLES.executions.launches, {
              field: (/** @type {typeof items[number]} */ item) => item.count,
            }),
            definedColumn(TABLES.compiles.cause),
            definedColumn(TABLES.compiles.frame),
          ],
        },
      )
    : null;
}

/**
 * Idle time between device runs; null without any.
 * @param {Executions} answer
 * @param {(state: import('../lib/link.js').LinkState) => void} open
 */
export function betweenCard({ between, between_count }, open) {
  if (!between.length) return null;
  const unit = columnUnit(between, 'mean_ps');
  const programText = (/** @type {string|null} */ program) =>
    innerWidth < WIDE_FROM_PX ? shortProgram(program) : cutMiddle(program ?? MISSING, 22);
  return tableCard(
    'Between device runs',
    {
      note: `from each run to the next on the same core${listedRows(between, between_count, 'with most time')}`,
      class: 'tight',
    },
    {
      testid: 'between-table',
      items: between,
      columns: [
        textColumn('Before → after', ({ before, after }) => `${before ?? MISSING} → ${after ?? MISSING}`, {
          cell: ({ before, after }) =>
            link([before, after].map(programText).join(' → '), () => open({ v: 'gaps', sel: '', f: '' })),
        }),
        definedColumn(TABLES.between_executions.count),
        timeColumn(TABLES.between_executions.mean_ps.head, unit, 'mean_ps'),
        definedColumn(TABLES.gap_patterns.cause, {
          value: ({ cause, queued }) => (cause ? causeLabel(queued ? 'queued' : cause) : ''),
          cell: ({ cause, queued }) => (cause ? causeCell(queued ? 'queued' : cause) : ''),
        }),
      ],
    },
    h('p', { class: 'small muted' }, 'Gaps last from op to op, so they can be longer.'),
  );
}

/** What the table says in words, and what fewer executions would save. @param {Executions} answer */
export function readingCard({ reading, savings, core_steps }) {
  const unit = columnUnit(savings, 'now_ps');
  return card(
    'What this says',
    {},
    h(
      'div',
      { class: savings.length ? 'two' : '' },
      h('p', { class: 'reading' }, reading),
      savings.length
        ? table({
            label: 'If there were fewer executions',
            testid: 'cost-table',
            items: savings,
            columns: [
              textColumn(core_steps ? 'Overhead per step and core' : 'Overhead, all cores', 'name'),
              timeColumn('Now', unit, 'now_ps'),
              timeColumn('Then', unit, 'then_ps'),
              timeColumn('Gain', unit, ({ now_ps, then_ps }) => now_ps - then_ps),
            ],
          })
        : null,
    ),
  );
}
