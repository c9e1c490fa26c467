/** The verdict on stragglers and three figures, of all steps or of a range. */

import { button, emphasised, h } from '../lib/dom.js';
import { LABELS } from '../lib/classes.js';
import { count, headlineTime, MISSING, plural } from '../lib/format.js';
import { maximum, minimum } from '../lib/totals.js';
import { DEVICE, stepName, stepsIn } from './rows.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('../lib/routes').HostsInSteps} HostsInSteps */
/** @typedef {import('./types').StepRange} StepRange */

/** `IR tracing`, `compute` @param {string} name of a class */
export const classLabel = (name) =>
  name === DEVICE ? 'compute' : (LABELS[/** @type {import('../lib/routes').ClassName} */ (name)] ?? name);

/** `step 1208`, `steps 1208 – 1215` @param {HostsAnswer['steps']} steps @param {StepRange} range */
export const rangeName = (steps, [from, to]) =>
  from === to ? `step ${stepName(steps, from)}` : `steps ${stepName(steps, from)} – ${stepName(steps, to)}`;

/**
 * @param {HostsAnswer} document
 * @param {StepRange|null} range
 * @param {HostsAnswer|HostsInSteps} words on the range, or on all steps
 * @param {(() => void)|null} capture opens the capture dialog
 */
export function verdictBlock(document, range, words, capture) {
  const { verdict, host_counts, hosts } = document;
  const isCompared = document.state === 'compared';
  const isPartial = host_counts.hosts_read < host_counts.hosts_total;
  const { step_ps, waits_ps, step_if_fixed_ps } = words.figures;
  const isOneHost = document.state === 'one_host';
  const hasWaits = isCompared || (isOneHost && verdict.kind !== 'unknown');
  /** @param {string} name @param {number|null} ps @param {string} meaning @param {boolean} [isSum] */
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
        emphasised(('text' in words && words.text) || verdict.text),
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
        figure('fixed', step_if_fixed_ps, `mean step at best, ${verdict.best_case}`),
    ),
  );
}
