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
 * @param {import('../lib/link.js').LinkState} linked
 * @returns {Note[]}
 */
export function sessionNotes(ready, listedHostCount, readAgain, stop, linked) {
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
  else notes.push(...staleChoices(ready, linked));
  return notes;
}

/**
 * Notes on linked hosts and devices of which the session has none.
 * @param {import('../lib/types').Ready} session
 * @param {import('../lib/link.js').LinkState} linked
 * @returns {Note[]}
 */
function staleChoices({ session: { hosts }, devices, chosen_hosts }, { h, d }) {
  // The words of ranks name hosts of any session; the devices of hosts that are not in memory are unknown.
  const names = hosts.map(({ name }) => name);
  const ranks = { slowest: names[0], median: names[0] };
  const hasHost = !h || linkedHosts(h, names, ranks).length > 0;
  const hasDevice = !d || chosen_hosts || listItems(d).some((linked) => devices.some(({ id }) => id === linked));
  const texts = [
    hasHost ? [] : staleText(`host ${h}`),
    hasDevice ? [] : staleText(`device ${d}`),
  ].flat();
  return texts.length ? [{ id: 'stale-choice', message: texts.join(' ') }] : [];
}
