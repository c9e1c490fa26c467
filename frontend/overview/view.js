/** Overview: one sentence, four figures, and behind them findings, idle time by cause, duty cycle, steps, and what feeds the devices. */

import { h, fill } from '../lib/dom.js';
import { loadOnce } from '../frame/once.js';
import { cores } from '../lib/cards.js';
import { dutyRows, idleRows } from './devices.js';
import { dutyCard } from './duty.js';
import { idleCard } from './idle.js';
import { findingsCard } from './findings.js';
import { createSteps } from './steps.js';
import { dataCards } from './data.js';

/** @typedef {import('../lib/views').Overview} Overview */

/** Of a text's letters, in digits' widths, what a line must hold for the text to fill two. */
const TWO_LINES = 0.46;

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function overviewView(app) {
  const element = h('div', { class: 'cards overview' });
  /** @type {Overview} */
  let answer;
  /** @type {import('../lib/types').Ready} */
  let session;
  /** @type {import('../lib/views').DutyDevice[]} */
  let devices = [];
  /** @type {import('../lib/views').DeviceTime[]} */
  let idle = [];
  const steps = createSteps(app);

  function draw() {
    const some = app.among(devices).length < devices.length;
    const note = some ? `All but duty cycle and idle time by cause is of all ${cores(devices.length)}.` : '';
    fill(element, verdict(answer, session.session.description, note), findingsCard(answer, app), idleCard(devices, idle, answer.step_idle.steps, session, app), devices.length === 1 ? null : dutyCard(devices, session, app),
      steps.element, dataCards(answer, devices.length, app));
    steps.open(answer, session);
  }

  const data = loadOnce(app, 'overview', element, (/** @type {Overview} */ next, own) => {
    answer = next;
    session = own;
    devices = dutyRows(next.devices);
    idle = idleRows(next.devices);
    app.counts(next.counts);
    draw();
    return 'ready';
  });

  /** @type {(() => void)|null} */
  let removeKeys = null;
  return {
    element, open: data.open, filter: data.known(draw), move: steps.select,
    show(on) {
      data.show(on);
      removeKeys?.();
      removeKeys = on ? app.keys.add(steps.keys) : null;
    },
  };
}

/** @param {Overview} answer @param {string|null} description of the session @param {string} note what they do not follow */
function verdict({ verdict: { text, severity }, figures }, description, note) {
  const notes = [note, ...new Set(figures.map((figure) => figure.note))].filter(Boolean).join(' ');
  return h('div', { class: 'verdict', 'data-testid': 'verdict' },
    h('p', { style: { 'flex-basis': `${text.length * TWO_LINES}ch` } }, ['critical', 'warning'].includes(severity) && h('span', { class: 'hidden' }, `${severity}: `), text, notes && h('span', { class: 'small muted', 'data-testid': 'verdict-note' }, ` ${notes}`)),
    h('dl', { class: 'figures' }, figures.map((figure) => h('div', { 'data-testid': `kpi-${figure.name}` },
      h('dd', { 'data-ps': figure.name === 'duty' ? null : figure.value }, figure.text),
      h('dt', null, figure.meaning)))),
    description && h('div', { class: 'description', 'data-testid': 'description' }, description));
}
