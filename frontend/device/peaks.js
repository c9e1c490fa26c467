/** The device's peaks: their precision, and a dialog that sets them. */

import { button, h } from '../lib/dom.js';
import { peaksOfLink, roundPeak } from './rows.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */

/** The precision of the peak FLOP/s; empty if unknown. @param {DeviceAnswer['peaks']} peaks */
export const precisionOf = ({ source, devices: [first] }) =>
  source !== 'user' && /^TPU/.test(first?.kind ?? '') ? 'bf16' : '';

/**
 * Opens the dialog that sets both peaks.
 * @param {DeviceAnswer['peaks']} peaks
 * @param {(pk: string) => void} apply takes the peaks in the link's form; empty: the device's
 */
export function openPeaksDialog({ flops_per_s: flops, bytes_per_s: bytes, source }, apply) {
  const text = (/** @type {number|null} */ value, /** @type {number} */ unit) =>
    value === null ? '' : String(roundPeak(value / unit));
  const field = (/** @type {string} */ value, /** @type {string} */ id) =>
    h('input', {
      type: 'text',
      required: true,
      inputmode: 'decimal',
      pattern: '[0-9]*[.]?[0-9]+',
      value,
      title: 'a number above 0',
      'data-testid': id,
      autocomplete: 'off',
    });
  const compute = field(text(flops, 1e12), 'peak-flops');
  const memory = field(text(bytes, 1e9), 'peak-bytes');
  const message = h('p', { role: 'alert' });
  const close = (/** @type {string} */ pk) => {
    dialog.close();
    apply(pk);
  };
  const dialog = h(
    'dialog',
    { 'data-testid': 'peaks-dialog', 'aria-label': 'Peaks of one device', onclose: () => dialog.remove() },
    h(
      'form',
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          const pk = `${Number(compute.value)}e12,${Number(memory.value)}e9`;
          if (peaksOfLink(pk)) close(pk);
          else message.textContent = 'Give the peaks of a device, such as 918 and 1638.';
        },
      },
      h('h2', null, 'Peaks of one device'),
      h(
        'p',
        { class: 'secondary' },
        'Enter the peaks for the precision of your ops. They apply to this session and are part of its link.',
      ),
      h('label', null, 'TFLOP/s', h('span', { class: 'field' }, compute)),
      h('label', null, 'HBM bandwidth, GB/s', h('span', { class: 'field' }, memory)),
      message,
      h(
        'p',
        { class: 'row' },
        h('button', { type: 'submit', class: 'primary' }, 'Apply'),
        source === 'user' && button('Reset to the device’s peaks', () => close(''), { 'data-testid': 'peaks-own' }),
        button('Cancel', () => dialog.close()),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
