/** The roofline's canvas with pointer and keys; the table of ops has the same values. */

import { fill, h, onKeys } from '../lib/dom.js';
import { oncePerFrame } from '../lib/activity.js';
import { digits, share, timeText } from '../lib/format.js';
import { readPalette } from '../lib/theme.js';
import { penOn } from '../timeline/draw.js';
import { BOUND_WORDS } from './rows.js';
import { axesOf, dotAt, dotsOf } from './layout.js';
import { paintRoofline } from './paint.js';

/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').Dot} Dot */
/**
 * @typedef {object} Shown
 * @property {OpRow[]} rows all listed ops
 * @property {(row: OpRow) => boolean} passes whether an op passes the filters
 * @property {import('./layout.js').Roof} roof
 * @property {string} precision
 * @property {Map<string, number>} tones by path @property {string} chosen id of an op
 */

/** Describes an op, for the tooltip and for screen readers. @param {OpRow} row */
export const wordsOf = (row) => [
  row.op,
  timeText(row.ps),
  row.path ?? 'no annotation',
  ...(row.flops_share === null ? [] : [`${share(row.flops_share)} of peak FLOP/s`]),
  ...(row.bytes_share === null ? [] : [`${share(row.bytes_share)} of HBM bandwidth`]),
  ...(row.intensity === null ? [] : [`${digits(row.intensity, 1)} FLOP/byte`]),
  `bound by ${BOUND_WORDS[row.bound_by]}`,
];

/**
 * @param {object} on
 * @param {(row: OpRow) => void} on.select
 * @param {(row: OpRow) => void} on.open opens the op's longest run in the timeline
 * @param {(row: OpRow|null) => void} on.lift
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
  const tip = h('div', { class: 'tooltip none', role: 'tooltip' });
  let palette = readPalette();
  /** @type {Shown|null} */
  let shown = null;
  /** @type {Dot[]} */
  let dots = [];
  let lifted = '';
  /** @type {import('./paint.js').Picture['labelCache']} */
  const labelCache = { key: '', labels: [] };
  let allLabels = false;
  let visible = false;

  function draw() {
    const { clientWidth: width, clientHeight: height } = element;
    if (!shown || !visible || !width || !height) return;
    const { rows, roof, precision, tones, chosen, passes } = shown;
    const axes = axesOf(rows, roof);
    dots = dotsOf(rows, axes, width, height);
    paintRoofline(penOn(canvas, width, height, palette), width, height, palette, {
      dots,
      axes,
      roof,
      precision,
      chosen,
      lifted,
      all: allLabels,
      labelCache,
      faint: ({ row }) => !passes(row),
      tone: ({ row }) => (row.path === null ? -1 : tones.get(row.path)),
    });
    // Tests read this instead of pixels.
    Object.assign(/** @type {any} */ (window).xi, {
      drawn: {
        dots: dots.map(({ row, x, y, r }) => ({ id: row.id, x, y, r, faint: !passes(row) })),
        labels: labelCache.labels.map(({ dot, box }) => ({ id: dot.row.id, ...box })),
        axes,
        chosen,
        lifted,
      },
    });
  }
  const request = oncePerFrame(draw);

  /** @param {MouseEvent} event */
  function dotUnder(event) {
    const box = element.getBoundingClientRect();
    return dotAt(dots.filter(({ row }) => shown?.passes(row)), event.clientX - box.left, event.clientY - box.top);
  }

  /** @param {Dot|null} dot */
  function lift(dot) {
    const id = dot?.row.id ?? '';
    if (id === lifted) return;
    lifted = id;
    on.lift(dot?.row ?? null);
    request();
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
    lift(dot);
    element.classList.toggle('over', dot !== null);
    if (tip.classList.toggle('none', !dot) || !dot) return;
    const [title, ...words] = wordsOf(dot.row);
    fill(tip, h('b', null, title), words.join(' · '));
    tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
  });
  element.addEventListener('pointerleave', () => {
    lift(null);
    tip.classList.add('none');
  });

  /** @param {number} by */
  function move(by) {
    const passing = dots.filter(({ row }) => shown?.passes(row));
    const at = passing.findIndex(({ row }) => row.id === shown?.chosen);
    const next = passing[at < 0 ? 0 : Math.max(0, Math.min(passing.length - 1, at + by))];
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
      const selected = dots.find(({ row }) => row.id === shown?.chosen);
      if (selected) on.open(selected.row);
    },
    l: () => {
      allLabels = !allLabels;
      request();
    },
  });
  new ResizeObserver(request).observe(element);

  return {
    element: h('div', { class: 'roofline-place' }, element, tip),
    /** @param {Shown} next */
    set(next) {
      shown = next;
      request();
    },
    /** @param {boolean} visibleNow */
    show(visibleNow) {
      visible = visibleNow;
      tip.classList.add('none');
      request();
    },
    /** Highlights an op from its row. @param {string} id */
    lift(id) {
      if (id === lifted) return;
      lifted = id;
      request();
    },
    recolor() {
      palette = readPalette();
      request();
    },
  };
}
