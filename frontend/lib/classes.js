/** The thirteen classes of host work: their order everywhere, their labels, their sign beside the hue. */

import { LABELS } from './class-names.js';
import { h } from './dom.js';

/** @typedef {import('./routes').ClassName} ClassName */

export { CLASSES, LABELS } from './class-names.js';

/** Classes with the time that each takes, the longest first. @param {import('./types').ByClass} parts */
export const sortByTime = (parts) =>
  /** @type {[ClassName, number][]} */ (Object.entries(parts)).filter(([, ps]) => ps > 0).sort((a, b) => b[1] - a[1]);

/**
 * Class and style of an element in the colour and with the sign of a class.
 * @param {ClassName} name
 * @param {Record<string, string>} [style]
 */
export const tone = (name, style) => ({ class: `k-${name}`, style: { '--k': `var(--c-${name})`, ...style } });

/** A colour of the style sheet with that of text on it. @param {string} color its name */
export const fillColors = (color) => ({
  '--k': `var(--${color})`,
  color: `var(--on-${color.replace('c-', '')}, var(--dark))`,
});

/**
 * A small square in a colour of the style sheet.
 * @param {string} color its name, or nothing
 * @param {string} [kind] class with its sign
 */
export const chip = (color, kind = '') =>
  h('i', { class: `chip ${kind}`, 'aria-hidden': 'true', style: { '--k': `var(--${color})` } });

/** In the colour and with the sign of a class, where there is one. @param {ClassName|null|undefined} name */
export const classChip = (name) => name && chip(`c-${name}`, `k-${name}`);

/** With its label. @param {ClassName} name */
export const classCell = (name) => [classChip(name), LABELS[name]];

/** What signs mean. @param {import('./dom.js').Child[][]} items @param {Record<string, any>} [attributes] */
export const legend = (items, attributes) =>
  h(
    'p',
    { class: 'legend', ...attributes },
    items.map((item) => h('span', null, item)),
  );
