/**
 * Search, gaps, alignment, flows, the window in words, the way back to the whole session, and a place to type a time.
 */

import { h, fill, button } from '../lib/dom.js';
import { count, plural, rangeText, timeText } from '../lib/format.js';
import { createLatestChannel } from '../lib/api.js';
import { escapeInvisible } from '../lib/escapes.js';

/** @typedef {import('../lib/routes').SearchAnswer} SearchAnswer */

const TYPING_MS = 150;

/**
 * @param {object} on
 * @param {() => Record<string, any>} on.query the arguments of requests about the session
 * @param {() => number} on.from the time at which searching begins
 * @param {(hits: number[], text: string, message: string) => void} on.showHits start times, text, and what to announce
 * @param {(hit: import('../lib/routes').EventSummary) => void} on.hit @param {(error: Error) => void} on.error
 * @param {() => void} on.leave Escape in a field @param {() => void} on.flows @param {() => void} on.align
 * @param {(step: 1|-1) => void} on.gap @param {() => void} on.longest
 * @param {() => void} on.fit @param {(ps: number) => void} on.time
 */
export function createToolbar(on) {
  const input = h('input', {
    type: 'search',
    placeholder: 'Search events',
    'aria-label': 'Search events',
    'data-testid': 'timeline-search',
    spellcheck: 'false',
  });
  const searchCount = h('span', { class: 'sec small num', 'data-testid': 'search-count' });
  const flows = button('Flows', on.flows, {
    'data-testid': 'flows-toggle',
    title: 'Arrows from and to the selected event',
  });
  const align = button('Align device to host step', on.align, {
    'data-testid': 'align-steps',
    title: 'Draws the device work of each step from the start of the step (t)',
  });
  const readout = h('span', { class: 'sec readout', 'data-testid': 'window-readout' });
  const time = h('input', {
    type: 'text',
    'aria-label': 'Go to a time, ms from session start',
    placeholder: 'ms from session start',
    inputmode: 'decimal',
  });
  const goto = h(
    'span',
    { class: 'field none', 'data-testid': 'go-to-time' },
    h('span', { class: 'muted' }, 'Go to'),
    time,
  );
  const gapAt = h('span', { class: 'sec small num', 'data-testid': 'gap-index' });
  const gaps = h(
    'span',
    { class: 'row none' },
    button('‹ gap', () => on.gap(-1), { 'data-testid': 'gap-prev' }, h('kbd', null, '[')),
    gapAt,
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
  let at = -1;
  let timer = 0;
  let text = '';
  /** The newest request; Enter waits for it. */
  let pending = Promise.resolve();

  function show() {
    const total = answer?.count ?? 0;
    searchCount.textContent = answer ? positionText(at, total) : '';
    const message = answer ? (at < 0 ? `${total} events found.` : `${at + 1} of ${total}.`) : '';
    on.showHits(answer?.hits.s ?? [], text, message);
  }

  async function fetchHits() {
    try {
      answer = await channel.get({ ...on.query(), q: text });
      at = -1;
      show();
    } catch (error) {
      on.error(/** @type {Error} */ (error));
    }
  }

  function startSearch() {
    clearTimeout(timer);
    timer = 0;
    pending = fetchHits();
  }

  /**
   * As the text changes, asks for names that contain it.
   * @param {string} value
   * @param {boolean} [anew] in another session
   */
  function search(value, anew) {
    if (input.value !== value) input.value = value;
    if (value.trim() === text && !anew) return;
    text = value.trim();
    clearTimeout(timer);
    timer = 0;
    // A pending answer belongs to another text or session.
    channel.cancel();
    if (anew) {
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

  /** Goes to the next or previous hit by time, once the answer is there. @param {1|-1} by */
  async function goToHit(by) {
    if (timer) startSearch();
    await pending;
    const { hits, names } = answer ?? {};
    const hitCount = hits?.s.length ?? 0;
    if (!hits || !names || !hitCount) return;
    // The first time, the first one from where the window begins, or the last one before.
    const first = hits.s.findIndex((start) => start >= on.from());
    const from = at >= 0 ? at : (first < 0 ? hitCount : first) - (by > 0 ? 1 : 0);
    at = (from + by + hitCount) % hitCount;
    show();
    on.hit({
      event: hits.event[at],
      row: hits.row[at],
      depth: hits.depth[at],
      name: names[hits.n[at]]?.name ?? '',
      class: null,
      thread: '',
      start_ps: hits.s[at],
      duration_ps: hits.d[at],
    });
  }

  input.addEventListener('input', () => search(input.value));
  for (const field of [input, time]) {
    field.addEventListener('keydown', (event) => {
      const enter = event.key === 'Enter';
      if (!enter && event.key !== 'Escape') return;
      const ms = Number(time.value.replace(/[\s\u202f]/g, '').replace(',', '.'));
      event.preventDefault();
      event.stopPropagation();
      if (field === time) {
        goto.classList.add('none');
        if (enter && time.value && Number.isFinite(ms)) on.time(ms * 1e9);
      } else if (enter) return void goToHit(event.shiftKey ? -1 : 1);
      on.leave();
    });
  }

  return {
    element: h(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Timeline', 'data-testid': 'timeline-toolbar' },
      h('span', { class: 'field' }, input, searchCount, h('kbd', null, '/')),
      gaps,
      align,
      flows,
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
      goto.classList.remove('none');
      time.value = '';
      time.focus();
    },
    /**
     * Shows the position among a device's gaps; hidden without gaps.
     * @param {number} index -1: none is selected
     * @param {number} total
     * @param {string} device its name
     * @param {string} title with its host
     */
    setGap(index, total, device, title) {
      gaps.classList.toggle('none', !total);
      const position = index < 0 ? plural(total, 'gap') : positionText(index, total);
      gapAt.textContent = escapeInvisible(`${position} on ${device}`);
      gapAt.title = escapeInvisible(`${plural(total, 'gap')} on ${title}`);
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

/** `3 of 60`, `60`, `none` @param {number} at -1 before the first @param {number} total */
const positionText = (at, total) =>
  total === 0 ? 'none' : at < 0 ? count(total) : `${count(at + 1)} of ${count(total)}`;
