/**
 * The heat map: a canvas, a hidden list of its rows for screen readers, and a brush if there are many steps.
 */

import { fill, h, onDrag, onKeys } from '../lib/dom.js';
import { clamp } from '../lib/axis.js';
import { oncePerFrame } from '../lib/activity.js';
import { readPalette } from '../lib/theme.js';
import { penOn } from '../timeline/draw.js';
import { LEFT, RIGHT, columnAt, columnX, columnsThatFit, rowAt } from './layout.js';
import { paint } from './paint.js';
import { createStepBrush } from '../lib/step-brush.js';
import { maximum, minimum } from '../lib/totals.js';

/** @typedef {import('./paint.js').Picture} Picture */
/** @typedef {import('./paint.js').HeatSelection} HeatSelection */
/** @typedef {import('./layout.js').HeatRow} HeatRow */

/**
 * The host whose value a cell shows: of several in a thin row, the one with the largest value.
 * @param {Pick<HeatRow, 'hosts'>} row @param {number} step @param {Picture['valueOf']} valueOf
 */
export const shownHost = ({ hosts }, step, valueOf) =>
  hosts.reduce((best, host) => ((valueOf(host, step) ?? -1) > (valueOf(best, step) ?? -1) ? host : best));

/**
 * @param {object} on
 * @param {(host: number, step: number) => void} on.cell @param {(host: number) => void} on.host
 * @param {(from: number, to: number) => void} on.steps selects steps, both ends included, for all hosts
 * @param {(host: number, step: number) => void} on.open opens a step in the timeline
 * @param {(host: number, step: number) => string[]} on.cellTexts the tooltip's texts; the first is the title
 */
export function createHeat(on) {
  const canvas = h('canvas', null);
  const list = h('div', { role: 'grid', class: 'visually-hidden', 'aria-label': 'Hosts' });
  const element = h(
    'div',
    {
      class: 'heat',
      role: 'application',
      tabindex: 0,
      'data-testid': 'heat-canvas',
      'aria-label':
        'Heat map: arrows move between steps and hosts, Enter opens the timeline, n and N the steps in which the ' +
        'host is last',
    },
    canvas,
    list,
  );
  const tooltip = h('div', { class: 'tooltip hidden', role: 'tooltip' });
  const brush = createStepBrush('heat-brush', (step) => {
    first = step;
    requestDraw();
  });
  /** @type {Omit<Picture, 'first'|'columnCount'>|null} */
  let picture = null;
  /** @type {HeatSelection} */
  let selection = { host: 0, range: null };
  /** The first and the current step of a drag. @type {[number, number]|null} */
  let dragged = null;
  let palette = readPalette();
  let first = 0;
  let columnCount = 1;
  let isVisible = false;

  const stepCount = () => picture?.lastHosts.length ?? 0;
  const rowId = (/** @type {HeatRow} */ { hosts: [host] }) => `heat-row-${host}`;

  function draw() {
    const width = element.clientWidth;
    if (!picture || !isVisible || !width) return;
    columnCount = columnsThatFit(width - LEFT - RIGHT, stepCount());
    first = clamp(first, 0, stepCount() - columnCount);
    element.style.height = `${picture.bottom}px`;
    const visiblePicture = { ...picture, first, columnCount };
    /** @type {HeatSelection['range']} */
    const range = dragged ? [minimum(dragged), maximum(dragged)] : selection.range;
    paint(penOn(canvas, width, picture.bottom, palette), width, palette, visiblePicture, { ...selection, range });
    brush.draw(first, columnCount);
    // Tests read this instead of pixels.
    Object.assign(/** @type {any} */ (window).xi, {
      drawn: {
        rows: picture.rows,
        marked: { ...selection, range },
        scale: [picture.from, picture.to],
        arrival: picture.showsArrival,
        columns: Array.from({ length: columnCount }, (_, index) => ({
          step: first + index,
          x: columnX(index, columnCount, width),
          w: columnX(index + 1, columnCount, width) - columnX(index, columnCount, width),
        })),
      },
    });
  }

  const requestDraw = oncePerFrame(draw);

  /** @param {MouseEvent} event */
  function cellUnder(event) {
    const box = element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const column = columnAt(x, columnCount, box.width);
    const step = column < 0 ? -1 : first + column;
    const row = picture?.rows[rowAt(picture.rows, y)];
    return {
      step,
      host: row && picture ? shownHost(row, step, picture.valueOf) : -1,
      isOnLabel: x < LEFT || x > box.width - RIGHT,
    };
  }

  onDrag(element, (event) => {
    dragged = null;
    const { step: from } = cellUnder(event);
    if (from < 0 || event.button) return null;
    return (next) => {
      const box = element.getBoundingClientRect();
      const column = ((next.clientX - box.left - LEFT) * columnCount) / (box.width - LEFT - RIGHT);
      const to = first + clamp(Math.floor(column), 0, columnCount - 1);
      if (to === from && !dragged) return;
      dragged = [from, to];
      requestDraw();
    };
  });
  element.addEventListener('click', (event) => {
    const { step, host, isOnLabel } = cellUnder(event);
    if (dragged) {
      const [a, b] = dragged;
      dragged = null;
      return on.steps(Math.min(a, b), Math.max(a, b));
    }
    if (isOnLabel && host >= 0) on.host(host);
    else if (step >= 0 && host >= 0) on.cell(host, step);
    else if (step >= 0) on.steps(step, step);
  });
  element.addEventListener('dblclick', (event) => {
    const { step, host } = cellUnder(event);
    if (step >= 0 && host >= 0) on.open(host, step);
  });
  element.addEventListener('pointermove', (event) => {
    const { step, host } = cellUnder(event);
    if (tooltip.classList.toggle('hidden', step < 0 || host < 0 || Boolean(dragged))) return;
    const [title, ...texts] = on.cellTexts(host, step);
    fill(tooltip, h('b', null, title), texts.join(' · '));
    tooltip.style.left = `${Math.min(event.clientX + 12, innerWidth - tooltip.offsetWidth - 8)}px`;
    tooltip.style.top = `${Math.min(event.clientY + 16, innerHeight - tooltip.offsetHeight - 8)}px`;
  });
  element.addEventListener('pointerleave', () => tooltip.classList.add('hidden'));

  /** The first selected step, or the first visible one: the step that Enter opens. */
  const currentStep = () => selection.range?.[0] ?? first;
  /** @param {number} by */
  function moveStep(by) {
    const step = selection.range ? (by > 0 ? selection.range[1] : selection.range[0]) + by : first;
    selectStep(clamp(step, 0, stepCount() - 1));
  }
  /** @param {number} step */
  function selectStep(step) {
    on.cell(selection.host, step);
  }
  /** @param {number} by */
  function moveHost(by) {
    if (!picture) return;
    const index = picture.rows.findIndex(({ hosts }) => hosts.includes(selection.host));
    const row = picture.rows[clamp(index + by, 0, picture.rows.length - 1)];
    if (!row) return;
    if (selection.range && selection.range[0] === selection.range[1]) on.cell(row.hosts[0], selection.range[0]);
    else on.host(row.hosts[0]);
  }
  /**
   * Selects the next or previous step in which the host is last; without a selected step, the first or the last one.
   * @param {1|-1} by
   */
  function selectLast(by) {
    const start = selection.range ? currentStep() + by : by > 0 ? 0 : stepCount() - 1;
    for (let step = start; step >= 0 && step < stepCount(); step += by) {
      if (picture?.lastHosts[step] === selection.host) return selectStep(step);
    }
  }
  onKeys(element, '*', {
    ArrowRight: () => moveStep(1),
    ArrowLeft: () => moveStep(-1),
    ArrowDown: () => moveHost(1),
    ArrowUp: () => moveHost(-1),
    Home: () => selectStep(0),
    End: () => selectStep(stepCount() - 1),
    Enter: () => on.open(selection.host, currentStep()),
    n: () => selectLast(1),
    N: () => selectLast(-1),
  });
  new ResizeObserver(requestDraw).observe(element);

  return {
    element: h('div', { class: 'heat-place' }, element, brush.element, tooltip),
    /**
     * @param {Omit<Picture, 'first'|'columnCount'>} next
     * @param {number[]} maxima the largest value of each step, for the brush
     * @param {(row: HeatRow) => string} textOf describes a row
     */
    set(next, maxima, textOf) {
      picture = next;
      brush.set(maxima, next.stepLabel);
      fill(
        list,
        next.rows.map((row) =>
          h(
            'div',
            { role: 'row', id: rowId(row), 'data-testid': rowId(row) },
            h('span', { role: 'gridcell' }, textOf(row)),
          ),
        ),
      );
      requestDraw();
    },
    /** @param {HeatSelection} next */
    mark(next) {
      selection = next;
      const row = picture?.rows.find(({ hosts }) => hosts.includes(next.host));
      if (row) element.setAttribute('aria-activedescendant', rowId(row));
      const step = next.range?.[0];
      if (step !== undefined && (step < first || step >= first + columnCount)) {
        first = step - Math.floor(columnCount / 2);
      }
      requestDraw();
    },
    recolor() {
      palette = readPalette();
      requestDraw();
    },
    /** @param {boolean} visible */
    show(visible) {
      isVisible = visible;
      tooltip.classList.add('hidden');
      requestDraw();
    },
  };
}
