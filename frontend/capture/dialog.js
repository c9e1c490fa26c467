/**
 * The capture dialog: takes the servers' addresses, shows progress, and closes when the new session opens, unless there
 * is a message to read.
 */

import { button, fill, h, percent } from '../lib/dom.js';
import { delay } from '../lib/activity.js';
import { get, post } from '../lib/api.js';
import { digits } from '../lib/format.js';
import { readPref, writePref } from '../lib/preferences.js';
import { escapeInvisible } from '../lib/escapes.js';

const POLL_MS = 250;
/** Failed requests for the progress in a row, before an error is shown. */
const MAX_FAILED_POLLS = 10;
const MAX_ADDRESSES = 5;
/** Labels of the states in which a capture is in progress. */
const PROGRESS_LABELS = new Map([['waiting', 'Connecting'], ['tracing', 'Tracing'], ['collecting', 'Collecting']]);

/** @typedef {import('../lib/routes').PageCapture} PageCapture */

/** The saved addresses, the latest first. */
const savedAddresses = () => (readPref('addresses') ?? '').split('\n').filter(Boolean);

/**
 * The button that opens the dialog. Closing the dialog cancels the capture.
 * @param {(text: string) => void} announce announces a text to screen readers
 * @param {(session: string) => void} openSession
 * @param {() => string} logdir the directory that servers write to
 */
export function createCapture(announce, openSession, logdir) {
  const suggestions = h('datalist', { id: 'capture-addresses' });
  const addresses = h('input', {
    type: 'text',
    required: true,
    placeholder: 'localhost:3294',
    list: suggestions.id,
    autocomplete: 'off',
    'aria-describedby': 'capture-form',
  });
  const duration = h('input', { type: 'text', required: true, inputmode: 'numeric', pattern: '[1-9][0-9]{0,6}' });
  const directory = h('code', { 'data-testid': 'capture-logdir' });
  const start = h('button', { type: 'submit', class: 'primary' }, 'Capture');
  const message = h('p', { role: 'alert', 'data-testid': 'capture-message' });
  const bar = h('i', null);
  const progress = h('div', { 'data-testid': 'capture-progress' });
  /** Whether the server has begun a capture of this dialog, and has not said that it ended. */
  let isCapturing = false;
  const dialog = h(
    'dialog',
    {
      'data-testid': 'capture-dialog',
      'aria-label': 'Capture',
      onclose: () => {
        if (isCapturing) void post('capture_cancel').catch(() => {});
      },
    },
    h(
      'form',
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          void capture();
        },
      },
      h('h2', null, 'Capture'),
      h('label', null, 'Addresses of profiler servers', h('span', { class: 'field' }, addresses, suggestions)),
      h('p', { class: 'small secondary', id: 'capture-form' }, 'HOST:PORT; separate several by commas.'),
      h('label', null, 'Duration, ms', h('span', { class: 'field' }, duration)),
      h(
        'p',
        { class: 'small secondary', 'data-testid': 'capture-hint' },
        'Wait until training has warmed up: the first steps compile. If a compilation is running when the capture ' +
        'begins, only its remainder is recorded. Choose a duration that covers several steps.',
      ),
      h('p', null, 'Written to ', directory),
      h('p', { class: 'small secondary' }, 'The servers write there: the training process needs access to this path.'),
      progress,
      message,
      h(
        'p',
        { class: 'row' },
        start,
        button('Cancel', () => dialog.close()),
      ),
    ),
  );

  /** @param {PageCapture} status */
  function show({ state, elapsed_ms, duration_ms, message: detail }) {
    const text =
      PROGRESS_LABELS.get(state) +
      (state === 'waiting' ? '' : ` · ${digits(elapsed_ms / 1000, 1)} of ${digits(duration_ms / 1000, 1)}\u202fs`);
    bar.style.width = percent(elapsed_ms / duration_ms);
    fill(
      progress,
      h('p', null, text),
      h('div', { class: 'meter' }, bar),
      detail && h('p', { class: 'secondary' }, detail),
    );
    announce(text);
  }

  /** Fills empty fields with the values of the last capture. */
  function fillFields() {
    const saved = savedAddresses();
    fill(suggestions, saved.map((value) => h('option', { value })));
    addresses.value ||= saved[0] ?? '';
    duration.value ||= readPref('duration_ms') ?? '2000';
    directory.textContent = escapeInvisible(logdir());
  }

  /** Saves the addresses and the duration. TensorBoard has accepted them, even if no profiler listens there. */
  function saveFields() {
    const entered = addresses.value.trim();
    const addressList = [entered, ...savedAddresses().filter((address) => address !== entered)];
    writePref('addresses', addressList.slice(0, MAX_ADDRESSES).join('\n'));
    writePref('duration_ms', duration.value);
  }

  /** The progress after a while. A few failed requests are repeated: a tunnel may drop while the servers trace. */
  async function nextProgress() {
    for (let failures = 0; ; failures += 1) {
      await delay(POLL_MS);
      try {
        return await get('capture_progress');
      } catch (error) {
        if (failures === MAX_FAILED_POLLS) throw error;
      }
    }
  }

  async function capture() {
    start.disabled = true;
    message.textContent = '';
    try {
      let status = await post('capture', { addresses: addresses.value, duration_ms: Number(duration.value) });
      isCapturing = true;
      // Closed meanwhile, when there was nothing to cancel yet.
      if (!dialog.open) await post('capture_cancel');
      saveFields();
      while (status.state !== 'idle' && PROGRESS_LABELS.has(status.state)) {
        show(status);
        status = await nextProgress();
      }
      isCapturing = false;
      if (status.state === 'idle') throw new Error('TensorBoard was restarted, so the capture is lost.');
      message.textContent = escapeInvisible(status.message ?? '');
      if (status.session) openSession(status.session);
      if (!status.message) dialog.close();
    } catch (error) {
      message.textContent = escapeInvisible(/** @type {Error} */ (error).message);
    } finally {
      start.disabled = false;
      fill(progress);
    }
  }

  return button('Capture…', () => {
    if (!dialog.isConnected) document.body.append(dialog);
    message.textContent = '';
    fillFields();
    dialog.showModal();
    addresses.select();
  }, { 'data-testid': 'capture-button' });
}
