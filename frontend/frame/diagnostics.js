/**
 * What is special about this capture, what part of a link did not fit: lines under the tabs, at most two at a time;
 * what is only to be known stands behind `2 notes` in the header.
 */

import { h, fill, button } from '../lib/dom.js';
import { link, severityRank, severityTag } from '../lib/cards.js';
import { plural } from '../lib/format.js';

/**
 * @typedef {{id: string, severity?: string, message: string, host?: string, action?: {label: string, run: () => void}}}
 *   Note
 */

const MOST_LINES = 2;

export function createDiagnostics() {
  const element = h('section', { 'data-testid': 'diagnostics', 'aria-label': 'Notes on the capture' });
  const number = h('span', { class: 'tag info' });
  const list = h('div', { class: 'menu right', 'data-testid': 'notes-list' });
  const quiet = h(
    'details',
    { class: 'choice notes none' },
    h('summary', { 'data-testid': 'notes-button' }, number),
    list,
  );
  /** @type {Note[]} */
  let notes = [];
  /** @type {Set<string>} */
  const dismissed = new Set();
  let expanded = false;
  let scope = '';

  const keyOf = (/** @type {Note} */ note) => [scope, note.id, note.host ?? '', note.message].join('\n');

  /** An error goes once its remedy is tried: it is told anew where that fails. @param {Note} note */
  function act(note) {
    if (note.severity === 'error') {
      notes = notes.filter((remaining) => remaining !== note);
      draw();
    }
    note.action?.run();
  }

  /** @param {Note} note @param {HTMLElement|false} [more] */
  const line = (note, more) =>
    h(
      'div',
      { class: 'diagnostic', 'data-testid': `diagnostic-${note.id}` },
      severityTag(note.severity),
      h(
        'p',
        { title: note.message },
        note.host && !note.message.startsWith(note.host) ? `${note.host}: ${note.message}` : note.message,
      ),
      h('span', { class: 'grow' }),
      note.action ? link(note.action.label, () => act(note)) : null,
      more,
      button(
        '×',
        () => {
          dismissed.add(keyOf(note));
          draw();
        },
        { class: 'ghost', 'aria-label': 'Dismiss' },
      ),
    );

  function draw() {
    const open = notes.filter((note) => !dismissed.has(keyOf(note)));
    const infos = open.filter(({ severity }) => severity === 'info');
    const lines = open.filter((note) => !infos.includes(note));
    const shown = expanded ? lines : lines.slice(0, MOST_LINES);
    const more = lines.length - shown.length;
    fill(
      element,
      shown.map((note, index) =>
        line(
          note,
          more > 0 &&
            index === shown.length - 1 &&
            link(`+${more} more`, () => {
              expanded = true;
              draw();
            }),
        ),
      ),
    );
    number.textContent = plural(infos.length, 'note');
    quiet.classList.toggle('none', !infos.length);
    fill(list, infos.map((note) => line(note)));
  }

  return {
    element,
    /** What the header has of it. */
    quiet,
    /** @param {string} session @param {Note[]} next */
    set(session, next) {
      scope = session;
      expanded = false;
      notes = [...next].sort((a, b) => severityRank(a.severity) - severityRank(b.severity));
      draw();
    },
    /** Says a note of that id anew, where it stands and unless it was dismissed. @param {Note} note */
    renew(note) {
      const at = notes.findIndex(({ id }) => id === note.id);
      if (at < 0 || notes[at].message === note.message) return;
      const gone = dismissed.has(keyOf(notes[at]));
      const text = element.querySelector(`[data-testid=diagnostic-${note.id}] p`);
      notes[at] = note;
      if (gone) dismissed.add(keyOf(note));
      if (text) fill(text, note.message);
      text?.setAttribute('title', note.message);
    },
    /** One more line, first: it answers what the person just did. @param {Note} note */
    add(note) {
      notes = [note, ...notes.filter(({ id }) => id !== note.id)];
      dismissed.delete(keyOf(note));
      draw();
    },
  };
}
