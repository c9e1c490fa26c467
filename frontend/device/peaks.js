/** The device's peaks: their text with the source, and a dialog that sets them. */

import { button, h } from '../lib/dom.js';
import { digits } from '../lib/format.js';
import { total } from '../lib/totals.js';
import { peaksOfLink, roundPeak } from './rows.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */

/** `918`, `61.5` @param {number} value */
const peakText = (value) => digits(value, Number.isInteger(value) ? 0 : 1);

/** The precision of the peak FLOP/s; empty if unknown. @param {DeviceAnswer['peaks']} peaks */
export const precisionOf = ({ source, devices: [first] }) =>
  source !== 'user' && /^TPU/.test(first?.kind ?? '') ? 'bf16' : '';

/**
 * Why there is no roof, as a clause: which peaks are not known; empty if both are known.
 * @param {DeviceAnswer['peaks']} peaks
 */
export function missingPeaksText(peaks) {
  const { flops_per_s: flops, bytes_per_s: bytes, devices } = peaks;
  if (flops !== null && bytes !== null) return '';
  if (havePeaksThatDiffer(peaks)) return 'the devices have different peaks';
  const owner = total(devices, 'count') > 1 ? 'these devices' : 'this device';
  if (flops === null && bytes === null) return `the peaks of ${owner} are not known`;
  return `the ${flops === null ? 'peak FLOP/s' : 'HBM bandwidth'} of ${owner} is not known`;
}

/**
 * Whether a peak is missing because the devices do not have the same one.
 * @param {DeviceAnswer['peaks']} peaks
 */
const havePeaksThatDiffer = ({ flops_per_s: flops, bytes_per_s: bytes, devices }) =>
  devices.length > 1 &&
  devices.some((device) =>
    (flops === null && device.flops_per_s !== null) || (bytes === null && device.bytes_per_s !== null));

/** `roof: 918 TFLOP/s bf16 · HBM 1 638 GB/s, from the capture (TPU v6 Lite)` @param {DeviceAnswer['peaks']} peaks */
export function peaksText(peaks) {
  const { flops_per_s: flops, bytes_per_s: bytes, source, devices } = peaks;
  const kinds = [...new Set(devices.map(({ kind }) => kind))].join(', ');
  if (flops === null && bytes === null) {
    return havePeaksThatDiffer(peaks)
      ? `roof: devices with different peaks (${kinds})`
      : `roof: not known${kinds ? ` for ${kinds}` : ''}`;
  }
  const parts = [
    flops === null
      ? ''
      : `${peakText(roundPeak(flops / 1e12))}\u202fTFLOP/s${precisionOf(peaks) ? ` ${precisionOf(peaks)}` : ''}`,
    bytes === null ? '' : `HBM ${peakText(roundPeak(bytes / 1e9))}\u202fGB/s`,
  ];
  const origins = { table: 'from the table of known devices', capture: 'from the capture' };
  const origin = source && source !== 'user' ? origins[source] : 'from several sources';
  const originText = source === 'user' ? 'set by you' : `${origin} (${kinds})`;
  return `roof: ${parts.filter(Boolean).join(' · ')}, ${originText}`;
}

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
