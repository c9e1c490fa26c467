/** The Overview: verdict, figures, findings, idle time by cause, duty cycle, steps, input, transfers, collectives. */

import { h, fill } from '../lib/dom.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote, staleText } from '../frame/stale-note.js';
import { coreCountText, link } from '../lib/cards.js';
import { dutyRows, idleRows } from './devices.js';
import { dutyCard } from './duty.js';
import { idleCard } from './idle.js';
import { findingsCard, markLinked } from './findings.js';
import { createSteps } from './steps.js';
import { dataCards } from './data.js';

/** @typedef {import('../lib/routes').Overview} Overview */
/** @typedef {import('../frame/app.js').App} App */

/** A verdict with more letters takes the whole width, above the figures, on narrow and on medium screens. */
const MAX_LETTERS_NARROW = 125;
const MAX_LETTERS_MEDIUM = 170;

/** Half the mean width of a letter, in widths of a digit (`ch`). */
const HALF_LETTER_CH = 0.43;
/** Space for a word that does not fit at the end of the first line. */
const WORD_CH = 2;

/** The width in which a text takes two lines. @param {string} text */
const twoLineWidth = (text) => `${text.length * HALF_LETTER_CH + WORD_CH}ch`;

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
    const isSubset = app.selectedDevices(devices).length < devices.length;
    const note = isSubset
      ? `Everything except the duty cycle and idle time by cause covers all ${coreCountText(devices.length)}.`
      : '';
    fill(
      element,
      verdictSection(answer, session.session.description, note, app),
      findingsCard(answer, app),
      idleCard(devices, idle, answer, session, app),
      devices.length === 1 ? null : dutyCard(devices, session, app),
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

/** Spaces at which lines must not break: `12 steps`, `(median 52.4`. */
const NO_BREAK_SPACES = /(?<=\d|\(median) /g;

/**
 * A text whose steps link to their gaps.
 * @param {string} text
 * @param {(number|null)[]} steps numbers of the existing steps
 * @param {App} app
 */
const linkSteps = (text, steps, app) => text.split(/(\bstep \d+)/).map((part, index) => {
  const number = part.slice(5);
  return index % 2 && steps.includes(Number(number))
    ? link(part, () => app.open({ v: 'gaps', sel: '', f: `step:${number}` }), { title: `Gaps of step ${number}` })
    : part;
});

/**
 * @param {Overview} answer
 * @param {string|null} description of the session
 * @param {string} note on the selection of devices
 * @param {App} app
 */
function verdictSection(answer, description, note, app) {
  const { verdict: { headline, details, severity }, figures, steps: { columns } } = answer;
  const text = `${headline} ${details}`;
  const notes = [note, ...new Set(figures.map((figure) => figure.note))].filter(Boolean).join(' ');
  return h(
    'section',
    {
      'aria-label': 'Verdict',
      class: [
        'verdict',
        text.length > MAX_LETTERS_NARROW && 'long',
        text.length > MAX_LETTERS_MEDIUM && 'longer',
      ].filter(Boolean).join(' '),
      'data-testid': 'verdict',
    },
    h(
      'p',
      null,
      ['critical', 'warning'].includes(severity) && h('span', { class: 'visually-hidden' }, `${severity}: `),
      h('b', null, linkSteps(headline, columns.number, app)),
      ' ',
      h('span', null, linkSteps(details, columns.number, app)),
      notes && h('span', { class: 'small muted', 'data-testid': 'verdict-note' }, ` ${notes}`),
    ),
    h(
      'dl',
      { class: 'figures' },
      figures.map((figure) =>
        h(
          'div',
          { 'data-testid': `kpi-${figure.name}` },
          h('dd', { 'data-ps': figure.name === 'duty' ? null : figure.value }, figure.text),
          h(
            'dt',
            { style: { 'max-width': twoLineWidth(figure.meaning) } },
            figure.meaning.replace(NO_BREAK_SPACES, '\u00a0'),
          ),
        ),
      ),
    ),
    description &&
      h('div', { class: 'description', 'data-testid': 'description' }, linkSteps(description, columns.number, app)),
  );
}
