/** The Overview: verdict, one step, findings, idle time by cause, duty cycle, steps, input, transfers, collectives. */

import { h, fill } from '../lib/dom.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote, staleText } from '../frame/stale-note.js';
import { coreCountText, link, windowLinkState } from '../lib/cards.js';
import { dutyRows, idleRows } from './devices.js';
import { dutyCard, dutyLine } from './duty.js';
import { idleCard } from './idle.js';
import { findingsCard, markLinked } from './findings.js';
import { neededCard } from './needed.js';
import { oneStepCard } from './one-step.js';
import { createSteps } from './steps.js';
import { dataCards } from './data.js';

/** @typedef {import('../lib/routes').Overview} Overview */
/** @typedef {import('../frame/app.js').App} App */

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
  const noteStale = createStaleNote(app, 'overview', 'finding');

  function draw() {
    const selected = app.selectedDevices(devices);
    const isSubset = selected.length < devices.length;
    // Devices that agree are one line.
    const line = answer.devices_agree && selected.length ? dutyLine(selected, devices.length, session, app) : null;
    const note = isSubset
      ? `Everything except the duty cycle and idle time by cause covers all ${coreCountText(devices.length)}.`
      : '';
    fill(
      element,
      verdictSection(answer, session.session.description, note, app),
      oneStepCard(answer, app),
      findingsCard(answer, app),
      (answer.partial ? null : neededCard(answer, line, app)) ?? idleCard(devices, idle, answer, line, app),
      answer.devices_agree ? null : dutyCard(devices, session, app),
      steps.element,
      dataCards(answer, devices.length, app),
    );
    steps.open(answer, session);
    markLinked(element, app);
    noteStaleFinding();
  }

  function noteStaleFinding() {
    const [, finding] = /^fin:(.+)$/.exec(app.link.state.sel ?? '') ?? [];
    noteStale(finding && !answer.partial && !answer.findings.some(({ id }) => id === finding) && staleText('finding'));
  }

  const data = createDocumentView(app, 'overview', element, (next, nextSession) => {
    answer = next;
    session = nextSession;
    devices = dutyRows(next.devices);
    idle = idleRows(next.devices);
    app.setCounts(next.counts);
    draw();
    return 'ready';
  });

  const followLink = data.whenDrawn(() => {
    steps.showLinked();
    noteStaleFinding();
  });
  /** @type {(() => void)|null} */
  let removeKeys = null;
  return {
    element, followLink, open: data.open, filter: data.whenDrawn(draw),
    show(on) {
      data.show(on);
      if (on) {
        markLinked(element, app);
        followLink();
      }
      removeKeys?.();
      removeKeys = on ? app.keys.add(steps.keys) : null;
    },
  };
}

/**
 * A text whose steps link to the timeline.
 * @param {string} text
 * @param {import('../lib/routes').StepColumns} steps
 * @param {App} app
 */
const linkSteps = (text, { number, start_ps, duration_ps }, app) => text.split(/(\bstep \d+)/).map((part, index) => {
  const at = index % 2 ? number.indexOf(Number(part.slice('step '.length))) : -1;
  if (at < 0) return part;
  const open = () => app.open(windowLinkState(start_ps[at], start_ps[at] + duration_ps[at]));
  return link(part, open, { title: 'Shows the step in the timeline' });
});

/**
 * @param {Overview} answer
 * @param {string|null} description of the session
 * @param {string} note on the selection of devices
 * @param {App} app
 */
function verdictSection(answer, description, note, app) {
  const { verdict: { headline, details, severity }, figures, steps: { columns } } = answer;
  const notes = [note, ...new Set(figures.map((figure) => figure.note))].filter(Boolean).join(' ');
  return h(
    'section',
    { 'aria-label': 'Verdict', class: 'answer', 'data-testid': 'verdict' },
    h(
      'p',
      { class: 'headline' },
      ['critical', 'warning'].includes(severity) && h('span', { class: 'visually-hidden' }, `${severity}: `),
      linkSteps(headline, columns, app),
    ),
    (details || notes) &&
      h(
        'p',
        { class: 'details' },
        linkSteps(details, columns, app),
        notes && h('span', { class: 'small muted', 'data-testid': 'verdict-note' }, ` ${notes}`),
      ),
    description &&
      h('div', { class: 'description', 'data-testid': 'description' }, linkSteps(description, columns, app)),
  );
}
