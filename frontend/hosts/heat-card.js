/** The heat map's card: the map's data, its legend, and the same values as a table. */

import { button, fill, h, refill } from '../lib/dom.js';
import { card } from '../lib/cards.js';
import { chip, legend } from '../lib/classes.js';
import { count, digits, plural, timeText, UNITS } from '../lib/format.js';
import { groupBy, maximum, total } from '../lib/totals.js';
import { TABLES } from '../lib/table-definitions.js';
import { countColumn, sortableTable, timeColumn } from '../lib/table.js';
import { DEVICE, longestClass, stepName, stepUs } from './rows.js';
import { createHeat } from './heat.js';
import { heatRows, percentile } from './layout.js';
import { waitTexts } from './table.js';
import { classLabel, US } from './verdict.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').StepRange} StepRange */
/**
 * The card's input.
 * @typedef {object} Shown
 * @property {HostsAnswer} answer
 * @property {HostRow[]} rows computed from the steps that the table and the verdict cover
 * @property {number} host
 * @property {StepRange|null} range
 * @property {boolean} wide whether the range applies to all hosts
 * @property {boolean} arrival whether cells show arrival; otherwise step time
 */

/** Minimum length of the arrival scale, as a share of a step: smaller delays are insignificant. */
const MIN_SCALE_SHARE = 0.01;

/**
 * @param {object} on
 * @param {(host: number, step: number) => void} on.cell
 * @param {(host: number) => void} on.host
 * @param {(from: number, to: number) => void} on.steps
 * @param {(host: number, step: number) => void} on.open @param {(arrival: boolean) => void} on.measure
 * @param {(host: number) => (number[]|null)[]|null} on.classes a host's time by class in each step, µs; null until
 *   it is loaded
 */
export function createHeatCard(on) {
  const heat = createHeat({ ...on, words: (host, step) => wordsOf(host, step) });
  const body = h('div', { class: 'fill' });
  const below = h('div', null);
  const place = h('div', { class: 'fill' });
  /** @type {Shown} */
  let shown;
  let listed = false;

  /** Lateness or step time, µs; null if unknown. @param {number} host @param {number} step */
  function valueOf(host, step) {
    if (!shown.arrival) return stepUs(shown.answer, host, step);
    const late = shown.answer.late_us[host]?.[step] ?? -1;
    return late < 0 ? null : late;
  }

  /** The class that most exceeds the median host's in a step. @param {number} host @param {number} step */
  const causeOf = (host, step) =>
    longestClass(shown.answer.classes, on.classes(host)?.[step], on.classes(shown.answer.median_host ?? -1)?.[step]);

  /** Describes a cell; the first text names host and step. @param {number} host @param {number} step */
  function wordsOf(host, step) {
    const { answer, rows } = shown;
    const [late, length] = [answer.late_us[host]?.[step] ?? -1, stepUs(answer, host, step)];
    const last = answer.state === 'compared' && answer.steps.last_host[step] === host;
    const cause = last ? causeOf(host, step) : null;
    return [
      `${rows[host].name}, step ${stepName(answer.steps, step)}`,
      late < 0 ? '' : late ? `${timeText(late * US)} late` : 'not late',
      last ? 'last to arrive' : '',
      cause ? `${classLabel(cause)} takes longest against the median host` : '',
      length === null ? 'no such step' : `step ${timeText(length * US)}`,
    ].filter(Boolean);
  }

  /** The ends of the colour scale, µs. */
  function scaleEnds() {
    const { answer: { steps, hosts, figures }, arrival } = shown;
    if (arrival) {
      const values = steps.last_host.flatMap((host, step) => (host >= 0 ? valueOf(host, step) ?? 0 : []));
      return { from: 0, to: Math.max(percentile(values), (MIN_SCALE_SHARE * (figures.step_ps ?? 0)) / US) };
    }
    const values = hosts.name.flatMap((_, host) => steps.number.flatMap((__, step) => valueOf(host, step) ?? []));
    return { from: percentile(values, 0.05), to: percentile(values) };
  }

  function drawHeat() {
    const { answer: { hosts, order, steps, verdict }, rows, wide, arrival } = shown;
    const named = order.filter((host) => hosts.has_own_row[host]);
    const thin = order.filter((host) => !hosts.has_own_row[host]);
    const { from, to } = scaleEnds();
    const layout = heatRows(named, thin);
    const waits = waitTexts(rows);
    const stepCount = wide && shown.range ? shown.range[1] - shown.range[0] + 1 : steps.number.length;
    const lastOf = (/** @type {number} */ host) => `last in ${count(rows[host].last_steps)} of ${count(stepCount)}`;
    const stepOf = (/** @type {number} */ host) =>
      rows[host].step_us === null ? '' : `median ${timeText((rows[host].step_us ?? 0) * US, 1)}`;
    const lastTogether = total(thin, (/** @type {number} */ host) => rows[host].last_steps);
    const latest = maximum(thin.map((host) => hosts.late_us[host] ?? 0), 0);
    const summaryOf = (/** @type {number} */ host) => {
      if (!arrival) return stepOf(host);
      return `${lastOf(host)} steps, the others wait ${waits.sum([rows[host]])}\u202f${waits.unit.name}`;
    };
    heat.set(
      {
        ...layout,
        from,
        to,
        arrival,
        value: valueOf,
        cause: causeOf,
        clear: steps.is_last_host_late,
        blamed: verdict.hosts,
        last: arrival ? steps.last_host : steps.last_host.map(() => -1),
        step: (step) => stepName(steps, step),
        number: (host) => (Number.isNaN(rows[host].number) ? rows[host].short : String(rows[host].number)),
        words: (host) => [rows[host].name, arrival ? `${lastOf(host)} steps` : stepOf(host)],
        thinNotes: [
          plural(thin.length, named.length ? 'other host' : 'host'),
          ...(arrival && lastTogether
            ? [
                `last in ${count(lastTogether)} of ${count(stepCount)} steps`,
                latest ? `≤\u202f${timeText(latest * US, 1)} late` : '',
              ]
            : []),
          layout.hostsPerRow > 1 ? `each row ${layout.hostsPerRow} hosts` : '',
        ].filter(Boolean),
        waits: ({ hosts: members }) => (waits.hasWaits ? waits.sum(members.map((host) => rows[host])) : ''),
        thinWaits: waits.hasWaits ? waits.sum(thin.map((host) => rows[host])) : '',
        waitsHead: waits.hasWaits ? `waits, ${waits.unit.name}` : '',
      },
      steps.number.map((_, step) =>
        maximum(
          hosts.name.map((__, host) => valueOf(host, step) ?? 0),
          0,
        ),
      ),
      ({ hosts: places }) => places.map((host) => `${rows[host].name}, ${summaryOf(host)}`).join('; '),
    );
    heat.mark({ host: shown.host, range: shown.range });
    drawLegend(named, thin, from, to);
  }

  /** @param {number[]} named @param {number[]} thin @param {number} from µs @param {number} to */
  function drawLegend(named, thin, from, to) {
    const { answer: { steps }, arrival } = shown;
    const lastThin = steps.last_host.some((host) => thin.includes(host));
    const causes = arrival
      ? [...new Set(steps.last_host.flatMap((host, step) => (named.includes(host) ? [causeOf(host, step) ?? ''] : [])))]
      : [];
    const scale = h('span', { class: 'tones', 'aria-hidden': 'true' });
    const ends = arrival
      ? ['0', `${timeText(to * US, to < 1000 ? 3 : to < 10_000 ? 1 : 0)} late`]
      : [digits(from / 1000, 1), `${digits(to / 1000, 1)}\u202fms`];
    const encoding = !arrival
      ? 'step time:'
      : !named.length
        ? 'tone:'
        : thin.length
          ? 'bar height, or tone in thin rows:'
          : 'height:';
    fill(
      below,
      legend([
        ...causes.map((name) => [
          name === DEVICE ? chip('dev-coll') : name ? chip(`c-${name}`, `k-${name}`) : chip('dev'),
          `last, ${name ? classLabel(name) : 'no class takes longer'}`,
        ]),
        ...(arrival && named.length ? [[chip('dev-2'), 'not last']] : []),
        ...(arrival && lastThin ? [[chip('dev'), named.length ? 'last, in a thin row' : 'last']] : []),
        [encoding, ` ${ends[0]} `, scale, ` ${ends[1]}`],
      ]),
    );
  }

  /** The table with one row per step. */
  function stepsTable() {
    const { answer: { steps, charges, state, late_us }, rows, range, host } = shown;
    const isCompared = state === 'compared';
    const charged = groupBy([...charges.step.keys()], (/** @type {number} */ at) => charges.step[at]);
    const items = steps.number.map((_, step) => {
      const last = isCompared ? steps.last_host[step] : -1;
      const places = charged.get(step) ?? [];
      return {
        step,
        last,
        late: last < 0 ? null : (late_us[last]?.[step] ?? 0) * US,
        waits: total(places, (/** @type {number} */ at) => charges.others_wait_us[at]) * US,
        length: steps.step_us[step] * US,
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
                    ? 'nobody'
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
    if (listed) fill(body, h('div', { class: 'heat-table fill' }, stepsTable()));
    // An attached map is not replaced: it may have the focus.
    else if (heat.element.parentElement !== body) fill(body, heat.element, below);
  }

  function drawCard() {
    const { answer: { state, kind, steps }, arrival } = shown;
    const measures = ['arrival', 'step time'].map((label, index) =>
      button(label, () => on.measure(!index), {
        'aria-pressed': String(!index === arrival),
        'data-testid': index ? 'heat-step-time' : 'heat-arrival',
      }),
    );
    const toggle = button('Table', () => {
      listed = !listed;
      toggle.setAttribute('aria-pressed', String(listed));
      drawBody();
    }, { class: 'small-button', 'aria-pressed': String(listed), 'data-testid': 'heat-as-table' });
    const whole = card(
      state === 'compared' ? 'Who holds up the others' : 'Steps of all hosts',
      {
        note: arrival
          ? `arrival at the ${kind ?? 'collective'}, after the median host`
          : steps.number.every((number) => number === null)
            ? 'time of each step, counted from 0 on each host'
            : 'time of each step',
        right: [
          toggle,
          state === 'compared' &&
            h(
              'span',
              { class: 'segments', role: 'group', 'aria-label': 'What is shown', 'data-testid': 'heat-measure' },
              measures,
            ),
        ],
        class: 'heat-card',
      },
      body,
    );
    whole.dataset.testid = 'hosts-heat';
    refill(place, whole);
  }

  return {
    element: place, words: wordsOf, show: heat.show, recolor: heat.recolor,
    /** @param {Shown} next */
    draw(next) {
      const dataChanged = !shown || shown.answer !== next.answer || shown.arrival !== next.arrival;
      // If only the selection changed, redrawing the marks is enough; a full redraw is slow for large pods.
      const onlyMarks = !dataChanged && !listed && shown.rows === next.rows;
      const focusedIndex =
        listed && !dataChanged && body.contains(document.activeElement)
          ? document.activeElement?.closest('tr')?.dataset.index
          : undefined;
      shown = next;
      if (onlyMarks) return heat.mark({ host: next.host, range: next.range });
      if (dataChanged) drawCard();
      drawBody();
      /** @type {HTMLElement|null} */ (body.querySelector(`tr[data-index="${focusedIndex}"]`))?.focus();
    },
  };
}
