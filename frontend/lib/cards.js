/** What the views of cards share: cards, small bars, links into the timeline. */

import { h } from './dom.js';
import { CLASSES, LABELS, chip } from './classes.js';
import { count, share, timeText } from './format.js';
import { msText, spanText } from './link.js';

/** @typedef {import('./types').ByClass} ByClass */
/** @typedef {import('./types').ClassName} ClassName */
/** @typedef {import('./dom.js').Child} Child */

/**
 * @param {string} title @param {{note?: Child, right?: Child|Child[], class?: string}} more @param {...(Child|Child[])} body
 */
export function card(title, { note, right, class: kind = '' }, ...body) {
  return h('section', { class: `card ${kind}`, 'aria-label': title },
    h('header', null, h('h2', null, title, note ? h('small', null, note) : null), h('span', { class: 'grow' }), right),
    h('div', { class: 'body' }, ...body));
}

/** A card that says why it has no numbers, and what would bring them. @param {string} title @param {string} text @param {string} [advice] */
export const emptyCard = (title, text, advice) => card(title, {}, h('p', null, text), advice ? h('p', { class: 'sec' }, advice) : null);

/** @param {ClassName} name */
export const classCell = (name) => [chip(name), LABELS[name] ?? name];

/** Parts by class without text, in a line. @param {ByClass} parts @param {number} [whole] what a full width stands for */
export function miniBar(parts, whole) {
  const present = CLASSES.filter((name) => (parts[name] ?? 0) > 0);
  const sum = whole ?? present.reduce((all, name) => all + (parts[name] ?? 0), 0);
  return h('div', { class: 'mini', 'aria-hidden': 'true' }, present.map((name) => {
    const part = h('i', { class: `k-${name}`, title: `${LABELS[name]} ${timeText(parts[name])}` });
    part.style.setProperty('--k', `var(--c-${name})`);
    part.style.flex = `${(parts[name] ?? 0) / (sum || 1)} 1 0`;
    return part;
  }));
}

/** A bar from the left. @param {number} part from 0 to 1 @param {string} [color] */
export function lengthBar(part, color) {
  const mark = h('i', null);
  mark.style.width = `${Math.min(1, Math.max(0, part)) * 100}%`;
  if (color) mark.style.background = color;
  return h('span', { class: color ? 'bar bare' : 'bar' }, mark);
}

/** The hue of a class as a style; signs that are no hue use the hatch. @param {ClassName} name */
export const hue = (name) => (name === 'wait' || name === 'unrecorded' ? 'var(--hatch)' : `var(--c-${name})`);

/** @param {string} kind starved, queued or unknown */
export const kindTag = (kind) => h('span', { class: `tag ${kind === 'starved' ? 'warning' : ''}` }, kind);

/** A number or name that leads somewhere. @param {Child} text @param {() => void} action @param {Record<string, any>} [attributes] */
export const link = (text, action, attributes = {}) => h('button', { type: 'button', class: 'link', ...attributes, onclick: (/** @type {Event} */ event) => {
  event.stopPropagation();
  action();
} }, text);

/** A link that shows a span of time with room around it. @param {number} start @param {number} end @param {number} [room] share of its length */
export function placeAround(start, end, room = 0.4) {
  const margin = Math.max(1e6, (end - start) * room);
  return spanText(Math.max(0, Math.round(start - margin)), Math.round(end + margin));
}

/** Link state of a window in the timeline. @param {number} start @param {number} end */
export const windowPlace = (start, end) => ({ v: 'timeline', w: placeAround(start, end), sel: `win:${spanText(start, end)}` });

/** Link state of a gap in the timeline. @param {{device: string, start_ps: number, duration_ps: number}} gap */
export const gapPlace = ({ device, start_ps, duration_ps }) => (
  { v: 'timeline', w: placeAround(start_ps, start_ps + duration_ps, 1.5), sel: `gap:${device}@${msText(start_ps, true)}` });

/** `8 cores`, `1 core` @param {number} number */
export const cores = (number) => `${count(number)} ${number === 1 ? 'core' : 'cores'}`;

/** A share that is 100.0 % only if nothing is left. @param {number} part @param {number} whole */
export const shareOf = (part, whole) => share(whole > 0 ? part / whole : null);

/** @param {() => void} action @param {string} [testid] */
export const showButton = (action, testid) => h('button', { type: 'button', class: 'small-button', 'data-testid': testid, onclick: (/** @type {Event} */ event) => {
  event.stopPropagation();
  action();
} }, 'Show');
