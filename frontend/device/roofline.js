/** The roofline's canvas with pointer and keys; the table of ops has the same values. */

import { fill, h, onKeys } from '../lib/dom.js';
import { oncePerFrame } from '../lib/activity.js';
import { clamp } from '../lib/axis.js';
import { digits, share, timeText } from '../lib/format.js';
import { readPalette } from '../lib/theme.js';
import { penOn } from '../timeline/draw.js';
import { BOUND_WORDS } from './rows.js';
import { axesOf, dotAt, dotsOf } from './layout.js';
import { paintRoofline } from './paint.js';

/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').Dot} Dot */
/**
 * @typedef {object} RooflineInput
 * @property {OpRow[]} rows all ops that the server lists singly
 * @property {(row: OpRow) => boolean} passes whether an op passes the filters
 * @property {import('./layout.js').Roof} roof
 * @property {string} precision
 * @property {Map<string, number>} tones by path @property {string} selectedId of an op; empty for none
 */

/** Texts that describe an op, its name first, for the tooltip and for screen readers. @param {OpRow} row */
export const opTexts = (row) => [
  row.op,
  timeText(row.ps),
  row.path ?? 'no annotation',
  ...(row.flops_share === null ? [] : [`${share(row.flops_share)} of peak FLOP/s`]),
  ...(row.bytes_share === null ? [] : [`${share(row.bytes_share)} of HBM bandwidth`]),
  ...(row.intensity === null ? [] : [`${digits(row.intensity, 1)} FLOP/byte`]),
  `bound by: ${BOUND_WORDS[row.bound_by]}`,
];

/**
 * @param {object} on
 * @param {(row: OpRow) => void} on.select
 * @param {(row: OpRow) => void} on.open opens the op's longest run in the timeline
 * @param {(row: OpRow|null) => void} on.highlight
 */
export function createRoofline(on) {
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const element = h(
    'div',
    {
      class: 'roofline',
      role: 'application',
      tabindex: 0,
      'data-testid': 'roofline',
      'aria-label':
        'Ops against the roof: arrow keys move between them by time, Enter opens the longest run in the timeline, l ' +
        'labels all; the table of ops has the same data',
    },
    canvas,
  );
  const tooltip = h('div', { class: 'tooltip hidden', role: 'tooltip' });
  let palette = readPalette();
  /** @type {RooflineInput|null} */
  let input = null;
  /** @type {Dot[]} */
  let dots = [];
  let highlightedId = '';
  /** @type {import('./paint.js').Picture['labelCache']} */
  const labelCache = { key: '', labels: [] };
  let hasAllLabels = false;
  let isVisible = false;

  function draw() {
    const { clientWidth: width, clientHeight: height } = element;
    if (!input || !isVisible || !width || !height) return;
    const { rows, roof, precision, tones, selectedId, passes } = input;
    const axes = axesOf(rows, roof);
    dots = dotsOf(rows, axes, width, height);
    paintRoofline(penOn(canvas, width, height, palette), width, height, palette, {
      dots,
      axes,
      roof,
      precision,
      selectedId,
      highlightedId,
      hasAllLabels,
      labelCache,
      isFaint: ({ row }) => !passes(row),
      toneOf: ({ row }) => (row.path === null ? -1 : tones.get(row.path)),
    });
    // Tests read this instead of pixels.
    Object.assign(/** @type {any} */ (window).xi, {
      drawn: {
        dots: dots.map(({ row, x, y, r }) => ({ id: row.id, x, y, r, faint: !passes(row) })),
        labels: labelCache.labels.map(({ dot, box }) => ({ id: dot.row.id, ...box })),
        axes,
        chosen: selectedId,
      },
    });
  }
  const requestDraw = oncePerFrame(draw);

  /** @param {MouseEvent} event */
  function dotUnder(event) {
    const box = element.getBoundingClientRect();
    return dotAt(dots.filter(({ row }) => input?.passes(row)), event.clientX - box.left, event.clientY - box.top);
  }

  /** @param {Dot|null} dot */
  function highlight(dot) {
    const id = dot?.row.id ?? '';
    if (id === highlightedId) return;
    highlightedId = id;
    on.highlight(dot?.row ?? null);
    requestDraw();
  }

  element.addEventListener('click', (event) => {
    const dot = dotUnder(event);
    if (dot) on.select(dot.row);
  });
  element.addEventListener('dblclick', (event) => {
    const dot = dotUnder(event);
    if (dot) on.open(dot.row);
  });
  element.addEventListener('pointermove', (event) => {
    const dot = dotUnder(event);
    highlight(dot);
    element.classList.toggle('over', dot !== null);
    if (tooltip.classList.toggle('hidden', !dot) || !dot) return;
    const [title, ...texts] = opTexts(dot.row);
    fill(tooltip, h('b', null, title), texts.join(' · '));
    tooltip.style.left = `${Math.min(event.clientX + 12, innerWidth - tooltip.offsetWidth - 8)}px`;
    tooltip.style.top = `${Math.min(event.clientY + 16, innerHeight - tooltip.offsetHeight - 8)}px`;
  });
  element.addEventListener('pointerleave', () => {
    highlight(null);
    tooltip.classList.add('hidden');
  });

  /** @param {number} by */
  function move(by) {
    const passing = dots.filter(({ row }) => input?.passes(row));
    const index = passing.findIndex(({ row }) => row.id === input?.selectedId);
    const next = passing[index < 0 ? 0 : clamp(index + by, 0, passing.length - 1)];
    if (next) on.select(next.row);
  }
  onKeys(element, '*', {
    ArrowRight: () => move(1),
    ArrowDown: () => move(1),
    ArrowLeft: () => move(-1),
    ArrowUp: () => move(-1),
    Home: () => move(-Infinity),
    End: () => move(Infinity),
    Enter: () => {
      const selected = dots.find(({ row }) => row.id === input?.selectedId);
      if (selected) on.open(selected.row);
    },
    l: () => {
      hasAllLabels = !hasAllLabels;
      requestDraw();
    },
  });
  new ResizeObserver(requestDraw).observe(element);

  return {
    element: h('div', { class: 'roofline-place' }, element, tooltip),
    /** @param {RooflineInput} next */
    set(next) {
      input = next;
      requestDraw();
    },
    /** @param {boolean} visible */
    show(visible) {
      isVisible = visible;
      tooltip.classList.add('hidden');
      requestDraw();
    },
    /** Highlights an op from its row. @param {string} id */
    highlight(id) {
      if (id === highlightedId) return;
      highlightedId = id;
      requestDraw();
    },
    recolor() {
      palette = readPalette();
      requestDraw();
    },
  };
}
