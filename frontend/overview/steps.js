/**
 * The card of steps: stacked bars of what the driving thread did, each crossed by a line at the device work that the
 * step launched, of the busiest core; or the same as a table.
 */

import { button, fill, h, labelledSelect, setOptions } from '../lib/dom.js';
import { columnUnit, groupBy } from '../lib/totals.js';
import { CLASSES, LABELS, classCell, legend, tone } from '../lib/classes.js';
import { card, link, linkedColumn, windowLinkState } from '../lib/cards.js';
import { plural, timeText } from '../lib/format.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { sortableTable, timeColumn } from '../lib/table.js';
import { createBarChart } from '../lib/bar-chart.js';
import { escapeItem, stepArgument } from '../lib/link.js';
import { createStaleNote, staleStepText } from '../frame/stale-note.js';
import { listedStepsText, stepRows } from './step-data.js';

/** @typedef {import('./step-data.js').Step} Step */

/**
 * Counts per step, with the noun for one.
 * @type {['executions'|'compiles'|'early_syncs'|'input_syncs'|'from_device', string][]}
 */
const COUNTS = [
  ['executions', 'execution'],
  ['compiles', 'compilation'],
  ['early_syncs', 'early sync'],
  ['input_syncs', 'input sync'],
  ['from_device', 'device read'],
];

/** Why no step is drawn, and what to do about it. @param {number} stepCount of the session */
export const noStepsTexts = (stepCount) =>
  stepCount
    ? ['The hosts in memory have no steps.', 'Choose others in the header.']
    : [
        'This capture has no steps: no step annotation, no StepMarker, no repeated module.',
        'Wrap each iteration of the training loop in xp.StepTrace, in JAX in jax.profiler.StepTraceAnnotation, or ' +
        'capture more than one step.',
      ];

/** @param {import('../frame/app.js').App} app */
export function createSteps(app) {
  const element = h('div', { class: 'steps' });
  const noteStale = createStaleNote(app, 'overview', 'steps');
  const chart = createBarChart({
    items: 'steps',
    barOf: (index) => barOf(steps[index]),
    open: (index) => show(steps[index]),
    select: (index) => selectStep(steps[index]),
    isSelected: (index) => steps[index] === selectedStep(),
  });
  const note = h('p', { class: 'step-note' });
  const body = h('div', { class: 'fill' });
  /** @type {Step[]} */
  let steps = [];
  let isTable = false;
  /** Steps of all listed hosts; `steps` has those of one. @type {Step[]} */
  let allSteps = [];
  /** @type {string[]} */
  let hosts = [];
  let host = '';
  const hostSelect = labelledSelect('host', [], '', (name) => { showHost(name); draw(); }, 'steps-host');
  /** @type {Set<number|null>} */
  let repeatedNumbers = new Set();
  let areAllListed = true;
  /** @type {ReturnType<typeof sortableTable>|null} */
  let stepTable = null;
  const toggle = button(
    'Table',
    () => {
      isTable = !isTable;
      draw();
    },
    { class: 'small-button', 'aria-pressed': 'false', 'data-testid': 'steps-as-table' },
  );

  /** A step's key in links: its number, with its index if several steps share the number; its index if it has none. */
  const keyOf = (/** @type {Step} */ { number, index }) =>
    number === null ? String(index) : repeatedNumbers.has(number) ? `${number}.${index}` : String(number);
  const nameOf = (/** @type {Step} */ { number, index }) => String(number ?? index);
  const classesIn = (/** @type {Step[]} */ items) =>
    CLASSES.filter((name) => items.some(({ host_ps }) => host_ps[name]));
  /** The link's step; a number alone, as other views write it, is that of the shown host. */
  const selectedStep = () =>
    [keyOf, nameOf].flatMap((textOf) => steps.find((step) => textOf(step) === app.link.state.st) ?? [])[0] ?? null;
  /** Suffix of a step's name in sessions with several hosts. */
  const onHost = () => (hosts.length ? ` on ${host}` : '');
  const show = (/** @type {Step} */ step) =>
    app.open({
      ...windowLinkState(step.start_ps, step.start_ps + step.duration_ps),
      st: keyOf(step),
      ...(hosts.length && { x: escapeItem(app.firstDevice(step.host)) }),
    });

  /** @param {Step} step */
  function selectStep(step) {
    app.link.set({ st: keyOf(step) }, 'push');
    noteStaleStep();
    mark();
    app.live.announceNow(`Step ${nameOf(step)}${onHost()}, ${timeText(step.duration_ps)}.`);
  }

  /** Marks the selected step in the bars or the table, and describes it below. */
  function mark() {
    const step = selectedStep();
    chart.mark();
    stepTable?.refresh();
    fill(
      note,
      step
        ? [
            h('b', null, `Step ${nameOf(step)}${onHost()}`),
            ` ${timeText(step.duration_ps)} · the work it launched ${timeText(step.device_busy_ps)}, busiest core · `,
            COUNTS.filter(([key]) => step[key] || key === 'executions')
              .map(([key, noun]) => plural(step[key], noun))
              .join(' · '),
            ' ',
            link('Show', () => show(step), { 'data-testid': 'step-show' }),
          ]
        : h('span', { class: 'muted' }, `A click on a ${isTable ? 'row selects' : 'bar shows'} its step.`),
    );
  }

  function draw() {
    toggle.setAttribute('aria-pressed', String(isTable));
    stepTable = isTable ? stepsTable() : null;
    fill(body, stepTable ? stepTable.element : chart.elements, note);
    if (!stepTable) chart.draw();
    mark();
  }

  /** @param {Step} step @returns {import('../lib/bar-chart.js').Bar} */
  const barOf = (step) => ({
    key: keyOf(step),
    name: nameOf(step),
    title: `Step ${nameOf(step)}${onHost()}, ${timeText(step.duration_ps)}, the work it launched ` +
      `${timeText(step.device_busy_ps)}, busiest core`,
    ps: step.duration_ps,
    line_ps: step.device_busy_ps,
    parts: classesIn([step]).map((name) => [
      step.host_ps[name] ?? 0,
      { ...tone(name), title: `${LABELS[name]} ${timeText(step.host_ps[name])}` },
    ]),
  });

  function stepsTable() {
    const unit = columnUnit(steps, 'duration_ps');
    return sortableTable({
      label: 'Steps',
      testid: 'steps-table',
      items: steps,
      open: show,
      select: selectStep,
      selected: (step) => step === selectedStep(),
      columns: [
        definedColumn(TABLES.steps.number, {
          field: (/** @type {Step} */ step) => step.number ?? step.index,
          cell: nameOf,
          title: undefined,
        }),
        ...(hosts.length ? [definedColumn(TABLES.steps.host)] : []),
        linkedColumn(definedColumn(TABLES.steps.start_ps), show),
        definedColumn(TABLES.steps.duration_ps, { timeUnit: unit }),
        definedColumn(TABLES.steps.device_busy_ps, { timeUnit: unit }),
        ...COUNTS.map(([key]) => definedColumn(TABLES.steps[key])),
        ...classesIn(steps).map((name) =>
          timeColumn(LABELS[name], unit, (/** @type {Step} */ { host_ps }) => host_ps[name] ?? 0),
        ),
      ],
    });
  }

  /** Shows the steps of one host: steps of several hosts are not in order of time. @param {string} name */
  function showHost(name) {
    host = name;
    steps = hosts.length ? allSteps.filter((step) => step.host === name) : allSteps;
    chart.set(steps.map(({ duration_ps }) => duration_ps), (step) => nameOf(steps[step]));
    /** @type {HTMLSelectElement} */ (hostSelect.lastElementChild).value = name;
  }

  /** Selects the step before or after. @param {1|-1} by */
  function move(by) {
    const step = selectedStep();
    const next = steps[step ? steps.indexOf(step) + by : by > 0 ? 0 : steps.length - 1];
    if (!next) return;
    selectStep(next);
    showLinked();
  }

  /** Notes a linked step that the session does not have. */
  function noteStaleStep() {
    const { st } = app.link.state;
    const exists = allSteps.some((step) => nameOf(step) === stepArgument(st));
    noteStale(areAllListed && !exists && staleStepText(st));
  }

  /** Shows the linked step: its host, and the range of bars that contains it. */
  function showLinked() {
    noteStaleStep();
    const linked = allSteps.find((step) => keyOf(step) === app.link.state.st);
    if (linked && hosts.length && linked.host !== host) {
      showHost(linked.host);
      draw();
    }
    const step = selectedStep();
    if (step && !isTable) chart.reveal(steps.indexOf(step));
    mark();
  }

  return {
    element, showLinked,
    /** @type {import('../lib/keys.js').Key[]} */
    keys: [
      { code: 'Comma', shift: false, label: ', .', does: 'previous, next step', run: () => move(-1) },
      { code: 'Period', shift: false, run: () => move(1) },
    ],
    /** @param {import('../lib/routes').Overview} answer @param {import('../lib/types').Ready} session */
    open({ steps: { columns, count }, ranks: rankIndices, partial }, { session }) {
      allSteps = stepRows(columns);
      areAllListed = allSteps.length === count && !partial;
      const byNumber = groupBy(allSteps, ({ number }) => number);
      repeatedNumbers = new Set([...byNumber].flatMap(([number, { length }]) => (length > 1 ? [number] : [])));
      hosts = session.hosts.length > 1 ? [...new Set(columns.host)] : [];
      const hostName = (/** @type {number|undefined} */ index) => session.hosts[index ?? -1]?.name ?? '';
      const [median, slowest] = [hostName(rankIndices?.median), hostName(rankIndices?.slowest)];
      const ranks = new Map([[median, 'median'], [slowest, 'slowest']]);
      setOptions(
        /** @type {HTMLSelectElement} */ (hostSelect.lastElementChild),
        hosts.map((name) => [name, ranks.has(name) ? `${name}, ${ranks.get(name)}` : name]),
        host,
      );
      const linked = allSteps.find((step) => keyOf(step) === app.link.state.st)?.host;
      showHost(linked ?? [host, slowest].find((name) => hosts.includes(name)) ?? hosts[0] ?? '');
      const names = classesIn(allSteps);
      const busy = allSteps.some(({ device_busy_ps }) => device_busy_ps)
        ? [[h('i', { class: 'line-mark', 'aria-hidden': 'true' }), 'work that the step launched, busiest core']]
        : [];
      fill(
        element,
        steps.length
          ? card(
              'Step time',
              {
                note: `by class of the driving thread${listedStepsText(allSteps.length, count, hosts.length > 0)}`,
                class: 'steps-card',
                right: [hosts.length > 0 && hostSelect, toggle],
              },
              legend([...names.map(classCell), ...busy]),
              body,
            )
          : card(
              'Step time',
              { class: 'no-steps' },
              ...noStepsTexts(count).map((text, line) => h('p', { class: line && 'secondary' }, text)),
            ),
      );
      if (steps.length) draw();
      noteStaleStep();
    },
  };
}
