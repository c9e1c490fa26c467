/**
 * A chart of bars in order of time, each a pile of parts. Many bars are thin, and a strip below scrolls to those that
 * do not fit. Arrow keys move between bars.
 */

import { fill, h, onKeys, percent } from './dom.js';
import { beginActivity } from './activity.js';
import { niceTicks } from './axis.js';
import { digits, unitFor } from './format.js';
import { createStepBrush } from './step-brush.js';
import { maximum } from './totals.js';

/** Up to this many bars are wide; more are thin. */
const MAX_WIDE_BARS = 60;
const THIN_BAR_PX = 5;
/** Space left of the bars, for the labels of the axis. */
const AXIS_PX = 44;
/** Minimum distance between bars for a value above each, and between names. */
const MIN_VALUE_PX = 38;
const MIN_NAME_PX = 34;

/**
 * @typedef {object} Bar
 * @property {string} key in `data-step`
 * @property {string} name below it
 * @property {string} title
 * @property {number} ps its time, above it
 * @property {number} [height_ps] its height, by default `ps`
 * @property {number} [line_ps] height of a line across it
 * @property {[ps: number, attributes: {class: string, style: Record<string, string>, title: string}][]} parts from
 *   the bottom to the top
 */

/**
 * @param {object} options
 * @param {string} options.items the noun of what the bars are, in the plural: `steps`, also in test ids
 * @param {(index: number) => Bar} options.barOf
 * @param {(index: number) => void} options.open called on click and Enter
 * @param {(index: number) => void} [options.select] called on Space
 * @param {(index: number) => boolean} [options.isSelected]
 * @param {() => [ps: number, name: string][]} [options.lines] across all bars; those above the highest are left out
 */
export function createBarChart({ items, barOf, open, select = open, isSelected = () => false, lines = () => [] }) {
  const label = items[0].toUpperCase() + items.slice(1);
  const element = h('div', { class: 'chart', role: 'listbox', 'aria-label': label, 'data-testid': `${items}-chart` });
  let barCount = 0;
  /** Index of the first visible bar. */
  let first = 0;
  let visibleCount = MAX_WIDE_BARS;
  const brush = createStepBrush(`${items}-brush`, (index) => {
    first = index;
    draw();
  }, items);

  function draw() {
    const width = element.clientWidth - AXIS_PX;
    visibleCount = barCount <= MAX_WIDE_BARS ? MAX_WIDE_BARS : Math.max(MAX_WIDE_BARS, Math.floor(width / THIN_BAR_PX));
    first = Math.max(0, Math.min(first, barCount - visibleCount));
    const visible = Array.from({ length: Math.min(barCount, visibleCount) }, (_, at) => barOf(first + at));
    const longest = maximum(visible.map(({ ps, height_ps = ps, line_ps = 0 }) => Math.max(height_ps, line_ps)), 1);
    const unit = unitFor(longest);
    const ticks = niceTicks(longest / unit.ps);
    const top = Math.max(ticks.at(-1) ?? 1, longest / unit.ps) * unit.ps * 1.06;
    const barPx = width / visible.length;
    const nameEvery = [1, 2, 5, 10, 20, 50, 100].find((step) => barPx * step >= MIN_NAME_PX) ?? 200;
    /** @param {string} className @param {number} ps @param {...import('./dom.js').Child} text */
    const line = (className, ps, ...text) =>
      h(
        'span',
        {
          class: `grid-line ${className}`,
          'aria-hidden': 'true',
          style: { bottom: `calc(20px + (100% - 20px) * ${ps / top})` },
        },
        h('span', null, ...text),
      );
    fill(
      element,
      ticks.map((tick) =>
        line('', tick * unit.ps, digits(tick), tick === ticks.at(-1) ? `\u202f${unit.name}` : ''),
      ),
      h(
        'div',
        { class: barCount > MAX_WIDE_BARS ? 'bars thin' : 'bars' },
        visible.map((bar, at) => barElement(bar, top, {
          value: barPx >= MIN_VALUE_PX ? digits(bar.ps / unit.ps, 1) : '',
          name: (first + at) % nameEvery === 0 ? bar.name : '',
        })),
      ),
      lines().filter(([ps]) => ps <= longest).map(([ps, name]) => line('mark', ps, name)),
    );
    (bars().find((_, at) => isSelected(first + at)) ?? bars()[0]).tabIndex = 0;
    brush.draw(first, visibleCount);
    mark();
  }

  /** @param {Bar} bar @param {number} top the time at the top of the chart, ps @param {Record<string, string>} texts */
  const barElement = ({ key, title, ps, line_ps, parts }, top, { value, name }) =>
    h(
      'div',
      { role: 'option', 'data-step': key, tabindex: -1, 'data-ps': ps, title },
      h('span', { class: 'visually-hidden' }, title),
      h(
        'div',
        { class: 'plot' },
        h(
          'div',
          { class: 'pile', 'aria-hidden': 'true' },
          parts.map(([part_ps, { style, ...attributes }]) =>
            h('i', { ...attributes, style: { ...style, height: percent(part_ps / top) } }),
          ),
          value && h('span', { class: 'value' }, value),
        ),
        line_ps ? h('i', { class: 'busy-line', style: { bottom: percent(line_ps / top) } }) : null,
      ),
      h('span', { class: 'name', 'aria-hidden': 'true' }, name),
    );

  /** Marks the selected bar. */
  function mark() {
    bars().forEach((bar, at) => { bar.ariaSelected = String(isSelected(first + at)); });
  }

  const bars = () => /** @type {HTMLElement[]} */ ([...element.querySelectorAll('[role=option]')]);
  const indexOf = (/** @type {HTMLElement} */ bar) => first + bars().indexOf(bar);

  /** Focuses a bar by its index among the visible ones; scrolls if it is not visible. @param {number} at */
  function focus(at) {
    if (!bars()[at]) brush.move(first + Math.sign(at));
    (bars()[at] ?? bars()[at - Math.sign(at)])?.focus();
  }
  onKeys(element, '[role=option]', {
    ArrowRight: (bar) => focus(bars().indexOf(bar) + 1),
    ArrowLeft: (bar) => focus(bars().indexOf(bar) - 1),
    Enter: (bar) => open(indexOf(bar)),
    ' ': (bar) => select(indexOf(bar)),
  });
  element.addEventListener('click', ({ target }) => {
    const bar = /** @type {HTMLElement|null} */ (/** @type {Element} */ (target).closest('[role=option]'));
    if (bar) open(indexOf(bar));
  });

  let frame = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    const done = beginActivity();
    frame = requestAnimationFrame(() => { if (barCount && element.isConnected) draw(); });
    requestAnimationFrame(done);
  }).observe(element);

  return {
    elements: [element, brush.element],
    draw,
    mark,
    /**
     * Replaces the bars, which the caller then draws.
     * @param {number[]} times of all bars @param {(index: number) => string} nameOf
     */
    set(times, nameOf) {
      barCount = times.length;
      first = 0;
      brush.set(times, nameOf);
    },
    /** Scrolls to a bar. @param {number} index */
    reveal(index) {
      if (index < first || index >= first + visibleCount) brush.move(index - visibleCount / 2);
    },
  };
}
