/** The verdict on stragglers and three figures: the server's for all steps, computed here for a range of steps. */

import { button, emphasised, h } from '../lib/dom.js';
import { LABELS } from '../lib/classes.js';
import { briefTime, briefTimes, count, headlineTime, MISSING, plural, share } from '../lib/format.js';
import { maximum, minimum, total } from '../lib/totals.js';
import { DEVICE, PS_PER_US, longestClass, meanOf, stepName, stepUs, stepsIn } from './rows.js';

/** @typedef {import('../lib/dom.js').Child} Child */
/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').StepRange} StepRange */

/** `IR tracing`, `compute` @param {string} name of a class */
export const classLabel = (name) =>
  name === DEVICE ? 'compute' : (LABELS[/** @type {import('../lib/routes').ClassName} */ (name)] ?? name);

/** `step 1208`, `steps 1208 – 1215` @param {HostsAnswer['steps']} steps @param {StepRange} range */
export const rangeName = (steps, [from, to]) =>
  from === to ? `step ${stepName(steps, from)}` : `steps ${stepName(steps, from)} – ${stepName(steps, to)}`;

/**
 * The verdict on a range of steps in parts, like the server's: of the late hosts that are last in some of them, names
 * the one that others wait for longest.
 * @param {HostsAnswer} document
 * @param {HostRow[]} rows
 * @param {StepRange} range
 */
export function rangeVerdict(document, rows, range) {
  const { steps, median_host, step_class_us, classes, kind } = document;
  const rangeText = rangeName(steps, range);
  const collectives = `the ${kind ?? 'collective'}s`;
  const clearlyLast = new Set(
    stepsIn(range, 0).filter((step) => steps.is_last_host_late[step]).map((step) => steps.last_host[step]),
  );
  const [latest] = rows
    .filter(({ index }) => clearlyLast.has(index))
    .sort((a, b) => (b.others_wait_us ?? 0) - (a.others_wait_us ?? 0));
  if (!rows.some(({ last_count }) => last_count)) return [`No collective was compared in ${rangeText}.`];
  if (!latest) {
    const shares = rows.map((row) => row.share ?? 0);
    return [
      `No host stands out in ${rangeText}: each is last in ${share(minimum(shares))} – ` +
        `${share(maximum(shares))} of ${collectives}.`,
    ];
  }
  const [times, medianTimes] = [step_class_us[latest.index], step_class_us[median_host ?? -1]].map(
    (stepTimes) => stepTimes && meanOf(stepTimes, range),
  );
  const cause = longestClass(classes, times ?? null, medianTimes ?? null);
  const causeIndex = cause ? classes.indexOf(cause) : -1;
  const [causeText, medianText] =
    times && medianTimes ? briefTimes(times[causeIndex] * PS_PER_US, medianTimes[causeIndex] * PS_PER_US) : [];
  const reason =
    cause && causeText
      ? `: ${classLabel(cause)} takes ${causeText}, ${medianText} on ${rows[median_host ?? 0].name}`
      : '';
  const waits_ps = (latest.others_wait_us ?? 0) * PS_PER_US;
  const others = rows.filter((row) => row !== latest);
  const meanWait_ps = waits_ps / Math.max(1, total(others, 'steps'));
  const waits = others.length === 1 ? `${others[0].name} waits` : 'The others wait';
  return [
    `In ${rangeText} `,
    latest.name,
    ' arrives last in ',
    share(latest.share),
    ` of ${collectives}${reason}. ${waits} ${briefTime(waits_ps)} for it, ${briefTime(meanWait_ps)}` +
      `${others.length === 1 ? '' : ' each'} in a step.`,
  ];
}

/**
 * Figures of a range of steps, in ps: the mean step, and how long a host waits for others in it. The mean step at best
 * is unknown.
 * @param {HostsAnswer} document
 * @param {HostRow[]} rows
 * @param {StepRange} range
 */
export function rangeFigures(document, rows, range) {
  const times = rows.flatMap(({ index }) => stepsIn(range, 0).flatMap((step) => stepUs(document, index, step) ?? []));
  const comparedSteps = total(rows.filter(({ index }) => document.hosts.waits_us[index] !== null), 'steps');
  const waits_ps = comparedSteps ? (total(rows, 'others_wait_us') / comparedSteps) * PS_PER_US : null;
  return {
    step_ps: times.length ? (total(times, Number) / times.length) * PS_PER_US : null,
    waits_ps,
    step_if_fixed_ps: null,
  };
}

/**
 * The condition of the mean step at best.
 * @param {string|null} core the verdict's `core` @param {HostRow[]} late
 * @returns {Child[]}
 */
export function bestCase(core, late) {
  if (!core && !late.length) return ['no host is late'];
  if (late.length > 1) return [`if ${late.length} hosts were like the rest`];
  const name = core ? (core.split('/').at(-1) ?? core) : h('span', { class: 'host-name' }, late[0].short);
  return ['if ', name, ' were like the rest'];
}

/**
 * @param {HostsAnswer} document
 * @param {HostRow[]} rows
 * @param {StepRange|null} range
 * @param {(() => void)|null} capture opens the capture dialog
 */
export function verdictBlock(document, rows, range, capture) {
  const { verdict, host_counts, hosts, figures } = document;
  const isCompared = document.state === 'compared';
  const isPartial = host_counts.hosts_read < host_counts.hosts_total;
  const text = range && isCompared ? rangeVerdict(document, rows, range) : verdict.text;
  const { step_ps, waits_ps, step_if_fixed_ps } = range ? rangeFigures(document, rows, range) : figures;
  const late = verdict.hosts.map((index) => rows[index]);
  const isOneHost = document.state === 'one_host';
  const hasWaits = isCompared || (isOneHost && verdict.kind !== 'unknown');
  /** @param {string} name @param {number|null} ps @param {Child|Child[]} meaning @param {boolean} [isSum] */
  const figure = (name, ps, meaning, isSum) =>
    h(
      'div',
      { 'data-testid': `kpi-${name}` },
      h(
        'dd',
        { 'data-ps': ps === null ? null : Math.round(ps) },
        isSum && isPartial && ps ? '≥\u202f' : '',
        ps === null ? MISSING : headlineTime(ps),
      ),
      h('dt', null, meaning),
    );
  const stepCounts = range ? [stepsIn(range, 0).length] : hosts.steps.filter(Boolean);
  const stepsText =
    new Set(stepCounts).size > 1
      ? `${count(minimum(stepCounts))} – ${count(maximum(stepCounts))} steps`
      : plural(stepCounts[0] ?? 0, 'step');
  return h(
    'section',
    { class: 'verdict', 'aria-label': 'Verdict' },
    h(
      'div',
      { 'data-testid': 'hosts-verdict', class: isPartial ? 'secondary' : '' },
      h(
        'p',
        null,
        ['critical', 'warning'].includes(verdict.severity) &&
          !range &&
          h('span', { class: 'visually-hidden' }, `${verdict.severity}: `),
        emphasised(text),
      ),
      isOneHost && !isPartial && capture && h('p', null, button('Capture…', capture)),
      isPartial &&
        h(
          'p',
          { class: 'small muted', role: 'status' },
          `${count(host_counts.hosts_read)} of ${count(host_counts.hosts_total)} hosts ` +
          `read${document.partial ? '; the slowest may be among the rest' : ''}.`,
        ),
    ),
    h(
      'dl',
      { class: 'figures' },
      figure('step', step_ps, `mean step, ${stepsText}`),
      hasWaits &&
        figure(
          'waits',
          waits_ps,
          `of it waits for other ${isOneHost ? 'cores, per step and core' : 'hosts, per step and host'}`,
          true,
        ),
      hasWaits &&
        !range &&
        !isPartial &&
        (!isOneHost || verdict.core) &&
        figure('fixed', step_if_fixed_ps, ['mean step at best, ', ...bestCase(verdict.core, late)]),
    ),
  );
}
