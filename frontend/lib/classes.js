/** Order, labels, colours and textures of the thirteen classes of host time. */

import { LABELS } from './class-names.js';
import { h } from './dom.js';

/** @typedef {import('./routes').ClassName} ClassName */

export { CLASSES, DEVICE_WAITS, LABELS, SHORT_GAPS } from './class-names.js';

/** The classes that take time, each with its time, the longest first. @param {import('./types').ByClass} parts */
export const sortByTime = (parts) =>
  /** @type {[ClassName, number][]} */ (Object.entries(parts)).filter(([, ps]) => ps > 0).sort((a, b) => b[1] - a[1]);

/**
 * Attributes of an element in the colour and with the texture of a class.
 * @param {ClassName} name
 * @param {Record<string, string>} [style]
 */
export const tone = (name, style) => ({ class: `k-${name}`, style: { '--k': `var(--c-${name})`, ...style } });

/** Style of an element filled with a colour of the style sheet, and of text on it. @param {string} color its name */
export const fillColors = (color) => ({
  '--k': `var(--${color})`,
  color: `var(--on-${color.replace('c-', '')}, var(--dark))`,
});

/**
 * A small square in a colour of the style sheet.
 * @param {string} color its name; empty for a square without colour
 * @param {string} [texture] the CSS class of a texture
 */
export const chip = (color, texture = '') =>
  h('i', { class: `chip ${texture}`, 'aria-hidden': 'true', style: { '--k': `var(--${color})` } });

/** A chip in the colour and with the texture of a class, if there is a class. @param {ClassName|null|undefined} name */
export const classChip = (name) => name && chip(`c-${name}`, `k-${name}`);

/** A class as chip and label. @param {ClassName} name */
export const classCell = (name) => [classChip(name), LABELS[name]];

/**
 * @param {import('./dom.js').Child[][]} items samples with their meanings
 * @param {Record<string, any>} [attributes]
 */
export const legend = (items, attributes) =>
  h(
    'p',
    { class: 'legend', ...attributes },
    items.map((item) => h('span', null, item)),
  );
