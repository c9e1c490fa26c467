/** Names of hosts: short where that is unambiguous, and found by name, number or range. */

import { listItems, listText } from './link.js';
import { minimum } from './totals.js';

/** A number from here on is an id rather than the number of a host: links then write all hosts by name. */
const MAX_HOST_NUMBER = 1_000_000;

/**
 * The part of each host's name that distinguishes it: `w-5` of `t1v-n-7f-w-5`. A number alone keeps the word before it.
 * @param {string[]} names
 * @returns {string[]} in the same order; unchanged if there is one name only, or if the names have nothing in common
 */
export function shortNames(names) {
  const parts = names.map((name) => name.split(/(?<=[-._])/));
  const minLength = minimum(parts.map(({ length }) => length));
  const isShared = (/** @type {(part: string[]) => string|undefined} */ read) => new Set(parts.map(read)).size === 1;
  if (names.length < 2) return names;
  let head = 0;
  while (head < minLength - 1 && isShared((part) => part[head])) head += 1;
  let tail = 0;
  while (tail < minLength - 1 - head && isShared((part) => part.at(-1 - tail))) tail += 1;
  if (head && parts.some((part) => /^\d+[-._]?$/.test(part[head]))) head -= 1;
  return parts.map((part) => part.slice(head, part.length - tail).join('').replace(/[-._]$/, ''));
}

/** The number of a host: the last one in its short name; NaN if it has none. @param {string} short */
export const hostNumber = (short) => Number(/\d+(?=\D*$)/.exec(short)?.[0] ?? NaN);

/**
 * The hosts that a text names: comma-separated numbers and ranges (`0-15, 41`) or parts of names.
 * @param {string} text all hosts if it is empty @param {string[]} names @returns {number[]} indices, ascending
 */
export function findHosts(text, names) {
  const terms = text.toLowerCase().split(',').map((term) => term.trim()).filter(Boolean);
  const numbers = shortNames(names).map(hostNumber);
  const tests = terms.map((term) => {
    const [, from, to = from] = /^(\d+)(?:\s*[-–]\s*(\d+))?$/.exec(term) ?? [];
    if (from === undefined) return (/** @type {string} */ name) => name.toLowerCase().includes(term);
    return (/** @type {string} */ _, /** @type {number} */ number) => number >= Number(from) && number <= Number(to);
  });
  return [...names.keys()].filter((at) => !terms.length || tests.some((test) => test(names[at], numbers[at])));
}

/**
 * Chosen hosts as a link writes them: numbers and ranges if there are several hosts and each has its own number, below
 * `MAX_HOST_NUMBER`; else names.
 * @param {number[]} chosen indices in `names` @param {string[]} names
 */
export function hostsText(chosen, names) {
  const numbers = shortNames(names).map(hostNumber);
  const numbered = new Set(numbers).size === names.length && numbers.every((number) => number < MAX_HOST_NUMBER);
  if (!numbered || names.length === 1) return listText(chosen.map((at) => names[at]));
  const sorted = chosen.map((at) => numbers[at]).sort((a, b) => a - b);
  const allNumbers = new Set(numbers);
  /** @type {[number, number][]} */
  const ranges = [];
  for (const number of sorted) {
    const lastRange = ranges.at(-1);
    // A range may pass over numbers that no host has.
    const isAdjacent = lastRange && [...allNumbers].every((other) => other <= lastRange[1] || other >= number);
    if (isAdjacent) lastRange[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/** Links have these words in place of names, so that they apply to other sessions too. */
export const RANK_WORDS = /** @type {const} */ (['slowest', 'median']);

/**
 * The hosts that a link names: by rank word, `all`, whole name, number or range.
 * @param {string|undefined} text
 * @param {string[]} names
 * @param {Partial<Record<'slowest'|'median', string>>} ranks the hosts that the words name, if known
 * @returns {string[]} names in the session's order; empty if the text names none
 */
export function linkedHosts(text, names, ranks) {
  const linkedNames = listItems(text).flatMap((term) => {
    if (term === 'all') return names;
    const word = RANK_WORDS.find((candidate) => candidate === term);
    if (word) return ranks[word] ?? [];
    if (names.includes(term)) return term;
    return /^\d+(-\d+)?$/.test(term) ? findHosts(term, names).map((at) => names[at]) : [];
  });
  return names.filter((name) => linkedNames.includes(name));
}
