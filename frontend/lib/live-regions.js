/**
 * Two regions for screen readers: a polite one, updated at most every 2 s except after a user's action, and one for
 * errors.
 */

import { h } from './dom.js';
import { escapeInvisible } from './escapes.js';

const MIN_POLITE_INTERVAL_MS = 2000;

export function createLiveRegions() {
  const polite = h('div', { class: 'visually-hidden', role: 'status', 'aria-live': 'polite', 'data-testid': 'live' });
  const urgent = h('div', { class: 'visually-hidden', role: 'alert', 'aria-live': 'assertive' });
  let lastFlush = 0;
  let nextText = '';
  let timer = 0;
  const flush = () => {
    timer = 0;
    lastFlush = performance.now();
    polite.textContent = escapeInvisible(nextText);
  };
  /** @param {string} text */
  const announce = (text) => {
    nextText = text;
    if (!timer) timer = window.setTimeout(flush, Math.max(0, lastFlush + MIN_POLITE_INTERVAL_MS - performance.now()));
  };
  return {
    elements: [polite, urgent],
    /** Announces a text within 2 s, unless a later one replaces it. */
    announce,
    /** Announces the verdict of a view, if it has one. @param {Element} view */
    announceVerdict(view) {
      const verdict = view.querySelector('.answer, .verdict p, [data-testid=compare-heading] p')?.textContent;
      if (verdict) announce(verdict);
    },
    /** Announces the result of a user's action at once. @param {string} text */
    announceNow(text) {
      clearTimeout(timer);
      nextText = text;
      flush();
    },
    /** @param {string} text */
    announceError(text) { urgent.textContent = escapeInvisible(text); },
  };
}
/** @typedef {ReturnType<typeof createLiveRegions>} LiveRegions */
