/** Search, flows, the window in words, the way back to the whole session, and a place to type a time. */

import { h, fill, button } from '../lib/dom.js';
import { count, digits, rangeText, timeText } from '../lib/format.js';

/**
 * @param {object} on
 * @param {(text: string) => void} on.search each change @param {(step: 1|-1) => void} on.next
 * @param {() => void} on.leave Escape in the search field @param {() => void} on.flows
 * @param {(step: 1|-1) => void} on.gap
 * @param {() => void} on.fit @param {(ms: number) => void} on.time
 */
export function createToolbar(on) {
  const input = h('input', { type: 'search', placeholder: 'Search events', 'aria-label': 'Search events', 'data-testid': 'timeline-search', spellcheck: 'false' });
  const found = h('span', { class: 'sec small num', 'data-testid': 'search-count' });
  const previous = button('‹', () => on.next(-1), { 'aria-label': 'Previous match', 'data-testid': 'search-prev' });
  const next = button('›', () => on.next(1), { 'aria-label': 'Next match', 'data-testid': 'search-next' });
  const flows = button('Flows', on.flows, { 'aria-pressed': 'true', 'data-testid': 'flows-toggle', title: 'Arrows from and to the selected event' });
  const readout = h('span', { class: 'sec readout', 'data-testid': 'window-readout' });
  const time = h('input', { type: 'text', 'aria-label': 'Go to a time, ms from session start', placeholder: 'ms from session start', inputmode: 'decimal' });
  const goto = h('span', { class: 'field none', 'data-testid': 'go-to-time' }, h('span', { class: 'muted' }, 'Go to'), time);
  const field = h('span', { class: 'field' }, input, found, h('kbd', null, '/'));

  const gapAt = h('span', { class: 'sec small num', 'data-testid': 'gap-index' });
  const gaps = h('span', { class: 'row none' }, button('‹ gap', () => on.gap(-1), { 'data-testid': 'gap-prev' }, h('kbd', null, '[')), gapAt,
    button('gap ›', () => on.gap(1), { 'data-testid': 'gap-next' }, h('kbd', null, ']')));

  input.addEventListener('input', () => on.search(input.value));
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') on.next(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape') on.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  time.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    const value = Number(time.value.replace(/[\s\u202f]/g, '').replace(',', '.'));
    if (event.key === 'Enter' && time.value && Number.isFinite(value)) on.time(value);
    goto.classList.add('none');
    event.preventDefault();
    event.stopPropagation();
    on.leave();
  });
  previous.disabled = true;
  next.disabled = true;

  return {
    element: h('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Timeline', 'data-testid': 'timeline-toolbar' },
      field, previous, next, gaps, flows, goto, h('span', { class: 'grow' }), readout,
      button('Whole session', on.fit, { 'data-testid': 'zoom-fit' })),
    focusSearch() { input.focus(); input.select(); },
    askTime() {
      goto.classList.remove('none');
      time.value = '';
      time.focus();
    },
    /** @param {string} text */
    setSearch(text) { if (input.value !== text) input.value = text; },
    /** @param {string} text @param {boolean} any */
    setFound(text, any) {
      found.textContent = text;
      previous.disabled = !any;
      next.disabled = !any;
    },
    /** Which gap of how many on its device; nothing where there is none. @param {number} at -1: none is selected @param {number} all */
    setGap(at, all) {
      gaps.classList.toggle('none', !all);
      gapAt.textContent = foundText(at, all);
    },
    /** @param {boolean} active */
    setFlows(active) { flows.setAttribute('aria-pressed', String(active)); },
    /** @param {import('./scale.js').Span} span @param {number} duration */
    setWindow({ start_ps, end_ps }, duration) {
      fill(readout, h('span', { class: 'wide' }, `window ${rangeText(start_ps, end_ps)} · `), h('b', null, timeText(end_ps - start_ps)),
        ` of ${timeText(duration)}`);
    },
  };
}

/** `3 of 60`, `60`, `none` @param {number} at -1 before the first @param {number} all */
export const foundText = (at, all) => (all === 0 ? 'none' : at < 0 ? count(all) : `${digits(at + 1)} of ${count(all)}`);
