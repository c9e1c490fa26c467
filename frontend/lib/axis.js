/** Axes of time: ticks at 1-2-5 steps, and the grid of slices on one axis. */

import { button, h, percent } from './dom.js';
import { digits } from './format.js';

/** The nearest value from `low` to `high`. @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** The smallest 1-2-5 step of at least `least`. @param {number} least */
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
 * A button over a part of an axis.
 * @param {string} kind class
 * @param {string} text
 * @param {string} title
 * @param {number} from a part of the axis
 * @param {number} to
 * @param {() => void} open @param {Record<string, any>} [style] @param {Record<string, any>} [attributes]
 */
export const axisSlice = (kind, text, title, from, to, open, style, attributes) =>
  button(h('span', null, text), open, {
    class: kind,
    title,
    'aria-label': title,
    style: { left: percent(from), width: percent(to - from), ...style },
    ...attributes,
  });

/** An axis is about this wide in a window of 1000 or 1440 px, and wider in others. */
const AXIS_PX = 850;
const LETTER_PX = 6.5;
const PADDING_PX = 8;

/**
 * The first of several texts that fits into a slice; empty if none does.
 * @param {string[]} texts from the longest to the shortest
 * @param {number} share of the axis that the slice takes
 */
export const fittingText = (texts, share) =>
  texts.find((text) => text.length * LETTER_PX + PADDING_PX <= share * AXIS_PX) ?? '';

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
