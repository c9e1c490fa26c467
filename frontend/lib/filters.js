/** Filters of a list in the link state. */

import { decodeText, escapeItem } from './link.js';

/**
 * Filters as a link writes them: `cause:compile,kind:starved`.
 * @param {string|undefined} text
 * @returns {Map<string, string>}
 */
export function filtersValue(text) {
  return new Map((text ? text.split(',') : []).flatMap((pair) => {
    const at = pair.indexOf(':');
    return at > 0 ? [/** @type {[string, string]} */ ([pair.slice(0, at), decodeText(pair.slice(at + 1))])] : [];
  }));
}

/** @param {Map<string, string>} filters */
export const filtersText = (filters) => [...filters].filter(([, value]) => value)
  .map(([key, value]) => `${key}:${escapeItem(value)}`).join(',');
