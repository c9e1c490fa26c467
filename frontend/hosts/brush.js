/** A strip of all steps with the visible ones marked; the pointer and the arrow keys move the visible range. */

import { fill, h, onDrag, onKeys, percent } from '../lib/dom.js';
import { clamp } from '../lib/axis.js';
import { count } from '../lib/format.js';
import { maximum } from '../lib/totals.js';

const MAX_BARS = 400;

/** @param {(first: number) => void} moved */
export function createBrush(moved) {
  const element = h('div', {
    class: 'brush none',
    role: 'slider',
    tabindex: 0,
    'aria-label': 'Steps in sight',
    'data-testid': 'heat-brush',
  });
  /** @type {number[]} */
  let heights = [];
  let steps = 0;
  let name = String;
  let first = 0;
  let fits = 1;

  /** @param {number} at */
  function move(at) {
    const next = clamp(Math.round(at), 0, steps - fits);
    if (next !== first) moved(next);
  }
  /** @param {PointerEvent} event */
  function toPointer(event) {
    const box = element.getBoundingClientRect();
    move(((event.clientX - box.left) / box.width) * steps - fits / 2);
  }
  onDrag(element, (event) => {
    toPointer(event);
    return toPointer;
  });
  onKeys(element, '*', {
    ArrowRight: () => move(first + 1),
    ArrowLeft: () => move(first - 1),
    PageDown: () => move(first + fits),
    PageUp: () => move(first - fits),
    End: () => move(steps),
    Home: () => move(0),
  });
  return {
    element,
    /** @param {number[]} values one per step @param {(step: number) => string} nameOfStep */
    set(values, nameOfStep) {
      steps = values.length;
      name = /** @type {StringConstructor} */ (nameOfStep);
      const highest = maximum(values, 1);
      heights = new Array(Math.min(MAX_BARS, steps)).fill(0);
      values.forEach((value, index) => {
        const bar = Math.floor((index * heights.length) / steps);
        heights[bar] = Math.max(heights[bar], value / highest);
      });
    },
    /** @param {number} from @param {number} shownSteps */
    draw(from, shownSteps) {
      [first, fits] = [from, shownSteps];
      if (element.classList.toggle('none', steps <= fits)) return;
      fill(element, heights.map((part) => h('i', { style: { height: percent(part) } })),
        h('b', { style: { left: percent(first / steps), width: percent(fits / steps) } }));
      element.ariaValueMin = '0';
      element.ariaValueMax = String(steps - fits);
      element.ariaValueNow = String(first);
      element.ariaValueText = `Steps ${name(first)} to ${name(first + fits - 1)} of ${count(steps)}`;
    },
  };
}
