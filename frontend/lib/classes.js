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

/** Class and style of an element in the colour and with the sign of a class. @param {ClassName} name @param {Record<string, string>} [style] */
export const tone = (name, style) => ({ class: `k-${name}`, style: { '--k': `var(--c-${name})`, ...style } });

/** A small square in the colour and with the sign of a class. @param {ClassName} name */
export const chip = (name) => h('i', { ...tone(name), class: `chip k-${name}`, 'aria-hidden': 'true' });
