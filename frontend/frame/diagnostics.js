/**
 * Diagnostics of the capture, problems of the link and errors: lines under the tabs, two at first. Notes of severity
 * `info` are in a menu of the header.
 */

import { h, fill, button } from '../lib/dom.js';
import { link, severityRank, severityTag } from '../lib/cards.js';
import { plural } from '../lib/format.js';

/**
 * @typedef {object} Note
 * @property {string} id
 * @property {string} [severity] a note without one is a line, tagged `info`
 * @property {string} message
 * @property {string} [host]
 * @property {string} [view] id of the only view that shows the note
 * @property {{label: string, run: () => void}} [action]
 */

const MAX_LINES = 2;

export function createDiagnostics() {
  const element = h('section', { 'data-testid': 'diagnostics', 'aria-label': 'Notes on the capture' });
  const infoCount = h('span', { class: 'tag info' });
  const list = h('div', { class: 'menu right', 'data-testid': 'notes-list' });
  const infoMenu = h(
    'details',
    { class: 'choice notes hidden' },
    h('summary', { 'data-testid': 'notes-button' }, infoCount),
    list,
  );
  /** @type {Note[]} */
  let notes = [];
  /** @type {Set<string>} */
  const dismissed = new Set();
  let expanded = false;
  let scope = '';
  let view = '';

  const keyOf = (/** @type {Note} */ note) => [scope, note.id, note.host ?? '', note.message].join('\n');

  /** Runs a note's action. Errors are removed first; they return if the action fails. @param {Note} note */
  function runAction(note) {
    if (note.severity === 'error') {
      notes = notes.filter((remaining) => remaining !== note);
      draw();
    }
    note.action?.run();
  }

  /** @param {Note} note @param {HTMLElement|false} [expandLink] */
  const line = (note, expandLink) =>
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
      note.action ? link(note.action.label, () => runAction(note)) : null,
      expandLink,
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
    const activeNotes = notes.filter((note) => (note.view ?? view) === view && !dismissed.has(keyOf(note)));
    const infos = activeNotes.filter(({ severity }) => severity === 'info');
    const lines = activeNotes.filter((note) => !infos.includes(note));
    const shownLines = expanded ? lines : lines.slice(0, MAX_LINES);
    const hiddenCount = lines.length - shownLines.length;
    fill(
      element,
      shownLines.map((note, index) =>
        line(
          note,
          hiddenCount > 0 &&
            index === shownLines.length - 1 &&
            link(`+${hiddenCount} more`, () => {
              expanded = true;
              draw();
            }),
        ),
      ),
    );
    infoCount.textContent = plural(infos.length, 'note');
    infoMenu.classList.toggle('hidden', !infos.length);
    fill(list, infos.map((note) => line(note)));
  }

  return {
    element,
    /** The header's menu of `info` notes. */
    infoMenu,
    /** @param {string} session @param {Note[]} next */
    set(session, next) {
      scope = session;
      expanded = false;
      notes = [...next].sort((a, b) => severityRank(a.severity) - severityRank(b.severity));
      draw();
    },
    /** Updates the text of the note with the same id in place; a dismissed note stays dismissed. @param {Note} note */
    update(note) {
      const index = notes.findIndex(({ id }) => id === note.id);
      if (index < 0 || notes[index].message === note.message) return;
      const wasDismissed = dismissed.has(keyOf(notes[index]));
      const text = element.querySelector(`[data-testid=diagnostic-${note.id}] p`);
      notes[index] = note;
      if (wasDismissed) dismissed.add(keyOf(note));
      if (text) fill(text, note.message);
      text?.setAttribute('title', note.message);
    },
    /** Adds a note as the first one, because it is the newest, in place of the one with its id. @param {Note} note */
    add(note) {
      notes = [note, ...notes.filter(({ id }) => id !== note.id)];
      dismissed.delete(keyOf(note));
      draw();
    },
    /**
     * Keeps a note that is stated again with every drawing: adds it, unless it is there or was dismissed, in place of
     * the one with its id. An empty message removes that one. Returns whether a line was added.
     * @param {Note} note
     */
    keep(note) {
      const isKept = (/** @type {Note} */ other) => other.id !== note.id || other.message === note.message;
      const isNew = note.message !== '' && !dismissed.has(keyOf(note)) && !notes.some(({ id, message }) =>
        id === note.id && message === note.message);
      if (!isNew && notes.every(isKept)) return false;
      notes = [...(isNew ? [note] : []), ...notes.filter(isKept)];
      draw();
      return isNew;
    },
    /** Shows the notes of a view, and those of none. @param {string} id */
    showView(id) {
      if (view === id) return;
      view = id;
      draw();
    },
  };
}
