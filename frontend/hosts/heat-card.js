/** The heat map's card: the map's data, its legend, and a table of the steps in its place. */

import { button, fill, h, refill } from '../lib/dom.js';
import { card } from '../lib/cards.js';
import { chip, legend } from '../lib/classes.js';
import { count, digits, plural, timeText, unitFor, UNITS } from '../lib/format.js';
import { groupBy, maximum, total } from '../lib/totals.js';
import { TABLES } from '../lib/table-definitions.js';
import { countColumn, sortableTable, timeColumn } from '../lib/table.js';
import { DEVICE, PS_PER_US, largestLateness, stepName, stepUs } from './rows.js';
import { createHeat } from './heat.js';
import { heatRows, percentile } from './layout.js';
import { waitTexts } from './table.js';
import { classLabel } from './verdict.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').StepRange} StepRange */
/**
 * @typedef {object} CardInput
 * @property {HostsAnswer} answer
 * @property {HostRow[]} rows of the steps that the table and the verdict cover
 * @property {number} host index of the selected host
 * @property {StepRange|null} range
 * @property {boolean} coversAllHosts whether the range applies to all hosts, not to the selected one alone
 * @property {boolean} showsArrival whether cells show arrival; otherwise step time
 */

/** Minimum length of the arrival scale, as a share of a step: smaller delays are insignificant. */
const MIN_SCALE_SHARE = 0.01;

/**
 * The ends of the scale of step times, both in the unit of the longer one: `41.2` and `43.5 ms`.
 * @param {number} from µs
 * @param {number} to µs
 */
export function stepTimeEnds(from, to) {
  const unit = unitFor(to * PS_PER_US);
  return [digits(from * PS_PER_US / unit.ps, 1), `${digits(to * PS_PER_US / unit.ps, 1)}\u202f${unit.name}`];
}

/**
 * @param {object} on
 * @param {(host: number, step: number) => void} on.cell
 * @param {(host: number) => void} on.host
 * @param {(from: number, to: number) => void} on.steps
 * @param {(host: number, step: number) => void} on.open @param {(showsArrival: boolean) => void} on.measure
 */
export function createHeatCard(on) {
  const heat = createHeat({ ...on, cellTexts });
  const element = h('div', { class: 'fill' });
  const body = h('div', { class: 'fill' });
  const legendPlace = h('div', null);
  /** @type {CardInput} */
  let input;
  let isTable = false;

  /** Lateness or step time, µs; null if unknown. @param {number} host @param {number} step */
  function valueOf(host, step) {
    if (!input.showsArrival) return stepUs(input.answer, host, step);
    const late = input.answer.late_us[host]?.[step] ?? -1;
    return late < 0 ? null : late;
  }

  /** Describes a cell; the first text names host and step. @param {number} host @param {number} step */
  function cellTexts(host, step) {
    const { answer, rows } = input;
    const [late, length] = [answer.late_us[host]?.[step] ?? -1, stepUs(answer, host, step)];
    const last = answer.state === 'compared' && answer.steps.last_host[step] === host;
    const cause = last ? answer.steps.last_cause[step] : null;
    return [
      `${rows[host].name}, step ${stepName(answer.steps, step)}`,
      late < 0 ? '' : late ? `${timeText(late * PS_PER_US)} late` : 'not late',
      last ? 'last to arrive' : '',
      cause ? `most extra time, against the median host: ${classLabel(cause)}` : '',
      length === null ? 'no such step' : `step ${timeText(length * PS_PER_US)}`,
    ].filter(Boolean);
  }

  /** The ends of the colour scale, µs. */
  function scaleEnds() {
    const { answer: { steps, hosts, figures }, showsArrival } = input;
    if (showsArrival) {
      const values = steps.last_host.flatMap((host, step) => (host >= 0 ? valueOf(host, step) ?? 0 : []));
      return { from: 0, to: Math.max(percentile(values), (MIN_SCALE_SHARE * (figures.step_ps ?? 0)) / PS_PER_US) };
    }
    const values = hosts.name.flatMap((_, host) => steps.number.flatMap((__, step) => valueOf(host, step) ?? []));
    return { from: percentile(values, 0.05), to: percentile(values) };
  }

  function drawHeat() {
    const { answer: { hosts, order, steps, verdict }, rows, coversAllHosts, showsArrival } = input;
    const namedHosts = order.filter((host) => hosts.has_own_row[host]);
    const thinHosts = order.filter((host) => !hosts.has_own_row[host]);
    const { from, to } = scaleEnds();
    const layout = heatRows(namedHosts, thinHosts);
    const waits = waitTexts(rows);
    const stepCount = coversAllHosts && input.range ? input.range[1] - input.range[0] + 1 : steps.number.length;
    const stepsText = `${count(stepCount)} ${stepCount === 1 ? 'step' : 'steps'}`;
    const lastText = (/** @type {number} */ host) => `last in ${count(rows[host].last_steps)} of ${stepsText}`;
    const stepText = (/** @type {number} */ host) =>
      rows[host].step_us === null ? '' : `median ${timeText((rows[host].step_us ?? 0) * PS_PER_US, 1)}`;
    const thinLastSteps = total(thinHosts, (/** @type {number} */ host) => rows[host].last_steps);
    const thinLate_us = largestLateness(input.answer, thinHosts, coversAllHosts ? input.range : null);
    const summaryText = (/** @type {number} */ host) => {
      if (!showsArrival) return stepText(host);
      return `${lastText(host)}, the others wait ${waits.sum([rows[host]])}\u202f${waits.unit.name}`;
    };
    heat.set(
      {
        ...layout,
        from,
        to,
        showsArrival,
        valueOf,
        lastCauses: steps.last_cause,
        isClear: steps.is_last_host_late,
        verdictHosts: verdict.hosts,
        lastHosts: showsArrival ? steps.last_host : steps.last_host.map(() => -1),
        stepLabel: (step) => stepName(steps, step),
        hostLabel: (host) => (Number.isNaN(rows[host].number) ? rows[host].short : String(rows[host].number)),
        rowTexts: (host) => [rows[host].name, showsArrival ? lastText(host) : stepText(host)],
        thinNotes: [
          plural(thinHosts.length, namedHosts.length ? 'other host' : 'host'),
          ...(showsArrival && thinLastSteps
            ? [
                `last in ${count(thinLastSteps)} of ${stepsText}`,
                thinLate_us ? `≤\u202f${timeText(thinLate_us * PS_PER_US, 1)} late` : '',
              ]
            : []),
          layout.hostsPerRow > 1 ? `${layout.hostsPerRow} hosts per row` : '',
        ].filter(Boolean),
        waitText: ({ hosts: members }) => (waits.hasWaits ? waits.sum(members.map((host) => rows[host])) : ''),
        thinWaitText: waits.hasWaits ? waits.sum(thinHosts.map((host) => rows[host])) : '',
        waitHead: waits.hasWaits ? `waits, ${waits.unit.name}` : '',
      },
      steps.number.map((_, step) =>
        maximum(
          hosts.name.map((__, host) => valueOf(host, step) ?? 0),
          0,
        ),
      ),
      ({ hosts: members }) => members.map((host) => `${rows[host].name}, ${summaryText(host)}`).join('; '),
    );
    heat.mark({ host: input.host, range: input.range });
    drawLegend(namedHosts, thinHosts, from, to);
  }

  /** @param {number[]} namedHosts @param {number[]} thinHosts @param {number} from µs @param {number} to */
  function drawLegend(namedHosts, thinHosts, from, to) {
    const { answer: { steps }, showsArrival } = input;
    const isThinLast = steps.last_host.some((host) => thinHosts.includes(host));
    const causes = showsArrival
      ? [
          ...new Set(
            steps.last_host.flatMap((host, step) => (namedHosts.includes(host) ? [steps.last_cause[step] ?? ''] : [])),
          ),
        ]
      : [];
    const scale = h('span', { class: 'tones', 'aria-hidden': 'true' });
    const ends = showsArrival
      ? ['0', `${timeText(to * PS_PER_US, to < 1000 ? 3 : to < 10_000 ? 1 : 0)} late`]
      : stepTimeEnds(from, to);
    const encoding = !showsArrival
      ? 'step time:'
      : !namedHosts.length
        ? 'tone:'
        : thinHosts.length
          ? 'bar height, or tone in thin rows:'
          : 'height:';
    fill(
      legendPlace,
      legend([
        ...causes.map((name) => [
          name === DEVICE ? chip('dev-coll') : name ? chip(`c-${name}`, `k-${name}`) : chip('dev'),
          `last, ${name ? classLabel(name) : 'no class takes longer'}`,
        ]),
        ...(showsArrival && namedHosts.length ? [[chip('dev-2'), 'not last']] : []),
        ...(showsArrival && isThinLast ? [[chip('dev'), namedHosts.length ? 'last, in a thin row' : 'last']] : []),
        [encoding, ` ${ends[0]} `, scale, ` ${ends[1]}`],
      ]),
    );
  }

  /** The table with one row per step. */
  function stepsTable() {
    const { answer: { steps, charges, state, late_us }, rows, range, host } = input;
    const isCompared = state === 'compared';
    const chargesByStep = groupBy([...charges.step.keys()], (/** @type {number} */ charge) => charges.step[charge]);
    const items = steps.number.map((_, step) => {
      const last = isCompared ? steps.last_host[step] : -1;
      const stepCharges = chargesByStep.get(step) ?? [];
      return {
        step,
        last,
        late: last < 0 ? null : (late_us[last]?.[step] ?? 0) * PS_PER_US,
        waits: total(stepCharges, (/** @type {number} */ charge) => charges.others_wait_us[charge]) * PS_PER_US,
        length: steps.step_us[step] * PS_PER_US,
      };
    });
    /** @typedef {typeof items[number]} Item */
    return sortableTable({
      label: 'Steps of all hosts',
      testid: 'heat-table',
      items,
      sort: 'step',
      select: ({ step }) => on.steps(step, step),
      open: ({ step }) => on.open(host, step),
      selected: ({ step }) => range?.[0] === step,
      columns: [
        countColumn('Step', 'step', { key: 'step', cell: ({ step }) => stepName(steps, step) }),
        timeColumn('Step, median', UNITS.ms, 'length'),
        ...(isCompared
          ? [
              {
                key: 'last',
                head: 'Last to arrive',
                value: (/** @type {Item} */ { last }) => last,
                cell: (/** @type {Item} */ { last, step }) =>
                  last < 0
                    ? 'no host'
                    : [
                        rows[last].name,
                        steps.is_last_host_late[step] ? '' : h('span', { class: 'muted' }, ' by chance'),
                      ],
              },
              timeColumn('Late', UNITS.ms, (/** @type {Item} */ { late }) => late),
              timeColumn(TABLES.hosts.others_wait_ps.head, UNITS.ms, (/** @type {Item} */ { waits }) => waits),
            ]
          : []),
      ],
    }).element;
  }

  function drawBody() {
    drawHeat();
    if (isTable) fill(body, h('div', { class: 'heat-table fill' }, stepsTable()));
    // An attached map is not replaced: it may have the focus.
    else if (heat.element.parentElement !== body) fill(body, heat.element, legendPlace);
  }

  function drawCard() {
    const { answer: { state, kind, steps }, showsArrival } = input;
    const measureButton = (/** @type {string} */ label, /** @type {boolean} */ isArrival) =>
      button(label, () => on.measure(isArrival), {
        'aria-pressed': String(isArrival === showsArrival),
        'data-testid': `heat-${label.replace(' ', '-')}`,
      });
    const toggle = button('Table', () => {
      isTable = !isTable;
      toggle.setAttribute('aria-pressed', String(isTable));
      drawBody();
    }, { class: 'small-button', 'aria-pressed': String(isTable), 'data-testid': 'heat-as-table' });
    const cardElement = card(
      state === 'compared' ? 'Who holds up the others' : 'Steps of all hosts',
      {
        note: showsArrival
          ? `arrival at the ${kind ?? 'collective'}, after the median host`
          : steps.number.every((number) => number === null)
            ? 'time of each step; steps are counted from 0 on each host'
            : 'time of each step',
        right: [
          toggle,
          state === 'compared' &&
            h(
              'span',
              { class: 'segments', role: 'group', 'aria-label': 'What is shown', 'data-testid': 'heat-measure' },
              measureButton('arrival', true),
              measureButton('step time', false),
            ),
        ],
        class: 'heat-card',
      },
      body,
    );
    cardElement.dataset.testid = 'hosts-heat';
    refill(element, cardElement);
  }

  return {
    element, cellTexts, show: heat.show, recolor: heat.recolor,
    /** @param {CardInput} next */
    draw(next) {
      const dataChanged = !input || input.answer !== next.answer || input.showsArrival !== next.showsArrival;
      // If only the selection changed, redrawing the marks is enough; a full redraw is slow for large pods.
      const onlyMarks = !dataChanged && !isTable && input.rows === next.rows;
      const focusedIndex =
        isTable && !dataChanged && body.contains(document.activeElement)
          ? document.activeElement?.closest('tr')?.dataset.index
          : undefined;
      input = next;
      if (onlyMarks) return heat.mark({ host: next.host, range: next.range });
      if (dataChanged) drawCard();
      drawBody();
      /** @type {HTMLElement|null} */ (body.querySelector(`tr[data-index="${focusedIndex}"]`))?.focus();
    },
  };
}
