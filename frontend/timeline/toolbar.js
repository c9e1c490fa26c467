/**
 * The toolbar: search, gaps, alignment, flows, a field to go to a time, the window's times, and zoom to the whole
 * session.
 */

import { h, fill, button, onKeys } from '../lib/dom.js';
import { count, plural, rangeText, timeText } from '../lib/format.js';
import { createLatestChannel } from '../lib/api.js';
import { countColumn, table, textColumn } from '../lib/table.js';
import { escapeInvisible } from '../lib/escapes.js';

/** @typedef {import('../lib/routes').SearchAnswer} SearchAnswer */

const TYPING_MS = 150;
/** Of more names, only these are listed. */
const MAX_NAMES = 100;

/**
 * @param {object} on
 * @param {() => Record<string, any>} on.query the arguments of requests about the session
 * @param {() => number} on.from the time from which the first hit is searched, ps
 * @param {(hits: number[], text: string, message: string) => void} on.showHits gets the hits' start times, the searched
 *   text, and a message to announce
 * @param {(hit: import('../lib/routes').EventSummary) => void} on.hit called when the user goes to a hit
 * @param {(error: Error) => void} on.error
 * @param {() => void} on.leave called when a key leaves a field
 * @param {Node} on.rows the menu of rows
 * @param {() => void} on.flows @param {() => void} on.align
 * @param {(direction: 1|-1) => void} on.gap @param {() => void} on.longest
 * @param {() => void} on.fit shows the whole session @param {(ps: number) => void} on.time goes to a time
 */
export function createToolbar(on) {
  const input = h('input', {
    type: 'search',
    placeholder: 'Search events and scopes',
    'aria-label': 'Search events and scopes; the down arrow leads to the names that are found',
    'data-testid': 'timeline-search',
    spellcheck: 'false',
  });
  const searchCount = h('span', { class: 'secondary small numeric', 'data-testid': 'search-count' });
  const list = h('div', { class: 'menu', 'data-testid': 'search-names' });
  const flows = button('Flows', on.flows, {
    'data-testid': 'flows-toggle',
    title: 'Arrows from and to the selected event',
  });
  const align = button(['Align ', h('span', { class: 'wide' }, 'device to host step')], on.align, {
    'aria-label': 'Align device to host step',
    'data-testid': 'align-steps',
    title: 'Draws the device work of each step from the start of the step (t)',
  });
  const readout = h('span', { class: 'secondary readout', 'data-testid': 'window-readout' });
  const time = h('input', {
    type: 'text',
    'aria-label': 'Go to a time, ms from session start',
    placeholder: 'ms from session start',
    inputmode: 'decimal',
  });
  const timeMessage = h('span', { class: 'muted', role: 'alert' });
  const goto = h(
    'span',
    { class: 'field hidden', 'data-testid': 'go-to-time' },
    h('span', { class: 'muted' }, 'Go to'),
    time,
    timeMessage,
  );
  const gapPosition = h('span', { class: 'secondary small numeric', 'data-testid': 'gap-index' });
  const gaps = h(
    'span',
    { class: 'row hidden' },
    button('‹ gap', () => on.gap(-1), { 'data-testid': 'gap-prev' }, h('kbd', null, '[')),
    gapPosition,
    button('gap ›', () => on.gap(1), { 'data-testid': 'gap-next' }, h('kbd', null, ']')),
    button(
      'longest',
      on.longest,
      { 'data-testid': 'gap-longest', title: 'The longest gap of all devices shown; press again for the next longest' },
      h('kbd', null, 'l'),
    ),
  );

  const channel = createLatestChannel('search');
  /** @type {SearchAnswer|null} */
  let answer = null;
  /** The index of the hit that was gone to; -1 before the first one. */
  let hitIndex = -1;
  let timer = 0;
  let text = '';
  /** The newest request; Enter waits for it. */
  let pending = Promise.resolve();

  function show() {
    const total = answer?.count ?? 0;
    const position = answer ? positionText(hitIndex, total) : '';
    searchCount.textContent = position;
    searchCount.title = answer ? hitsNote(answer) : '';
    const announcement = answer ? `${hitIndex < 0 ? `${plural(total, 'event')} found` : position}.` : '';
    on.showHits(answer?.hits.s ?? [], text, `${announcement} ${searchCount.title}`.trim());
    fill(list, answer && answer.names.length > 1 ? namesTable(answer.names) : null);
  }

  /** @param {SearchAnswer['names']} items */
  const namesTable = (items) =>
    table({
      label: 'Names',
      items: items.slice(0, MAX_NAMES),
      select({ name }) {
        search(`name:${name}`);
        void goToHit(1);
      },
      columns: [
        textColumn('Name', 'name'),
        countColumn('Events', (item) => item.count - item.scopes || null),
        countColumn('Scopes', (item) => item.scopes || null),
      ],
    });

  async function fetchHits() {
    try {
      answer = await channel.get({ ...on.query(), q: text });
      hitIndex = -1;
      show();
    } catch (error) {
      // The hits of an earlier text are not those of this one.
      answer = null;
      show();
      on.error(/** @type {Error} */ (error));
    }
  }

  function startSearch() {
    clearTimeout(timer);
    timer = 0;
    pending = fetchHits();
  }

  /**
   * Searches for event names that contain a text, after a pause in typing.
   * @param {string} value
   * @param {boolean} [sessionChanged] whether to search even if the text is the same
   */
  function search(value, sessionChanged) {
    if (input.value !== value) input.value = value;
    if (value.trim() === text && !sessionChanged) return;
    text = value.trim();
    clearTimeout(timer);
    timer = 0;
    // A pending answer belongs to another text or session.
    channel.cancel();
    if (sessionChanged) {
      answer = null;
      searchCount.textContent = '';
    }
    if (text) {
      timer = window.setTimeout(startSearch, TYPING_MS);
      return;
    }
    answer = null;
    show();
  }

  /** Goes to the next or previous hit by time, once the answer has arrived. @param {1|-1} by */
  async function goToHit(by) {
    if (timer) startSearch();
    await pending;
    const { hits, names } = answer ?? {};
    const hitCount = hits?.s.length ?? 0;
    if (!hits || !names || !hitCount) return;
    if (hitIndex >= 0) hitIndex = (hitIndex + by + hitCount) % hitCount;
    else {
      // The first step leads to the first of the best hits from `on.from()` on, or to the last one before it.
      const best = answer?.best ?? hitCount;
      const firstAfter = hits.s.slice(0, best).findIndex((start) => start >= on.from());
      const boundary = firstAfter < 0 ? best : firstAfter;
      hitIndex = ((by > 0 ? boundary % best : boundary - 1) + hitCount) % hitCount;
    }
    show();
    on.hit({
      event: hits.event[hitIndex],
      row: hits.row[hitIndex],
      depth: hits.depth[hitIndex],
      name: names[hits.n[hitIndex]]?.name ?? '',
      class: null,
      thread: '',
      start_ps: hits.s[hitIndex],
      duration_ps: hits.d[hitIndex],
    });
  }

  input.addEventListener('input', () => search(input.value));
  onKeys(list, '*', { Escape: () => input.focus() });
  for (const field of [input, time]) {
    field.addEventListener('keydown', (event) => {
      const row = /** @type {HTMLElement|null} */ (list.querySelector('tr[tabindex="0"]'));
      if (field === input && event.key === 'ArrowDown' && row) row.focus();
      const enter = event.key === 'Enter';
      if (!enter && event.key !== 'Escape') return;
      const digits = time.value.replace(/\s|ms/g, '').replace(',', '.');
      event.preventDefault();
      event.stopPropagation();
      if (field === time) {
        if (enter && !Number.isFinite(Number(digits))) {
          timeMessage.textContent = 'ms, such as 715.08';
          return;
        }
        goto.classList.add('hidden');
        if (enter && digits) on.time(Number(digits) * 1e9);
      } else if (enter) return void goToHit(event.shiftKey ? -1 : 1);
      on.leave();
    });
  }

  return {
    element: h(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Timeline', 'data-testid': 'timeline-toolbar' },
      h('span', { class: 'field search' }, input, searchCount, h('kbd', null, '/'), list),
      gaps,
      align,
      flows,
      on.rows,
      goto,
      h('span', { class: 'grow' }),
      readout,
      button('Whole session', on.fit, { 'data-testid': 'zoom-fit' }),
    ),
    search,
    get text() {
      return text;
    },
    focusSearch() {
      input.focus();
      input.select();
    },
    askTime() {
      goto.classList.remove('hidden');
      time.value = '';
      timeMessage.textContent = '';
      time.focus();
    },
    /**
     * Shows the position of the selected gap, or the number of gaps; hides the buttons if there are none.
     * @param {string} position empty without gaps
     * @param {string} title
     */
    setGap(position, title) {
      gaps.classList.toggle('hidden', !position);
      gapPosition.textContent = escapeInvisible(position);
      gapPosition.title = escapeInvisible(title);
    },
    /** @param {import('./model.js').TimelineState} state @param {number} duration */
    set({ window: { start_ps, end_ps }, flows: arrows, align: aligned }, duration) {
      flows.setAttribute('aria-pressed', String(arrows));
      align.setAttribute('aria-pressed', String(aligned !== null));
      fill(
        readout,
        h('span', { class: 'wide' }, `window ${rangeText(start_ps, end_ps)} · `),
        h('b', null, timeText(end_ps - start_ps)),
        ` of ${timeText(duration)}`,
      );
    },
  };
}

/** `3 of 60`, `60`, `none` @param {number} index -1: not at any item @param {number} total */
export const positionText = (index, total) =>
  total === 0 ? 'none' : index < 0 ? count(total) : `${count(index + 1)} of ${count(total)}`;

/**
 * A sentence if the answer leaves out events; else empty.
 * @param {Pick<SearchAnswer, 'count'|'truncated'|'hits'>} answer
 */
export const hitsNote = ({ count: total, truncated, hits }) =>
  truncated
    ? `Only the first ${count(hits.s.length)} of ${plural(total, 'event').replace('\u00a0', ' ')} can be reached; ` +
      'search for a longer text for the others.'
    : '';
