/** A strip of all steps with the visible ones marked; the pointer and the arrow keys move the visible range. */

import { fill, h, onDrag, onKeys, percent } from './dom.js';
import { count } from './format.js';
import { maximum } from './totals.js';

const MAX_BARS = 400;

/**
 * @param {string} testid
 * @param {(first: number) => void} onMove called with the index of the first step to show; the caller redraws
 * @param {string} [items] the noun of what it shows
 */
export function createStepBrush(testid, onMove, items = 'steps') {
  const element = h('div', {
    class: 'brush hidden',
    role: 'slider',
    tabindex: 0,
    'aria-label': `Visible ${items}`,
    'data-testid': testid,
  });
  /** @type {number[]} */
  let heights = [];
  let stepCount = 0;
  /** @type {(step: number) => string} */
  let nameOf = String;
  let first = 0;
  let visibleCount = 1;

  /** Moves the visible range, within the steps. @param {number} target index of the first step */
  function move(target) {
    const next = Math.max(0, Math.min(Math.round(target), stepCount - visibleCount));
    if (next !== first) onMove(next);
  }
  /** @param {PointerEvent} event */
  function moveToPointer(event) {
    const box = element.getBoundingClientRect();
    move(((event.clientX - box.left) / box.width) * stepCount - visibleCount / 2);
  }
  onDrag(element, (event) => {
    moveToPointer(event);
    return moveToPointer;
  });
  onKeys(element, '*', {
    ArrowRight: () => move(first + 1),
    ArrowLeft: () => move(first - 1),
    PageDown: () => move(first + visibleCount),
    PageUp: () => move(first - visibleCount),
    End: () => move(stepCount),
    Home: () => move(0),
  });
  return {
    element,
    move,
    /** @param {number[]} values one per step @param {(step: number) => string} nameOfStep */
    set(values, nameOfStep) {
      stepCount = values.length;
      nameOf = nameOfStep;
      const highest = maximum(values, 1);
      heights = new Array(Math.min(MAX_BARS, stepCount)).fill(0);
      values.forEach((value, index) => {
        const bar = Math.floor((index * heights.length) / stepCount);
        heights[bar] = Math.max(heights[bar], value / highest);
      });
    },
    /** Draws the strip, unless all steps are visible. @param {number} firstVisible @param {number} visibleSteps */
    draw(firstVisible, visibleSteps) {
      [first, visibleCount] = [firstVisible, visibleSteps];
      if (element.classList.toggle('hidden', stepCount <= visibleCount)) return;
      fill(element, heights.map((part) => h('i', { style: { height: percent(part) } })),
        h('b', { style: { left: percent(first / stepCount), width: percent(visibleCount / stepCount) } }));
      element.ariaValueMin = '0';
      element.ariaValueMax = String(stepCount - visibleCount);
      element.ariaValueNow = String(first);
      element.ariaValueText = `${nameOf(first)} to ${nameOf(first + visibleCount - 1)} of ${count(stepCount)} ${items}`;
    },
  };
}
