/** The Compare view: the open session A beside session B, chosen in the header. */

import { button, emphasised, fill, h, percent } from '../lib/dom.js';
import { createDocumentView } from '../frame/document-view.js';
import { SHORT_GAPS, classCell } from '../lib/classes.js';
import { card, coreCountText, classColor, tableCard } from '../lib/cards.js';
import {
  cutMiddle,
  digits,
  headlineTime,
  listedRows,
  MISSING,
  plural,
  rate,
  share,
  timeCell,
  unitFor,
} from '../lib/format.js';
import { ownName } from '../lib/path-names.js';
import { maximum } from '../lib/totals.js';
import { definedColumn, definedColumns } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { differenceText, ratioCell } from './cells.js';
import { deviceCards } from './device.js';
import { failureCard, headingCard, sessionBadge } from './heading.js';
import { lazyCard } from './lazy.js';
import { stepStrip } from './step-strip.js';
import { VERDICT_COLUMN } from './verdict.js';

/** @typedef {import('../lib/routes').CompareAnswer} CompareAnswer */
/** @typedef {import('../lib/routes').TimePair} TimePair */
/** @typedef {import('../lib/routes').TestVerdict} TestVerdict */
/** @typedef {import('../lib/routes').Measure} Measure */
/** @typedef {import('../lib/routes').ComparedSession} ComparedSession */

const SIDES = /** @type {const} */ (['a', 'b']);

/**
 * A card of times of both sessions: A, B, B − A, B / A, and verdicts if any row has one.
 * @template {TimePair & {p?: number|null, verdict?: TestVerdict|null}} T
 * @param {string} title
 * @param {string} note
 * @param {typeof TABLES.class_differences} definition
 * @param {T[]} items
 * @param {(item: T) => any} cell of the first column
 * @param {{testid?: string, bars?: (item: T) => HTMLElement, foot?: TimePair & {name: string},
 *   isWide?: boolean}} [more] `isWide`: the card is wider than its columns need
 */
function pairCard(title, note, definition, items, cell, { testid, bars, foot, isWide = false } = {}) {
  const longest_ps = maximum(items.map(({ a_ps, b_ps }) => Math.max(a_ps ?? 0, b_ps ?? 0)), 0);
  const unit = unitFor(longest_ps);
  const longest = longest_ps / unit.ps;
  const hasVerdicts = items.some(({ verdict }) => verdict);
  return tableCard(
    title,
    { note, class: isWide ? 'compact' : '' },
    {
      testid,
      items,
      columns: [
        { head: definition.name.head, cell },
        definedColumn(definition.a_ps, { timeUnit: unit }),
        definedColumn(definition.b_ps, { timeUnit: unit }),
        ...(bars
          ? [{ head: `0 – ${digits(longest, longest < 10 ? 1 : 0)}\u202f${unit.name}, A above B`, cell: bars }]
          : []),
        definedColumn(definition.difference_ps, {
          timeUnit: unit,
          value: (/** @type {T} */ item) => item.difference_ps ?? 0,
          cell: (/** @type {T} */ { a_ps, b_ps }) => differenceText(a_ps, b_ps, unit),
        }),
        definedColumn(definition.ratio, { cell: (/** @type {T} */ item) => ratioCell(item.ratio) }),
        ...(hasVerdicts ? [VERDICT_COLUMN] : []),
      ],
      foot: foot
        ? [
            foot.name,
            timeCell(foot.a_ps, unit),
            timeCell(foot.b_ps, unit),
            ...(bars ? [''] : []),
            differenceText(foot.a_ps, foot.b_ps, unit),
            ratioCell(foot.ratio),
            ...(hasVerdicts ? [''] : []),
          ]
        : undefined,
    },
  );
}

/** @param {Measure} measure @param {'a'|'b'} side */
function valueCell(measure, side) {
  const value = measure.unit === 'ps' ? measure[`${side}_ps`] : measure[side];
  if (value == null) return MISSING;
  const text = /** @type {Partial<Record<Measure['unit'], (value: number) => string>>} */ ({
    ps: headlineTime,
    rate,
    share,
  })[measure.unit];
  return text ? text(value) : digits(value, Number.isInteger(value) ? 0 : 2);
}

/** How a column shows the values of a session. @param {'a'|'b'} side */
const valueOptions = (side) => ({
  ps: (/** @type {Measure} */ item) => item[`${side}_ps`],
  cell: (/** @type {Measure} */ item) => valueCell(item, side),
});

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function compareView(app) {
  const element = h('div', { class: 'cards compare' });
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  /** @type {string|null} */
  let requestedName = null;

  /** Session A with the reason why B is not shown. @param {Error} error @param {() => void} retry */
  const errorCards = (error, retry) => [
    failureCard(session?.session.name ?? '', session?.environment.label ?? '', requestedName ?? '', error, retry),
  ];

  /** @param {CompareAnswer} comparison */
  function draw(comparison) {
    const { a, b, chance, predictions, step, gaps, programs, compiles, row_counts } = comparison;
    const { program } = comparison.verdict;
    const stepCounts = `${plural(a.steps, 'step')} and ${plural(b.steps, 'step')}`;
    /** Link state in which B is the open session; the link may name the next B already. */
    const swapped = { s: requestedName ?? '', c: session?.session.name };
    const noteOf = (/** @type {ComparedSession} */ side) =>
      [plural(side.steps, 'step'), coreCountText(side.devices), side.launched_by].join(' · ');
    const longest_ps = maximum(comparison.classes.flatMap(({ a_ps, b_ps }) => [a_ps ?? 0, b_ps ?? 0]), 1);
    const bars = (/** @type {CompareAnswer['classes'][number]} */ row) =>
      h(
        'div',
        { class: 'two-bars', 'aria-hidden': 'true' },
        SIDES.map((side) =>
          h('i', {
            class: side,
            style: {
              '--k': classColor(row.class),
              width: percent((row[`${side}_ps`] ?? 0) / longest_ps),
              visibility: row[`${side}_ps`] ? '' : 'hidden',
            },
          }),
        ),
      );
    const annotationPaths = new Set(comparison.annotations.map(({ path }) => path));
    const phases = comparison.annotations.filter(({ phase }) => phase).map(({ path, host }) => ({ path, ...host }));
    const code = (/** @type {string} */ text) => h('code', { title: text }, cutMiddle(text, 32));
    /** The time `key` of a run of each program. @param {string} note @param {typeof TABLES.run_differences} definition
     * @param {'device'|'overhead'} key */
    const programCard = (note, definition, key) =>
      pairCard(
        'Executions',
        `${note}${listedRows(programs, row_counts.programs, 'with most device time')}`,
        definition,
        programs.map((row) => ({ ...row, ...row[key] })),
        (row) => [code(row.program), row.match === 'base' ? ` in B ${row.program_b}` : ''],
        { isWide: true },
      );
    fill(
      element,
      headingCard(
        [sessionBadge('A', a.session.name, noteOf(a)), sessionBadge('B', b.session.name, noteOf(b))],
        button('Swap A and B', () => app.open(swapped), { 'data-testid': 'compare-swap' }),
        h('p', { class: 'lead' }, emphasised(comparison.lead)),
        chance.text ? h('p', { class: 'secondary' }, chance.text) : null,
      ),
      predictions.length > 0 && tableCard(
        'Predicted and measured',
        { note: 'the usual step: A’s, A’s with one finding fixed, B’s', class: 'across list-card compact' },
        { testid: 'compare-predictions', items: predictions, columns: definedColumns(TABLES.predictions) },
      ),
      (step.a || step.b) && h(
        'div',
        { class: 'side' },
        card(
          'One step, same axis',
          { note: 'the step of median length of each session, from its start; one device' },
          stepStrip(
            [
              ['A', step.a],
              ['B', step.b],
            ],
            (name, state) => app.open(name === 'A' ? state : { ...swapped, ...state }),
          ),
        ),
        pairCard(
          'Host time per step, by class',
          'mean',
          TABLES.class_differences,
          comparison.classes,
          (row) => classCell(row.class),
          { testid: 'compare-classes', foot: { name: 'Step, mean', ...comparison.class_total }, bars },
        ),
      ),
      h(
        'div',
        { class: 'side' },
        tableCard(
          'Differences',
          { note: program ? `runs of ${cutMiddle(program, 32)}` : stepCounts, class: 'tight' },
          {
            testid: 'compare-table',
            fixed: true,
            items: comparison.measures,
            rowTestid: ({ name }) => `measure-${name}`,
            columns: definedColumns(TABLES.measures, {
              label: { title: undefined },
              a: valueOptions('a'),
              b: valueOptions('b'),
              ratio: { cell: (item) => h('span', { class: item.verdict }, ratioCell(item.ratio)) },
              verdict: VERDICT_COLUMN,
            }),
          },
        ),
          ),
      deviceCards(comparison, annotationPaths),
      h(
        'div',
        { class: 'side' },
        phases.length > 0 &&
          pairCard(
            'Phases',
            'host time per step',
            TABLES.phase_differences,
            phases,
            ({ path }) => ownName(path, annotationPaths),
            { isWide: true },
          ),
        program && programCard('device time of a run', TABLES.run_differences, 'device'),
        programs.length > 0 && programCard('overhead of a run', TABLES.overhead_differences, 'overhead'),
        compiles.length > 0 &&
          pairCard(
            'Compilations',
            `number in A and B${listedRows(compiles, row_counts.compiles, 'that take longest')}`,
            TABLES.compile_differences,
            compiles,
            ({ module, count }) => [code(module), ` ${count.join(' and ')}`],
            { isWide: true },
          ),
      ),
      h(
        'div',
        { class: 'side' },
        (gaps.idle.a_ps ?? gaps.idle.b_ps) !== null && pairCard(
          'Idle time',
          'per step and core, by what the host did',
          TABLES.idle_differences,
          [...gaps.classes, { ...gaps.small, class: null }],
          (row) => (row.class ? classCell(row.class) : SHORT_GAPS),
          { testid: 'compare-idle', foot: { name: 'All', ...gaps.idle } },
        ),
        lazyCard(comparison.lazy_dynamo, row_counts.between),
      ),
    );
    return /** @type {const} */ ('ready');
  }

  const data = createDocumentView(app, 'compare', element, draw, () => ({ other: requestedName }), errorCards);

  /** Shows the comparison with the link's second session, or asks for one. */
  function followLink() {
    const { c = '' } = app.link.state;
    const otherName = c === session?.session.name ? '' : c;
    if (!session || otherName === requestedName) return;
    requestedName = otherName;
    if (otherName) return data.open(session);
    data.close();
    const before = app.sessionBefore();
    fill(
      element,
      card(
        'Compare',
        { class: 'across' },
        h('p', { class: 'lead' }, 'Choose a second session under “compare with” in the header.'),
        h(
          'p',
          { class: 'secondary' },
          'The open session is A, the other one B: steps, phases, host and device time, executions, idle time and ' +
          'compilations are shown side by side. The choice appears once the logdir has two sessions.',
        ),
        before &&
          h(
            'p',
            null,
            button(
              `Compare with the previous session, ${before}`,
              () => app.open({ s: before, v: 'compare', c: session?.session.name }),
              { 'data-testid': 'compare-before' },
            ),
          ),
      ),
      );
    app.setState('empty');
  }

  return { element, followLink,
    open(next) {
      session = next;
      requestedName = null;
      followLink();
    },
    show(on) {
      if (on) followLink();
      data.show(on);
    } };
}
