/** Axes of time: ticks at 1-2-5 steps, and the grid of slices on one axis. */

import { button, h, percent } from './dom.js';
import { digits } from './format.js';

/** The nearest value from `low` to `high`. @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** The next 1-2-5 step that is at least so long. @param {number} least */
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10) * power;
}

/** About six ticks from 0, the last one at or below `most`. @param {number} most */
export function niceTicks(most) {
  const step = most > 0 ? niceStep(most / 6) : 1;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, index) =>
    Number((index * step).toPrecision(12)),
  );
}

/**
 * Labelled ticks along the width, which is `whole` ps; the first one has the unit.
 * @param {number} whole
 * @param {import('./format.js').Unit} unit
 * @param {string} [style] class of a tick
 */
export const tickMarks = (whole, unit, style) =>
  niceTicks((whole / unit.ps) * 0.96).map((tick) =>
    h(
      'span',
      { class: style, style: { left: percent((tick * unit.ps) / whole) } },
      digits(tick, Number.isInteger(tick) ? 0 : 1),
      tick ? '' : `\u202f${unit.name}`,
    ),
  );

/** @param {number} whole @param {import('./format.js').Unit} unit */
export const axisGrid = (whole, unit) =>
  h('div', { class: 'run-grid', 'aria-hidden': 'true' }, tickMarks(whole, unit, 'run-tick'));

/**
 * A button over a part of an axis, with its text where that has room.
 * @param {string} kind class
 * @param {string} text
 * @param {string} title
 * @param {number} from a part of the axis
 * @param {number} to
 * @param {number} least width of a text
 * @param {() => void} open @param {Record<string, any>} [style] @param {Record<string, any>} [attributes]
 */
export const axisSlice = (kind, text, title, from, to, least, open, style, attributes) =>
  button(h('span', null, to - from > least ? text : ''), open, {
    class: kind,
    title,
    'aria-label': title,
    style: { left: percent(from), width: percent(to - from), ...style },
    ...attributes,
  });

/**
 * A row of slices with its name.
 * @param {string} name
 * @param {HTMLElement[]} slices
 * @param {number} [rows] under each other
 */
export const axisLane = (name, slices, rows = 1) => [
  h('span', { class: 'run-label' }, name),
  h('div', { class: 'run-lane', style: { height: `${rows * 20}px` } }, slices),
];
