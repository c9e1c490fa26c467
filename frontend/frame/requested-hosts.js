/** The hosts whose traces are requested: those of the link, and those that a selection needs. */

import { findHosts, RANK_WORDS } from '../lib/host-names.js';
import { listItems } from '../lib/link.js';

/**
 * The routes' `hosts` argument: rank words and `all` unchanged, other hosts by index.
 * @param {string|undefined} linked the link's `h`
 * @param {string[]} names of the session's hosts
 * @param {Iterable<number>} needed indices
 * @returns {string|null} null: the server's default hosts
 */
export function requestedHosts(linked, names, needed) {
  const words = [...RANK_WORDS, 'all'];
  const indicesOf = (/** @type {string} */ term) =>
    names.includes(term) ? [names.indexOf(term)] : /^\d+(-\d+)?$/.test(term) ? findHosts(term, names) : [];
  const terms = listItems(linked).flatMap((term) => (words.includes(term) ? term : indicesOf(term).map(String)));
  const neededIndices = [...needed].map(String);
  // Without hosts in the link, the needed hosts are added to the server's default ones.
  const requested = [...new Set([...(terms.length || !neededIndices.length ? terms : RANK_WORDS), ...neededIndices])];
  return requested.length ? requested.join(',') : null;
}
