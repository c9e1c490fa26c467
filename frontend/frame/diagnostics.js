/** Lines under the tabs: what is special about this capture, what part of a link did not fit. At most two at a time. */

import { h, fill, button } from '../lib/dom.js';
import { link, severityRank, severityTag } from '../lib/cards.js';

/** @typedef {{id: string, severity?: string, message: string, host?: string, action?: {label: string, run: () => void}}} Note */

const MOST_LINES = 2;

export function createDiagnostics() {
  const element = h('div', { 'data-testid': 'diagnostics' });
  /** @type {Note[]} */
  let notes = [];
  /** @type {Set<string>} */
  const dismissed = new Set();
  let all = false;
  let scope = '';

  const keyOf = (/** @type {Note} */ note) => [scope, note.id, note.host ?? '', note.message].join('\n');

  function draw() {
    const left = notes.filter((note) => !dismissed.has(keyOf(note)));
    const shown = all ? left : left.slice(0, MOST_LINES);
    const more = left.length - shown.length;
    fill(element, shown.map((note, index) => h('div', { class: 'diagnostic', 'data-testid': `diagnostic-${note.id}` }, severityTag(note.severity),
      h('p', { title: note.message }, note.host && !note.message.startsWith(note.host) ? `${note.host}: ${note.message}` : note.message),
      h('span', { class: 'grow' }),
      note.action ? link(note.action.label, note.action.run) : null,
      more && index === shown.length - 1 ? link(`+${more} more`, () => { all = true; draw(); }) : null,
      button('×', () => { dismissed.add(keyOf(note)); draw(); }, { class: 'ghost', 'aria-label': 'Dismiss' }))));
  }

  return {
    element,
    /** @param {string} session @param {Note[]} next */
    set(session, next) {
      scope = session;
      all = false;
      notes = [...next].sort((a, b) => severityRank(a.severity) - severityRank(b.severity));
      draw();
    },
    /** One more line, first: it answers what the person just did. @param {Note} note */
    add(note) {
      notes = [note, ...notes.filter(({ id }) => id !== note.id)];
      dismissed.delete(keyOf(note));
      draw();
    },
  };
}
