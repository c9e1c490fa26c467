/** Capturing from profiler servers: a dialog that asks, tells how far it is, and closes when the new session opens. */

import { button, fill, h } from '../lib/dom.js';
import { pause } from '../lib/activity.js';
import { get, post } from '../lib/api.js';
import { digits } from '../lib/format.js';
import { readPref, writePref } from '../lib/prefs.js';

const PAUSE_MS = 250;
const WORDS = new Map([['waiting', 'Connecting'], ['tracing', 'Tracing'], ['collecting', 'Collecting']]);

/** @typedef {{state: string, elapsed_ms: number, duration_ms: number, message: string|null, session: string|null}} Progress */

/**
 * The button that opens the dialog; closing the dialog cancels.
 * @param {(text: string) => void} say @param {(session: string) => void} opened
 */
export function createCapture(say, opened) {
  const addresses = h('input', { type: 'text', required: true, placeholder: 'localhost:3294', value: readPref('addresses') });
  const duration = h('input', { type: 'text', required: true, inputmode: 'numeric', pattern: '[1-9][0-9]{0,6}', value: 2000 });
  const start = h('button', { type: 'submit' }, 'Capture');
  const message = h('p', { role: 'alert', 'data-testid': 'capture-message' });
  const bar = h('i', null);
  const progress = h('div', { 'data-testid': 'capture-progress' });
  const dialog = h('dialog', { 'data-testid': 'capture-dialog', 'aria-label': 'Capture', onclose: () => { if (start.disabled) void post('capture_cancel').catch(() => {}); } },
    h('form', { onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      void capture();
    } },
    h('h2', null, 'Capture'), h('p', { class: 'sec' }, 'From profiler servers that run: HOST:PORT, with commas between several. They write into this logdir.'),
    h('label', null, 'Addresses', h('span', { class: 'field' }, addresses)),
    h('label', null, 'Duration, ms', h('span', { class: 'field' }, duration)), progress, message,
    h('p', { class: 'row' }, start, button('Cancel', () => dialog.close()))));

  /** @param {Progress} told */
  function show({ state, elapsed_ms, duration_ms, message: trying }) {
    const text = WORDS.get(state) + (state === 'waiting' ? '' : ` · ${digits(elapsed_ms / 1000, 1)} of ${digits(duration_ms / 1000, 1)}\u202fs`);
    bar.style.width = `${elapsed_ms / duration_ms * 100}%`;
    fill(progress, h('p', null, text), h('div', { class: 'meter' }, bar), trying && h('p', { class: 'sec' }, trying));
    say(text);
  }

  async function capture() {
    writePref('addresses', addresses.value);
    start.disabled = true;
    message.textContent = '';
    try {
      /** @type {Progress} */
      let told = await post('capture', { addresses: addresses.value, duration_ms: Number(duration.value) });
      for (; WORDS.has(told.state); told = await get('capture_progress')) {
        show(told);
        await pause(PAUSE_MS);
      }
      message.textContent = told.message;
      start.disabled = false;
      if (told.session) opened(told.session);
      if (!told.message) dialog.close();
    } catch (error) {
      message.textContent = /** @type {Error} */ (error).message;
    } finally {
      start.disabled = false;
      fill(progress);
    }
  }

  return button('Capture…', () => {
    if (!dialog.isConnected) document.body.append(dialog);
    message.textContent = '';
    dialog.showModal();
  }, { 'data-testid': 'capture-button' });
}
