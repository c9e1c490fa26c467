/** Cards beside the table of executions: costs by kind, causes, idle time between runs, and the table in words. */

import { h } from '../lib/dom.js';
import { columnUnit, maximum, minimum, total } from '../lib/totals.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { card, link, shortProgram, tableCard } from '../lib/cards.js';
import {
  briefTime,
  briefTimes,
  count,
  cutMiddle,
  digits,
  listedRows,
  MISSING,
  plural,
  share,
  timeCell,
  timeText,
} from '../lib/format.js';
import { table, textColumn, timeColumn } from '../lib/table.js';
import { causeCell, causeLabel } from '../gaps/cause.js';
import { COSTS, costOf, knownRuns, savings, smallPrograms, sumCosts } from './costs.js';

/** @typedef {import('../lib/routes').Executions} Executions */
/** @typedef {import('../lib/routes').ExecutionRow} ExecutionRow */
/** @typedef {import('./costs.js').CostName} CostName */

/** From this width of the window on, the card is wide enough for the names of two programs. */
const WIDE_FROM_PX = 1900;

/** Costs by kind of launch, and how far the host runs ahead. @param {Executions} answer */
export function kindsCard({ executions, kinds, lead, core_steps }) {
  const items = Object.entries(kinds).map(([name, sums]) => ({
    name,
    count: sums.count,
    rows: executions.filter(({ kind }) => kind === name),
  }));
  const costText = (/** @type {ExecutionRow[]} */ rows, /** @type {CostName} */ key) =>
    timeCell(costOf(rows, key, 'step', core_steps), unit);
  const unit = columnUnit(items, ({ rows }) => costOf(rows, 'host_ps', 'step', core_steps));
  /** @param {ExecutionRow[]} rows */
  function runsText(rows) {
    const runs = core_steps ? total(rows, 'per_step') : total(rows, 'count');
    return digits(runs, Number.isInteger(runs) ? 0 : 2);
  }
  return tableCard(
    'By kind',
    { note: core_steps ? 'per step and core' : 'total, all cores', class: 'tight' },
    {
      testid: 'lazy-dynamo-table',
      items,
      columns: [
        definedColumn(TABLES.executions.kind, { field: (/** @type {typeof items[number]} */ { name }) => name }),
        definedColumn(TABLES.executions.count, {
          cell: (/** @type {typeof items[number]} */ item) => runsText(item.rows),
        }),
        ...COSTS.map((key) =>
          definedColumn(TABLES.executions[key], {
            field: (/** @type {typeof items[number]} */ { rows }) => costOf(rows, key, 'step', core_steps),
            timeUnit: unit,
          }),
        ),
      ],
      foot: ['All', runsText(executions), ...COSTS.map((key) => costText(executions, key))],
    },
    lead ? h('p', { class: 'secondary' }, leadText(lead)) : null,
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
export function readingCard({ executions, fixed: fit, core_steps }) {
  const joined = executions.filter(knownRuns);
  const small = smallPrograms(joined);
  const savingRows = savings(joined, fit, core_steps);
  const unit = columnUnit(savingRows, 'now_ps');
  const meanRange = (/** @type {CostName} */ key) =>
    timeRange(joined.map((row) => costOf([row], key, 'run') ?? 0));
  const [overheadText, workText] = briefTimes(
    costOf(small, 'overhead_ps', 'step', core_steps) ?? 0,
    costOf(small, 'device_ps', 'step', core_steps) ?? 0,
  );
  const text = [
    joined.length > 1
      ? `Depending on the program, the mean overhead of a run is ${meanRange('overhead_ps')}, for device runs of ` +
        `${meanRange('device_ps')}.`
      : '',
    fit && fit.runs > 2
      ? `A line fitted to ${fittedRuns(fit.runs, total(executions, knownRuns), sumCosts(executions).count)} puts the ` +
        `overhead at ${briefTime(Math.max(0, fit.fixed_ps))} per run${fit.slope > 0.001
          ? ` plus ${share(fit.slope)} of its device time`
          : ', however long it is'}.`
      : '',
    small.length
      ? `${plural(small.length, 'program')} ${small.length === 1 ? 'takes' : 'take'} ${overheadText} of overhead ` +
        `${core_steps ? 'per step and core ' : ''}for device runs of ${workText}: ${mergeAdvice(small)}.`
      : '',
    sumCosts(joined).queue_ps > sumCosts(joined).host_ps / 2
      ? 'Most host time is queue time: the host runs ahead of the device, as it should.'
      : '',
  ]
    .filter(Boolean)
    .join(' ');
  return card(
    'What this says',
    {},
    h(
      'div',
      { class: savingRows.length ? 'two' : '' },
      h(
        'p',
        { class: 'reading' },
        text || defaultText(joined),
      ),
      savingRows.length
        ? table({
            label: 'If there were fewer executions',
            testid: 'cost-table',
            items: savingRows,
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

/**
 * The text if nothing else can be said.
 * @param {ExecutionRow[]} joined rows whose launches are known, none of them a small program
 */
export const defaultText = (joined) =>
  joined.length
    ? 'On average, a run takes at least as long as its overhead: nothing to gain by merging.'
    : 'The launches of these runs are unknown, and so is their overhead.';

/** `1.81 – 4.28 ms`: both times have the same unit. @param {number[]} values */
function timeRange(values) {
  const [least, most] = briefTimes(minimum(values), maximum(values));
  return `${least.slice(0, least.lastIndexOf('\u202f'))} – ${most}`;
}

/** The advice on programs whose runs are shorter than their overhead. @param {ExecutionRow[]} rows */
function mergeAdvice(rows) {
  const [pronoun, syncs] =
    rows.length === 1 ? ['it', 'the sync that launches it'] : ['them', 'the syncs that launch them'];
  return rows.some(({ kind }) => kind === 'lazy')
    ? `merge ${pronoun} with others, or avoid ${syncs}`
    : `do more work per launch, or merge ${pronoun} with others`;
}

/**
 * The runs to which the line is fitted: `12 runs`, `88 of 96 runs, those that did not queue,`.
 * @param {number} fitted @param {number} launched runs with a known launch @param {number} all
 */
function fittedRuns(fitted, launched, all) {
  if (fitted === all) return plural(all, 'run');
  const fittedText = fitted < launched ? 'those that did not queue' : 'all with a known launch';
  return `${count(fitted)} of ${plural(all, 'run')}, ${fittedText},`;
}

/** @param {NonNullable<Executions['lead']>} lead */
function leadText({ median_ps, min_ps, max_ps }) {
  if (median_ps >= 0 && min_ps < 0) {
    return (
      `The host enqueues most runs before the device finishes the previous one, by ${timeText(median_ps)} (median of ` +
      `all); for the others a free device waits, for up to ${timeText(-min_ps)}.`
    );
  }
  return median_ps >= 0
    ? `The host enqueues a run ${timeText(median_ps)} before the device finishes the previous one (median; ` +
      `${briefTimes(min_ps, max_ps).join(' to ')}).`
    : `The device waits ${timeText(-median_ps)} for a run to be enqueued (median).`;
}
