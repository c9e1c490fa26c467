/** Overview: one sentence, four figures, and behind them duty cycle, idle time by cause, steps and findings. */

import { h, fill } from '../lib/dom.js';
import { loadOnce } from '../frame/once.js';
import { count, headline, share } from '../lib/format.js';
import { dutyCard } from './duty.js';
import { idleCard } from './idle.js';
import { findingsCard } from './findings.js';
import { createSteps } from './steps.js';

/** @typedef {import('../lib/views').Overview} Overview */

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function create(app) {
  const element = h('div', { class: 'cards overview' });
  /** @type {Overview|null} */
  let answer = null;
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  const steps = createSteps(app);

  function draw() {
    if (!answer || !session) return;
    fill(element, verdict(answer), dutyCard(answer.devices, session, app), idleCard(answer, app),
      findingsCard(answer, app), steps.element);
    steps.open(answer.steps);
  }

  const data = loadOnce(app, 'overview', element, (/** @type {Overview} */ next, own) => {
    answer = next;
    session = own;
    draw();
    return 'ready';
  });

  /** @type {(() => void)|null} */
  let removeKeys = null;
  return {
    element, open: data.open, filter: draw, move: () => steps.select(), recolor() {},
    show(on) {
      data.show(on);
      removeKeys?.();
      removeKeys = on ? app.keys.add(steps.keys) : null;
    },
  };
}

/** @param {Overview} answer */
function verdict({ verdict: { text, severity }, figures }) {
  return h('div', { class: 'verdict', 'data-testid': 'verdict' },
    h('p', null, severity === 'critical' || severity === 'warning' ? h('span', { class: 'hidden' }, `${severity}: `) : null, text),
    h('dl', { class: 'figures' }, figures.map((figure) => h('div', { 'data-testid': `kpi-${figure.name}` },
      h('dd', { 'data-ps': figure.unit === 'ps' ? figure.value : null }, figureText(figure)),
      h('dt', { title: figure.note }, figure.label)))));
}

/** @param {Overview['figures'][number]} figure */
function figureText({ value, unit }) {
  if (value == null) return '–';
  return unit === 'share' ? share(value) : unit === 'ps' ? headline(value) : count(value);
}
