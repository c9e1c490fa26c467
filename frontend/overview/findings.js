/** What is wrong, worst first: evidence, advice, and where to see it. */

import { h } from '../lib/dom.js';
import { card, gapPlace, windowPlace } from '../lib/cards.js';
import { plural, share, timeText } from '../lib/format.js';

/** @typedef {import('../lib/views').Finding} Finding */
/** @typedef {import('../frame/app.js').App} App */

/** Where the rest of a finding's evidence is. @type {Record<string, {view: string, label: string}>} */
const MORE = {
  input_bound: { view: 'gaps', label: 'Gaps' }, recompilation: { view: 'compiles', label: 'Compiles' }, early_sync: { view: 'gaps', label: 'Gaps' },
  tracing_bound: { view: 'gaps', label: 'Gaps' }, sync_every_step: { view: 'gaps', label: 'Gaps' }, cpu_fallback: { view: 'gaps', label: 'Gaps' },
  many_small_executions: { view: 'executions', label: 'Executions' }, dispatch_overhead: { view: 'executions', label: 'Executions' },
  transfer_bound: { view: 'executions', label: 'Executions' }, graph_breaks: { view: 'executions', label: 'Executions' },
  annotations_not_propagated: { view: 'propagation', label: 'Propagation' },
};
/** Findings about what runs: their windows are no gaps. */
const RUNNING = new Set(['device_stalls', 'exposed_collectives', 'device_bound']);
const RANK = { critical: 0, warning: 1, info: 2 };

/** By severity, then by cost. @param {Finding[]} findings */
export const inOrder = (findings) => [...findings].sort((a, b) => RANK[a.severity] - RANK[b.severity] || (b.cost_ps ?? 0) - (a.cost_ps ?? 0));

/** @param {import('../lib/views').Overview} answer @param {App} app */
export function findingsCard({ findings, devices }, app) {
  const all = inOrder(findings);
  const counts = /** @type {const} */ (['critical', 'warning', 'info']).map((severity) => {
    const number = all.filter((finding) => finding.severity === severity).length;
    return !number ? '' : severity === 'warning' ? plural(number, 'warning') : `${number}\u00a0${severity}`;
  }).filter(Boolean).join(' · ');
  const linked = /^fin:(.+)$/.exec(app.link.state.sel ?? '')?.[1];
  const span = devices.reduce((sum, device) => sum + device.span_ps, 0);
  const busy = devices.reduce((sum, device) => sum + device.busy_ps, 0);
  const nothing = span ? `No findings. The device is the bottleneck: ${share(busy / span)} busy.` : 'No findings.';
  return card('Findings', { note: counts ? `${counts}, by idle time` : null, class: 'findings' },
    all.length ? h('ol', { 'data-testid': 'findings', class: 'fill' }, all.map((finding) => entry(finding, app, finding.id === linked)))
      : h('p', { 'data-testid': 'findings' }, nothing));
}

/** @param {Finding} finding @param {App} app @param {boolean} linked */
function entry(finding, app, linked) {
  const { id, severity, title, detail, advice, cost_ps, step_if_fixed_ps, windows } = finding;
  const more = MORE[id];
  const offered = more && app.offers(more.view);
  const element = h('li', { 'data-testid': `finding-${id}`, 'aria-current': linked ? 'true' : null },
    h('span', null, h('span', { class: `tag ${severity}` }, severity)), h('h3', null, title),
    h('span', { class: 'cost num', 'data-ps': cost_ps, title: 'Idle time that it explains' }, cost_ps ? timeText(cost_ps, 1) : '–'),
    h('p', null, detail.includes(advice) ? detail : `${detail} ${advice}`,
      step_if_fixed_ps ? h('span', { class: 'muted' }, ` Mean step without it: at best ${timeText(step_if_fixed_ps, 1)}.`) : null),
    windows.length || offered ? h('div', { class: 'row' }, windows.length ? showOf(finding, app) : null,
      offered ? h('button', { type: 'button', class: 'small-button', onclick: () => app.open({ v: more.view, sel: '', f: '' }) }, more.label) : null) : null);
  if (linked) requestAnimationFrame(() => element.scrollIntoView({ block: 'nearest' }));
  return element;
}

/** The first place; with several, Back and a second click lead to the next one. @param {Finding} finding @param {App} app */
function showOf({ id, windows }, app) {
  let at = 0;
  const label = () => (windows.length > 1 ? `Show ${at + 1} of ${windows.length}` : 'Show');
  const show = h('button', { type: 'button', class: 'small-button', 'data-testid': 'finding-show', onclick: () => {
    const { device, start_ps, end_ps } = windows[at];
    at = (at + 1) % windows.length;
    show.textContent = label();
    app.open(device && !RUNNING.has(id) ? gapPlace({ device, start_ps, duration_ps: end_ps - start_ps }) : windowPlace(start_ps, end_ps));
  } }, label());
  return show;
}
