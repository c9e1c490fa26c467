/** The hosts whose traces are requested: those that the link names, and those that a selection needs. */

import { findHosts, RANK_WORDS } from '../lib/host-names.js';

/**
 * Hosts as the routes take them: words as they are, others by their places.
 * @param {string|undefined} linked what the link says
 * @param {string[]} names of the session's hosts
 * @param {Iterable<number>} needed places
 * @returns {string|null} null: those that the server shows first
 */
export function requestedHosts(linked, names, needed) {
  const words = [...RANK_WORDS, 'all'];
  const placesOf = (/** @type {string} */ term) =>
    names.includes(term) ? [names.indexOf(term)] : /^\d+(-\d+)?$/.test(term) ? findHosts(term, names) : [];
  const terms = (linked ?? '').split(',').flatMap((term) => (words.includes(term) ? term : placesOf(term).map(String)));
  const more = [...needed].map(String);
  const requested = [...new Set([...(terms.length || !more.length ? terms : RANK_WORDS), ...more])];
  return requested.length ? requested.join(',') : null;
}
