/** The twelve classes of host work: their order everywhere, their labels, their sign beside the hue. */

import { h } from './dom.js';

/** @typedef {import('./types').ClassName} ClassName */

/** @type {ClassName[]} */
export const CLASSES = [
  'tracing', 'sync_prepare', 'compile', 'program_load', 'to_device', 'from_device',
  'dispatch', 'wait', 'input', 'python', 'other', 'unrecorded',
];

/** @type {Record<ClassName, string>} */
export const LABELS = {
  tracing: 'IR tracing',
  sync_prepare: 'step marker',
  compile: 'compile',
  program_load: 'program load',
  to_device: 'transfer to device',
  from_device: 'transfer from device',
  dispatch: 'dispatch',
  wait: 'wait',
  input: 'input',
  python: 'python',
  other: 'other',
  unrecorded: 'unrecorded',
};

/** @param {ClassName|null|undefined} name */
export const labelOf = (name) => (name ? LABELS[name] ?? name : '');

/** A small square in the colour and with the sign of a class. @param {ClassName} name */
export function chip(name) {
  const mark = h('i', { class: `chip k-${name}`, 'aria-hidden': 'true' });
  mark.style.setProperty('--k', `var(--c-${name})`);
  return mark;
}
