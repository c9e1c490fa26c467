/**
 * Steps as stacked bars of what the driving thread did, a line across each for the device work it launched, of the
 * busiest core.
 */

import { button, fill, h, onDrag, onKeys, percent, labelledSelect, setOptions } from '../lib/dom.js';
import { columnUnit, maximum } from '../lib/totals.js';
import { CLASSES, LABELS, classCell, legend, tone } from '../lib/classes.js';
import { card, link, linkedColumn, windowLinkState } from '../lib/cards.js';
import { count, digits, plural, timeText, unitFor } from '../lib/format.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { sortableTable, timeColumn } from '../lib/table.js';
import { beginActivity } from '../lib/activity.js';
import { niceTicks } from '../lib/axis.js';
import { stepRows } from './step-data.js';

/** @typedef {import('./step-data.js').Step} Step */

/** Up to this many bars are wide; more are thin, and the brush scrolls to those that do not fit. */
const MAX_WIDE_BARS = 60;
const THIN_PX = 5;
const LABEL_PX = 44;

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

/** @param {import('../frame/app.js').App} app */
export function createSteps(app) {
  const element = h('div', { class: 'steps' });
  const chart = h('div', { class: 'chart', role: 'listbox', 'aria-label': 'Steps', 'data-testid': 'steps-chart' });
  const brush = h('div', { class: 'brush none', role: 'slider', tabindex: 0, 'aria-label': 'Steps in sight' });
  const note = h('p', { class: 'step-note' });
  const body = h('div', { class: 'fill' });
  /** @type {Step[]} */
  let steps = [];
  let from = 0;
  let fits = MAX_WIDE_BARS;
  let listed = false;
  /** Steps of all listed hosts; `steps` has those of one. @type {Step[]} */
  let allSteps = [];
  /** @type {string[]} */
  let hosts = [];
  let host = '';
  let ranks = /** @type {Map<string, string>} */ (new Map());
  const hostSelect = labelledSelect('host', [], '', (name) => { showHost(name); draw(); }, 'steps-host');
  /** @type {Set<number|null>} */
  let repeatedNumbers = new Set();
  /** @type {ReturnType<typeof sortableTable>|null} */
  let rows = null;
  const toggle = button(
    'Table',
    () => {
      listed = !listed;
      draw();
    },
    { class: 'small-button', 'aria-pressed': 'false', 'data-testid': 'steps-as-table' },
  );

  /** A step's key in links: its number, with its index if hosts share numbers. */
  const keyOf = (/** @type {Step} */ { number, index }) =>
    number === null ? String(index) : repeatedNumbers.has(number) ? `${number}.${index}` : String(number);
  const nameOf = (/** @type {Step} */ { number, index }) => String(number ?? index);
  const classesIn = (/** @type {Step[]} */ items) =>
    CLASSES.filter((name) => items.some(({ host_ps }) => host_ps[name]));
  const chosen = () => steps.find((step) => keyOf(step) === app.link.state.st) ?? null;
  /** Suffix of a step's name in sessions with several hosts. */
  const onHost = () => (hosts.length ? ` on ${host}` : '');
  const show = (/** @type {Step} */ step) =>
    app.open({
      ...windowLinkState(step.start_ps, step.start_ps + step.duration_ps),
      st: keyOf(step),
      ...(hosts.length && { x: app.firstDevice(step.host) }),
    });

  /** @param {Step|null} step */
  function choose(step) {
    app.link.set({ st: step ? keyOf(step) : '' }, 'push');
    mark();
    if (step) app.live.announceNow(`Step ${nameOf(step)}${onHost()}, ${timeText(step.duration_ps)}.`);
  }

  function mark() {
    const step = chosen();
    bars().forEach((barElement, at) => { barElement.ariaSelected = String(steps[from + at] === step); });
    rows?.refresh();
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
        : h('span', { class: 'muted' }, 'Click a bar to select a step.'),
    );
  }

  function draw() {
    toggle.setAttribute('aria-pressed', String(listed));
    rows = listed ? stepsTable() : null;
    fill(body, rows ? rows.element : [chart, brush], note);
    if (!rows) drawChart();
    mark();
  }

  function drawChart() {
    const width = chart.clientWidth - LABEL_PX;
    fits = steps.length <= MAX_WIDE_BARS ? MAX_WIDE_BARS : Math.max(MAX_WIDE_BARS, Math.floor(width / THIN_PX));
    from = Math.max(0, Math.min(from, steps.length - fits));
    const visible = steps.slice(from, from + fits);
    const most = maximum(visible.map((step) => Math.max(step.duration_ps, step.device_busy_ps)), 1);
    const unit = unitFor(most);
    const ticks = niceTicks(most / unit.ps);
    const top = Math.max(ticks.at(-1) ?? 1, most / unit.ps) * unit.ps * 1.06;
    const slot = width / visible.length;
    const labelEvery = [1, 2, 5, 10, 20, 50, 100].find((step) => slot * step >= 34) ?? 200;
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
        visible.map((step, index) => bar(step, top, slot >= 38, (from + index) % labelEvery === 0, unit)),
      ),
    );
    (bars().find((barElement) => barElement.dataset.step === app.link.state.st) ?? bars()[0]).tabIndex = 0;
    drawBrush();
  }

  /**
   * @param {Step} step
   * @param {number} top
   * @param {boolean} value
   * @param {boolean} label
   * @param {import('../lib/format.js').Unit} unit
   */
  function bar(step, top, value, label, unit) {
    const stack = h(
      'div',
      { class: 'pile', 'aria-hidden': 'true' },
      classesIn([step]).map((name) =>
        h('i', {
          ...tone(name, { height: percent((step.host_ps[name] ?? 0) / top) }),
          title: `${LABELS[name]} ${timeText(step.host_ps[name])}`,
        }),
      ),
      value ? h('span', { class: 'value' }, digits(step.duration_ps / unit.ps, 1)) : null,
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
        onclick: () => choose(step),
        ondblclick: () => show(step),
      },
      h('span', { class: 'hidden' }, title),
      h(
        'div',
        { class: 'plot' },
        stack,
        step.device_busy_ps
          ? h('i', { class: 'busy-line', style: { bottom: percent(step.device_busy_ps / top) } })
          : null,
      ),
      h('span', { class: 'name', 'aria-hidden': 'true' }, label ? nameOf(step) : ''),
    );
  }

  const bars = () => /** @type {HTMLElement[]} */ ([...chart.querySelectorAll('[role=option]')]);
  const stepAt = (/** @type {HTMLElement} */ barElement) => steps[from + bars().indexOf(barElement)];

  /** Focuses a bar by its index among the visible ones; scrolls if it is not visible. @param {number} at */
  function focus(at) {
    if (!bars()[at]) moveTo(from + Math.sign(at));
    (bars()[at] ?? bars()[at - Math.sign(at)])?.focus();
  }
  onKeys(chart, '[role=option]', {
    ArrowRight: (barElement) => focus(bars().indexOf(barElement) + 1),
    ArrowLeft: (barElement) => focus(bars().indexOf(barElement) - 1),
    Enter: (barElement) => show(stepAt(barElement)),
    ' ': (barElement) => choose(stepAt(barElement)),
  });

  /** @param {number} first */
  function moveTo(first) {
    const next = Math.max(0, Math.min(Math.round(first), steps.length - fits));
    if (next === from) return;
    from = next;
    drawChart();
    mark();
  }

  function drawBrush() {
    if (brush.classList.toggle('none', steps.length <= fits)) return;
    const most = maximum(steps.map(({ duration_ps }) => duration_ps));
    const columns = new Array(Math.min(400, steps.length)).fill(0);
    steps.forEach(({ duration_ps }, index) => {
      const at = Math.floor((index * columns.length) / steps.length);
      columns[at] = Math.max(columns[at], duration_ps);
    });
    fill(brush, columns.map((ps) => h('i', { style: { height: percent(ps / most) } })),
      h('b', { style: { left: percent(from / steps.length), width: percent(fits / steps.length) } }));
    brush.ariaValueMin = '0';
    brush.ariaValueMax = String(steps.length - fits);
    brush.ariaValueNow = String(from);
    brush.ariaValueText = `Steps ${nameOf(steps[from])} to ${nameOf(steps[Math.min(steps.length, from + fits) - 1])}` +
      ` of ${count(steps.length)}`;
  }
  const toPointer = (/** @type {PointerEvent} */ event) => {
    const box = brush.getBoundingClientRect();
    moveTo(((event.clientX - box.left) / box.width) * steps.length - fits / 2);
  };
  onDrag(brush, (event) => {
    toPointer(event);
    return toPointer;
  });
  onKeys(brush, '*', {
    ArrowRight: () => moveTo(from + 1),
    ArrowLeft: () => moveTo(from - 1),
    PageDown: () => moveTo(from + fits),
    PageUp: () => moveTo(from - fits),
    End: () => moveTo(steps.length),
    Home: () => moveTo(0),
  });

  function stepsTable() {
    const unit = columnUnit(steps, 'duration_ps');
    return sortableTable({
      label: 'Steps',
      testid: 'steps-table',
      items: steps,
      open: show,
      select: choose,
      selected: (step) => step === chosen(),
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
    from = 0;
    /** @type {HTMLSelectElement} */ (hostSelect.lastElementChild).value = name;
  }

  let timer = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(timer);
    const done = beginActivity();
    timer = requestAnimationFrame(() => { if (steps.length && !listed && chart.isConnected) { drawChart(); mark(); } });
    requestAnimationFrame(done);
  }).observe(chart);

  /** Selects the step before or after. @param {1|-1} by */
  function move(by) {
    const step = chosen();
    const at = step ? steps.indexOf(step) + by : by > 0 ? 0 : steps.length - 1;
    if (!steps[at]) return;
    choose(steps[at]);
    select();
  }

  /** Scrolls the linked step into view. */
  function select() {
    const linked = allSteps.find((step) => keyOf(step) === app.link.state.st);
    if (linked && hosts.length && linked.host !== host) {
      showHost(linked.host);
      draw();
    }
    const step = chosen();
    const at = step ? steps.indexOf(step) : -1;
    if (!listed && at >= 0 && (at < from || at >= from + fits)) moveTo(at - fits / 2);
    mark();
  }

  return {
    element, select,
    /** @type {import('../lib/keys.js').Key[]} */
    keys: [
      { code: 'Comma', shift: false, label: ', .', does: 'previous, next step', run: () => move(-1) },
      { code: 'Period', shift: false, run: () => move(1) },
    ],
    /** @param {import('../lib/routes').Overview} answer @param {import('../lib/types').Ready} session */
    open({ steps: { columns }, ranks: first }, { session }) {
      allSteps = stepRows(columns);
      const numbers = new Set();
      repeatedNumbers = new Set(
        allSteps.map(({ number }) => number).filter((number) => numbers.size === numbers.add(number).size),
      );
      hosts = session.hosts.length > 1 ? [...new Set(columns.host)] : [];
      const rank = (/** @type {number|undefined} */ at) => session.hosts[at ?? -1]?.name ?? '';
      ranks = new Map([[rank(first?.median), 'median'], [rank(first?.slowest), 'slowest']]);
      setOptions(
        /** @type {HTMLSelectElement} */ (hostSelect.lastElementChild),
        hosts.map((name) => [name, ranks.has(name) ? `${name}, ${ranks.get(name)}` : name]),
        host,
      );
      const linked = allSteps.find((step) => keyOf(step) === app.link.state.st)?.host;
      showHost(
        linked ??
          (hosts.includes(host)
            ? host
            : hosts.includes(rank(first?.slowest))
              ? rank(first?.slowest)
              : (hosts[0] ?? '')),
      );
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
                note: 'by class of the driving thread',
                class: 'steps-card',
                right: [hosts.length > 0 && hostSelect, toggle],
              },
              legend([...names.map(classCell), ...busy]),
              body,
            )
          : card(
              'Step time',
              { class: 'no-steps' },
              h('p', null, 'This capture has no steps: no step annotation, no StepMarker, no repeated module.'),
              h('p', { class: 'sec' }, 'Wrap the loop in xp.StepTrace, or capture more than one step.'),
            ),
      );
      if (steps.length) draw();
    },
  };
}
