/** Axes of time: ticks at 1-2-5 steps, and lanes of slices. */

import { button, h, percent } from './dom.js';
import { digits } from './format.js';

/** The nearest value from `low` to `high`. @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** Allows for rounding errors of floats. */
const TOLERANCE = 1e-9;

/** The smallest 1-2-5 step that is at least `min`. @param {number} min */
export function niceStep(min) {
  const power = 10 ** Math.floor(Math.log10(min));
  return ([1, 2, 5].find((factor) => factor * power >= min * (1 - TOLERANCE)) ?? 10) * power;
}

/** Up to seven ticks from 0, at 1-2-5 steps; the last one is at or below `max`. @param {number} max */
export function niceTicks(max) {
  const step = max > 0 ? niceStep(max / 6) : 1;
  return Array.from({ length: Math.floor(max / step + TOLERANCE) + 1 }, (_, index) =>
    Number((index * step).toPrecision(12)),
  );
}

/** The length of an axis with room for `max`: the next multiple of its 1-2-5 step. @param {number} max */
export function niceLength(max) {
  const step = niceStep(max / 6);
  return Math.ceil(max / step) * step;
}

/** Ticks end at this share of an axis, so that the label of the last one fits. */
const LAST_TICK_SHARE = 0.96;

/**
 * Labelled ticks along an axis from 0 to `length_ps`; the first one has the unit.
 * @param {number} length_ps
 * @param {import('./format.js').Unit} unit
 * @param {string} [className] of a tick
 */
export const tickMarks = (length_ps, unit, className) =>
  niceTicks((length_ps / unit.ps) * LAST_TICK_SHARE).map((tick) =>
    h(
      'span',
      { class: className, style: { left: percent((tick * unit.ps) / length_ps) } },
      digits(tick, String(tick).split('.')[1]?.length),
      tick ? '' : `\u202f${unit.name}`,
    ),
  );

/** @param {number} length_ps @param {import('./format.js').Unit} unit */
export const axisGrid = (length_ps, unit) =>
  h('div', { class: 'run-grid', 'aria-hidden': 'true' }, tickMarks(length_ps, unit, 'run-tick'));

/**
 * A button over an interval of an axis.
 * @param {string} className
 * @param {string} text
 * @param {string} title
 * @param {number} from share of the axis, 0 to 1
 * @param {number} to share of the axis
 * @param {() => void} open @param {Record<string, any>} [style] @param {Record<string, any>} [attributes]
 */
export const axisSlice = (className, text, title, from, to, open, style, attributes) =>
  button(h('span', null, text), open, {
    class: className,
    title,
    'aria-label': title,
    style: { left: percent(from), width: percent(to - from), ...style },
    ...attributes,
  });

/** The approximate width of an axis in windows of 1000 and of 1440 px. */
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

const LANE_ROW_PX = 20;

/**
 * A lane of slices with its name.
 * @param {string} name
 * @param {HTMLElement[]} slices
 * @param {number} [rows] one below the other
 */
export const axisLane = (name, slices, rows = 1) => [
  h('span', { class: 'run-label' }, name),
  h('div', { class: 'run-lane', style: { height: `${rows * LANE_ROW_PX}px` } }, slices),
];
