/** Notes about the reading of a session: changed files, hosts that are missing or still being read. */

import { count } from '../lib/format.js';
import { linkedHosts } from '../lib/host-names.js';
import { listItems } from '../lib/link.js';
import { staleText } from './stale-note.js';
import { partialText } from './state-cards.js';

/** @typedef {import('./diagnostics.js').Note} Note */

/** @param {import('../lib/routes').SessionLoading} loading @param {() => void} stop @returns {Note} */
export const partialNote = (loading, stop) => ({
  id: 'partial',
  severity: 'warning',
  action: { label: 'Stop', run: stop },
  message: partialText(loading),
});

/**
 * Returns a function that takes every list and says whether the session of a name has other files than in the last list
 * that had the session: it may have been missing in between. False if no earlier list had it, or this one does not.
 */
export function createFileWatch() {
  /** @type {Map<string, string>} */
  const lastListed = new Map();
  return (/** @type {string} */ name, /** @type {import('../lib/routes').SessionList} */ { sessions }) => {
    const before = lastListed.get(name);
    sessions.forEach((session) => lastListed.set(session.name, JSON.stringify(session)));
    return before !== undefined && before !== lastListed.get(name);
  };
}

/**
 * @param {import('../lib/types').Ready} ready
 * @param {number} listedHostCount the number of the session's hosts in the logdir
 * @param {() => void} readAgain reads the session's files again
 * @param {() => void} stop stops reading, with the hosts read so far
 * @returns {Note[]}
 */
export function sessionNotes(ready, listedHostCount, readAgain, stop) {
  const { changed, partial, loading, session: { hosts } } = ready;
  /** @type {Note[]} */
  const notes = [];
  if (changed) {
    notes.push({
      id: 'changed',
      severity: 'warning',
      message: 'The files of this session have changed since they were read.',
      action: { label: 'Read again', run: readAgain },
    });
  }
  if (partial && loading) notes.push(partialNote(loading, stop));
  else if (partial || listedHostCount > hosts.length) {
    notes.push({
      id: 'partial',
      severity: 'warning',
      message: `${count(hosts.length)} of ${count(listedHostCount)} hosts read.`,
    });
  }
  return notes;
}

/**
 * The note on linked hosts and devices of which the session has none; without a message while hosts are missing.
 * @param {import('../lib/types').Ready} session
 * @param {boolean} isPartial
 * @param {import('../lib/link.js').LinkState} linked
 * @returns {Note}
 */
export function choiceNote({ session: { hosts }, devices, chosen_hosts }, isPartial, { h, d }) {
  // The words of ranks name hosts of any session; the devices of hosts that are not in memory are unknown.
  const names = hosts.map(({ name }) => name);
  const ranks = { slowest: names[0], median: names[0] };
  const hasHost = !h || linkedHosts(h, names, ranks).length > 0;
  const ids = new Set(devices.map(({ id }) => id));
  const hasDevice = !d || chosen_hosts || listItems(d).some((id) => ids.has(id));
  const texts = [!hasHost && missingText('host', h), !hasDevice && missingText('device', d)];
  return { id: 'stale-choice', message: isPartial ? '' : texts.filter(Boolean).join(' ') };
}

/** @param {string} noun @param {string|undefined} list of a link; the session has none of its items */
function missingText(noun, list) {
  const [first, ...others] = listItems(list);
  return others.length ? `None of the linked ${noun}s is in this session.` : staleText(`${noun} ${first}`);
}
