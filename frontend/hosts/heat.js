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
/** @typedef {import('./paint.js').Marked} Marked */
/** @typedef {import('./layout.js').HeatRow} HeatRow */

/**
 * @param {object} on
 * @param {(host: number, step: number) => void} on.cell @param {(host: number) => void} on.host
 * @param {(from: number, to: number) => void} on.steps selects steps, both ends included, for all hosts
 * @param {(host: number, step: number) => void} on.open opens a step in the timeline
 * @param {(host: number, step: number) => string[]} on.words the tooltip's texts; the first is the title
 */
export function createHeat(on) {
  const canvas = h('canvas', null);
  const list = h('div', { role: 'grid', class: 'hidden', 'aria-label': 'Hosts' });
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
  const tip = h('div', { class: 'tooltip none', role: 'tooltip' });
  const brush = createStepBrush('heat-brush', (step) => {
    first = step;
    request();
  });
  /** @type {Omit<Picture, 'first'|'fits'>|null} */
  let picture = null;
  /** @type {Marked} */
  let marked = { host: 0, range: null };
  /** First and current step of a drag. @type {[number, number]|null} */
  let dragged = null;
  let palette = readPalette();
  let first = 0;
  let fits = 1;
  let shown = false;

  const steps = () => picture?.last.length ?? 0;
  const rowId = (/** @type {HeatRow} */ { hosts: [host] }) => `heat-row-${host}`;

  function draw() {
    const width = element.clientWidth;
    if (!picture || !shown || !width) return;
    fits = columnsThatFit(width - LEFT - RIGHT, steps());
    first = clamp(first, 0, steps() - fits);
    element.style.height = `${picture.bottom}px`;
    const whole = { ...picture, first, fits };
    const range = /** @type {Marked['range']} */ (dragged && [minimum(dragged), maximum(dragged)]) ?? marked.range;
    paint(penOn(canvas, width, picture.bottom, palette), width, palette, whole, { ...marked, range });
    brush.draw(first, fits);
    // Tests read this instead of pixels.
    Object.assign(/** @type {any} */ (window).xi, {
      drawn: {
        rows: picture.rows.map(({ hosts, y, h: tall, named }) => ({ hosts, y, h: tall, named })),
        marked: { ...marked, range },
        scale: [picture.from, picture.to],
        arrival: picture.arrival,
        columns: Array.from({ length: fits }, (_, index) => ({
          step: first + index,
          x: columnX(index, fits, width),
          w: columnX(index + 1, fits, width) - columnX(index, fits, width),
        })),
      },
    });
  }

  const request = oncePerFrame(draw);

  /** @param {MouseEvent} event */
  function cellUnder(event) {
    const box = element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const column = columnAt(x, fits, box.width);
    const row = picture ? rowAt(picture.rows, y) : -1;
    return {
      step: column < 0 ? -1 : first + column,
      host: picture?.rows[row]?.hosts[0] ?? -1,
      label: x < LEFT || x > box.width - RIGHT,
    };
  }

  onDrag(element, (event) => {
    dragged = null;
    const { step: from } = cellUnder(event);
    if (from < 0 || event.button) return null;
    return (next) => {
      const box = element.getBoundingClientRect();
      const to =
        first + clamp(Math.floor(((next.clientX - box.left - LEFT) * fits) / (box.width - LEFT - RIGHT)), 0, fits - 1);
      if (to === from && !dragged) return;
      dragged = [from, to];
      request();
    };
  });
  element.addEventListener('click', (event) => {
    const { step, host, label } = cellUnder(event);
    if (dragged) {
      const [a, b] = dragged;
      dragged = null;
      return on.steps(Math.min(a, b), Math.max(a, b));
    }
    if (label && host >= 0) on.host(host);
    else if (step >= 0 && host >= 0) on.cell(host, step);
    else if (step >= 0) on.steps(step, step);
  });
  element.addEventListener('dblclick', (event) => {
    const { step, host } = cellUnder(event);
    if (step >= 0 && host >= 0) on.open(host, step);
  });
  element.addEventListener('pointermove', (event) => {
    const { step, host } = cellUnder(event);
    if (tip.classList.toggle('none', step < 0 || host < 0 || Boolean(dragged))) return;
    const [title, ...words] = on.words(host, step);
    fill(tip, h('b', null, title), words.join(' · '));
    tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
  });
  element.addEventListener('pointerleave', () => tip.classList.add('none'));

  /** The step that the keyboard moves from: the selected one, or the first visible. */
  const currentStep = () => marked.range?.[0] ?? first;
  /** @param {number} by */
  function moveStep(by) {
    const at = marked.range ? (by > 0 ? marked.range[1] : marked.range[0]) + by : first;
    selectStep(clamp(at, 0, steps() - 1));
  }
  /** @param {number} step */
  function selectStep(step) {
    on.cell(marked.host, step);
  }
  /** @param {number} by */
  function moveHost(by) {
    if (!picture) return;
    const at = picture.rows.findIndex(({ hosts }) => hosts.includes(marked.host));
    const row = picture.rows[clamp(at + by, 0, picture.rows.length - 1)];
    if (!row) return;
    if (marked.range && marked.range[0] === marked.range[1]) on.cell(row.hosts[0], marked.range[0]);
    else on.host(row.hosts[0]);
  }
  /** Selects the next or previous step in which the host is last. @param {1|-1} by */
  function selectLast(by) {
    const start = marked.range ? currentStep() + by : by > 0 ? 0 : steps() - 1;
    for (let step = start; step >= 0 && step < steps(); step += by) {
      if (picture?.last[step] === marked.host) return selectStep(step);
    }
  }
  onKeys(element, '*', {
    ArrowRight: () => moveStep(1),
    ArrowLeft: () => moveStep(-1),
    ArrowDown: () => moveHost(1),
    ArrowUp: () => moveHost(-1),
    Home: () => selectStep(0),
    End: () => selectStep(steps() - 1),
    Enter: () => on.open(marked.host, currentStep()),
    n: () => selectLast(1),
    N: () => selectLast(-1),
  });
  new ResizeObserver(request).observe(element);

  return {
    element: h('div', { class: 'heat-place' }, element, brush.element, tip),
    /**
     * @param {Omit<Picture, 'first'|'fits'>} next
     * @param {number[]} late maximum of each step, for the brush
     * @param {(row: HeatRow) => string} text describes a row
     */
    set(next, late, text) {
      picture = next;
      brush.set(late, next.step);
      fill(
        list,
        next.rows.map((row) =>
          h(
            'div',
            { role: 'row', id: rowId(row), 'data-testid': rowId(row) },
            h('span', { role: 'gridcell' }, text(row)),
          ),
        ),
      );
      request();
    },
    /** @param {Marked} next */
    mark(next) {
      marked = next;
      const row = picture?.rows.find(({ hosts }) => hosts.includes(next.host));
      if (row) element.setAttribute('aria-activedescendant', rowId(row));
      const at = next.range?.[0];
      if (at !== undefined && (at < first || at >= first + fits)) first = at - Math.floor(fits / 2);
      request();
    },
    recolor() {
      palette = readPalette();
      request();
    },
    /** @param {boolean} visible */
    show(visible) {
      shown = visible;
      tip.classList.add('none');
      request();
    },
  };
}
