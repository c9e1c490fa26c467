/**
 * The card of steps: stacked bars of what the driving thread did, each crossed by a line at the device work that the
 * step launched, of the busiest core; or the same as a table.
 */

import { button, fill, h, onKeys, percent, labelledSelect, setOptions } from '../lib/dom.js';
import { columnUnit, groupBy, maximum } from '../lib/totals.js';
import { CLASSES, LABELS, classCell, legend, tone } from '../lib/classes.js';
import { card, link, linkedColumn, windowLinkState } from '../lib/cards.js';
import { digits, plural, timeText, unitFor } from '../lib/format.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { sortableTable, timeColumn } from '../lib/table.js';
import { beginActivity } from '../lib/activity.js';
import { niceTicks } from '../lib/axis.js';
import { createStepBrush } from '../lib/step-brush.js';
import { escapeItem, stepArgument } from '../lib/link.js';
import { createStaleNote, staleStepText } from '../frame/stale-note.js';
import { listedStepsText, stepRows } from './step-data.js';

/** @typedef {import('./step-data.js').Step} Step */

/** Up to this many bars are wide; more are thin, and the brush scrolls to those that do not fit. */
const MAX_WIDE_BARS = 60;
const THIN_BAR_PX = 5;
/** Space left of the bars, for the labels of the axis. */
const AXIS_PX = 44;
/** Minimum distance between bars for a value above each, and between names. */
const MIN_VALUE_PX = 38;
const MIN_NAME_PX = 34;

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
  const chart = h('div', { class: 'chart', role: 'listbox', 'aria-label': 'Steps', 'data-testid': 'steps-chart' });
  const brush = createStepBrush('steps-brush', (step) => {
    first = step;
    drawChart();
    mark();
  });
  const note = h('p', { class: 'step-note' });
  const body = h('div', { class: 'fill' });
  /** @type {Step[]} */
  let steps = [];
  /** Index of the first visible bar in `steps`. */
  let first = 0;
  let visibleCount = MAX_WIDE_BARS;
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
    bars().forEach((barElement, index) => { barElement.ariaSelected = String(steps[first + index] === step); });
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
    fill(body, stepTable ? stepTable.element : [chart, brush.element], note);
    if (!stepTable) drawChart();
    mark();
  }

  function drawChart() {
    const width = chart.clientWidth - AXIS_PX;
    visibleCount =
      steps.length <= MAX_WIDE_BARS ? MAX_WIDE_BARS : Math.max(MAX_WIDE_BARS, Math.floor(width / THIN_BAR_PX));
    first = Math.max(0, Math.min(first, steps.length - visibleCount));
    const visible = steps.slice(first, first + visibleCount);
    const longest = maximum(visible.map((step) => Math.max(step.duration_ps, step.device_busy_ps)), 1);
    const unit = unitFor(longest);
    const ticks = niceTicks(longest / unit.ps);
    const top = Math.max(ticks.at(-1) ?? 1, longest / unit.ps) * unit.ps * 1.06;
    const barPx = width / visible.length;
    const nameEvery = [1, 2, 5, 10, 20, 50, 100].find((step) => barPx * step >= MIN_NAME_PX) ?? 200;
    fill(
      chart,
      ticks.map((tick) =>
        h(
          'span',
          {
            class: 'grid-line',
            'aria-hidden': 'true',
            style: { bottom: `calc(20px + (100% - 20px) * ${(tick * unit.ps) / top})` },
          },
          h('span', null, digits(tick), tick === ticks.at(-1) ? `\u202f${unit.name}` : ''),
        ),
      ),
      h(
        'div',
        { class: steps.length > MAX_WIDE_BARS ? 'bars thin' : 'bars' },
        visible.map((step, index) =>
          bar(step, top, unit, { hasValue: barPx >= MIN_VALUE_PX, hasName: (first + index) % nameEvery === 0 }),
        ),
      ),
    );
    (bars().find((barElement) => barElement.dataset.step === app.link.state.st) ?? bars()[0]).tabIndex = 0;
    brush.draw(first, visibleCount);
  }

  /**
   * @param {Step} step
   * @param {number} top the time at the top of the chart, ps
   * @param {import('../lib/format.js').Unit} unit
   * @param {{hasValue: boolean, hasName: boolean}} texts
   */
  function bar(step, top, unit, { hasValue, hasName }) {
    const stack = h(
      'div',
      { class: 'pile', 'aria-hidden': 'true' },
      classesIn([step]).map((name) =>
        h('i', {
          ...tone(name, { height: percent((step.host_ps[name] ?? 0) / top) }),
          title: `${LABELS[name]} ${timeText(step.host_ps[name])}`,
        }),
      ),
      hasValue ? h('span', { class: 'value' }, digits(step.duration_ps / unit.ps, 1)) : null,
    );
    const title = `Step ${nameOf(step)}${onHost()}, ${timeText(step.duration_ps)}, the work it launched ` +
      `${timeText(step.device_busy_ps)}, busiest core`;
    return h(
      'div',
      {
        role: 'option',
        'data-step': keyOf(step),
        tabindex: -1,
        'aria-selected': 'false',
        'data-ps': step.duration_ps,
        title,
        onclick: () => show(step),
      },
      h('span', { class: 'visually-hidden' }, title),
      h(
        'div',
        { class: 'plot' },
        stack,
        step.device_busy_ps
          ? h('i', { class: 'busy-line', style: { bottom: percent(step.device_busy_ps / top) } })
          : null,
      ),
      h('span', { class: 'name', 'aria-hidden': 'true' }, hasName ? nameOf(step) : ''),
    );
  }

  const bars = () => /** @type {HTMLElement[]} */ ([...chart.querySelectorAll('[role=option]')]);
  const stepAt = (/** @type {HTMLElement} */ barElement) => steps[first + bars().indexOf(barElement)];

  /** Focuses a bar by its index among the visible ones; scrolls if it is not visible. @param {number} index */
  function focus(index) {
    if (!bars()[index]) brush.move(first + Math.sign(index));
    (bars()[index] ?? bars()[index - Math.sign(index)])?.focus();
  }
  onKeys(chart, '[role=option]', {
    ArrowRight: (barElement) => focus(bars().indexOf(barElement) + 1),
    ArrowLeft: (barElement) => focus(bars().indexOf(barElement) - 1),
    Enter: (barElement) => show(stepAt(barElement)),
    ' ': (barElement) => selectStep(stepAt(barElement)),
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
    first = 0;
    brush.set(steps.map(({ duration_ps }) => duration_ps), (step) => nameOf(steps[step]));
    /** @type {HTMLSelectElement} */ (hostSelect.lastElementChild).value = name;
  }

  let frame = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    const done = beginActivity();
    frame = requestAnimationFrame(() => {
      if (!steps.length || isTable || !chart.isConnected) return;
      drawChart();
      mark();
    });
    requestAnimationFrame(done);
  }).observe(chart);

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
    const index = step ? steps.indexOf(step) : -1;
    const isVisible = index >= first && index < first + visibleCount;
    if (!isTable && index >= 0 && !isVisible) brush.move(index - visibleCount / 2);
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
