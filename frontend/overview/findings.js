/** What is wrong, worst first: evidence, advice, and where to see it. */

import { button, h } from '../lib/dom.js';
import { total } from '../lib/items.js';
import { card, gapPlace, severityRank, severityTag, windowPlace } from '../lib/cards.js';
import { plural, share, timeText } from '../lib/format.js';

/** @typedef {import('../lib/views').Finding} Finding */
/** @typedef {import('../frame/app.js').App} App */

/** Where the rest of a finding's evidence is: in Gaps, where nothing else is said. @type {Record<string, string>} */
const MORE = {
  recompilation: 'Compiles', many_small_executions: 'Executions', dispatch_overhead: 'Executions', transfer_bound: 'Executions', graph_breaks: 'Executions',
  annotations_not_propagated: 'Propagation', device_stalls: '', exposed_collectives: '', device_bound: '',
};

/** By severity, then by cost. @param {Finding[]} findings */
export const inOrder = (findings) => [...findings].sort((a, b) => severityRank(a.severity) - severityRank(b.severity) || (b.cost_ps ?? 0) - (a.cost_ps ?? 0));

/**
 * Link state of a place of a finding: a gap, a window, or an annotation in Propagation, in its step.
 * @param {Finding} finding @param {import('../lib/views').StepColumns} steps
 */
export function findingPlace({ id, windows }, { start_ps, duration_ps, number }, at = 0) {
  const { device, start_ps: from, end_ps } = windows[at];
  const place = windowPlace(from, end_ps);
  if (MORE[id] === 'Propagation') {
    const step = start_ps.findIndex((start, index) => start <= from && from < start + duration_ps[index]);
    return { v: 'propagation', sel: place.sel, st: step < 0 ? '' : String(number[step] ?? step) };
  }
  // What runs is no gap.
  return device && MORE[id] !== '' ? gapPlace({ device, start_ps: from, duration_ps: end_ps - from }) : place;
}

/** @param {import('../lib/views').Overview} answer @param {App} app */
export function findingsCard(answer, app) {
  const { findings, devices } = answer;
  const all = inOrder(findings);
  const counts = /** @type {const} */ (['critical', 'warning', 'info']).map((severity) => {
    const number = all.filter((finding) => finding.severity === severity).length;
    return number ? severity === 'warning' ? plural(number, severity) : `${number}\u00a0${severity}` : '';
  }).filter(Boolean).join(' · ');
  const linked = /^fin:(.+)$/.exec(app.link.state.sel ?? '')?.[1];
  const span = total(devices, 'span_ps');
  const nothing = `No findings.${span ? ` The devices are ${share(total(devices, 'busy_ps') / span)} busy.` : ''}`;
  return card('Findings', { note: counts ? `${counts}, by severity, then cost` : null, class: 'findings' },
    all.length ? h('ol', { 'data-testid': 'findings', class: 'fill' }, all.map((finding) => entry(finding, answer, app, finding.id === linked)))
      : h('p', { 'data-testid': 'findings' }, nothing));
}

/** @param {Finding} finding @param {import('../lib/views').Overview} answer @param {App} app @param {boolean} linked */
function entry(finding, { steps }, app, linked) {
  const { id, severity, title, detail, advice, cost_ps, step_if_fixed_ps, step_ps, windows } = finding;
  const [step, now] = [step_if_fixed_ps, step_ps].map((ps) => timeText(ps ?? 0, 1));
  const label = MORE[id] ?? 'Gaps';
  const element = h('li', { 'data-testid': `finding-${id}`, 'aria-current': linked ? 'true' : null },
    h('span', null, severityTag(severity)), h('h3', null, title),
    h('span', { class: 'cost num', 'data-ps': cost_ps, title: 'Idle time that it explains, or busy time in which devices only wait or exchange data' }, cost_ps ? timeText(cost_ps, 1) : '–'),
    h('p', null, detail.includes(advice) ? detail : `${detail} ${advice}`,
      step_if_fixed_ps ? h('span', { class: 'muted' }, step === now ? ' Without it the mean step is as long.' : ` Mean step without it: at best ${step} instead of ${now}.`) : null),
    h('div', { class: 'row' }, windows.length ? showOf(finding, steps.columns, app) : null,
      label && button(label, () => app.open({ v: label.toLowerCase(), sel: '', f: '' }), { class: 'small-button' })));
  if (linked) requestAnimationFrame(() => element.scrollIntoView({ block: 'nearest' }));
  return element;
}

/** The first place; with several, Back and a second click lead to the next one. @param {Finding} finding @param {import('../lib/views').StepColumns} steps @param {App} app */
function showOf(finding, steps, app) {
  const { windows } = finding;
  let at = 0;
  const label = () => (windows.length > 1 ? `Show ${at + 1} of ${windows.length}` : 'Show');
  const show = button(label(), () => {
    const place = findingPlace(finding, steps, at);
    at = (at + 1) % windows.length;
    show.textContent = label();
    app.open(place);
  }, { class: 'small-button', 'data-testid': 'finding-show' });
  return show;
}
