/** The lanes on screen: one canvas that stays in place while rows scroll under it, one drawing per frame at most. */

import { h } from '../lib/dom.js';
import { begin } from '../lib/activity.js';
import { readPalette } from '../lib/theme.js';
import { createScale } from './scale.js';
import { layoutRows } from './layout.js';
import { paint } from './paint.js';
import { RULER } from './ruler.js';
import { arrowsOf, drawFlows } from './flows.js';
import { resize } from './strip.js';
import { phaseTones } from './tones.js';
import { visibleSlices } from './scene.js';
import { createRowList, laneId } from './access.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('../lib/types').Ready} Ready */

const TOP = RULER + 3;
const LABELS_PX = { wide: 188, narrow: 132 };
const NARROW_BELOW = 1200;
const MOST_FOLDED_ROWS = 16;

/**
 * @param {import('./model.js').Model} model
 * @param {object} on
 * @param {() => {hosts: string[], devices: string[]}} on.chosen
 * @param {(scene: Scene, wanted: import('../lib/types').Row[]) => void} on.frame before each drawing: what it needs
 * @param {() => import('./columns.js').Slices|null} on.slices
 * @param {(natural: number) => number} on.height what height the lanes get
 * @param {(palette: import('../lib/theme.js').Palette) => void} on.drawn
 */
export function createLanes(model, on) {
  const canvas = h('canvas', null);
  const spacer = h('div', null);
  const list = createRowList();
  const element = h('div', {
    class: 'lanes', role: 'application', tabindex: 0, 'data-testid': 'timeline-canvas',
    'aria-label': 'Timeline: arrows move between slices and rows, Enter selects' }, canvas, spacer, list.element);
  /** @type {Ready|null} */
  let session = null;
  let palette = readPalette();
  let tones = new Map();
  let visible = false;
  /** @type {(() => void)|null} */
  let pending = null;
  /** @type {{lanes: import('./layout.js').Lane[], height: number}} */
  let layout = { lanes: [], height: 0 };

  const left = () => (innerWidth < NARROW_BELOW ? LABELS_PX.narrow : LABELS_PX.wide);

  /** Rows that the selection involves, down to which depth: never folded away. @returns {Map<string, number>} */
  function taking() {
    const { selection, detail } = model.state;
    const places = [...(detail ? [...detail.flow.from, ...detail.flow.to] : []), ...(selection && selection.kind !== 'window' ? [selection] : [])];
    const deepest = new Map();
    for (const { row, depth } of places) deepest.set(row, Math.max(depth, deepest.get(row) ?? 0));
    return deepest;
  }

  function arrange() {
    if (!session) return;
    layout = layoutRows(session.rows, { ...on.chosen(), open: model.state.open, taking: taking(), all: session.devices, unit: palette.unit });
    list.set(layout.lanes);
  }

  /** @returns {Scene} */
  function scene() {
    const width = element.clientWidth;
    return {
      scale: createScale(model.state.window, left(), width), lanes: layout.lanes, top: TOP, scroll: element.scrollTop,
      width, height: element.clientHeight, slices: on.slices(),
    };
  }

  /** Rows in sight and one screen around them. @param {Scene} now */
  function wanted(now) {
    const [from, to] = [now.scroll - now.height, now.scroll + 2 * now.height];
    const near = now.lanes.filter((lane) => lane.y + lane.h >= from && lane.y <= to);
    return [...new Set(near.flatMap((lane) => (lane.kind === 'more' ? lane.rows.slice(0, MOST_FOLDED_ROWS) : lane.rows)))];
  }

  function draw() {
    if (!session || !visible || !element.clientWidth || innerHeight === 0) return;
    arrange();
    const natural = layout.height + TOP;
    const tall = on.height(natural);
    if (element.style.height !== `${tall}px`) element.style.height = `${tall}px`;
    const now = scene();
    const rest = Math.max(0, natural - now.height);
    if (spacer.style.height !== `${rest}px`) spacer.style.height = `${rest}px`;
    on.frame(now, wanted(now));
    now.slices = on.slices();
    const g = resize(canvas, now.width, now.height);
    const { state } = model;
    const flow = state.flows && state.detail ? state.detail.flow : { from: [], to: [] };
    const selected = state.selection?.kind === 'event' ? state.selection : null;
    paint(g, now, palette, tones, {
      selection: state.selection, preview: state.preview, hover: state.hover, cursor: state.cursor, pointer: state.pointer,
      focused: document.activeElement === element, hits: state.hits,
      partners: selected ? [...flow.from, ...flow.to] : state.piece ? [state.piece] : [],
    });
    if (element.matches(':focus-visible')) drawFocus(g, now);
    if (selected) drawFlows(g, now, palette, arrowsOf(selected, flow));
    publish(now);
    on.drawn(palette);
  }

  /** The ring around the lanes: an outline of the element would lie under its canvas. @param {CanvasRenderingContext2D} g @param {Scene} now */
  function drawFocus(g, now) {
    g.strokeStyle = palette.focus;
    g.lineWidth = 2;
    g.strokeRect(1, 1, now.width - 2, now.height - 2);
  }

  /** What tests read instead of pixels. @param {Scene} now */
  function publish(now) {
    const { selection, hover, cursor, window: span } = model.state;
    const drawn = {
      rows: now.lanes.map(({ id, row, kind, depth, label, y, h: tall, fold }) => (
        { id, row: row.id, kind: kind === 'slices' ? row.kind : kind, depth, label, y: now.top + y - now.scroll, h: tall, open: fold?.open ?? null })),
      get slices() { return visibleSlices(now); },
      selection, hover, cursor, window: span,
    };
    Object.assign(/** @type {any} */ (window).xi, { drawn });
  }

  function request() {
    if (pending) return;
    pending = begin();
    requestAnimationFrame(() => {
      const done = pending;
      pending = null;
      try {
        draw();
      } finally {
        done?.();
      }
    });
  }

  element.addEventListener('scroll', () => {
    model.set({ hover: null });
    request();
  }, { passive: true });
  for (const name of ['focus', 'blur']) element.addEventListener(name, request);
  new ResizeObserver(request).observe(element);
  addEventListener('resize', request);
  model.on((changed) => {
    if (changed.has('cursor')) {
      const { cursor } = model.state;
      if (cursor) element.setAttribute('aria-activedescendant', laneId(cursor.lane));
      else element.removeAttribute('aria-activedescendant');
    }
    request();
  });

  return {
    element, scene, left, request, arrange,
    get lanes() { return layout.lanes; },
    /** @param {Ready} next @param {boolean} [more] the same session with more rows */
    open(next, more = false) {
      session = next;
      tones = phaseTones(next.phases);
      if (!more) element.scrollTop = 0;
      arrange();
      request();
    },
    recolor() {
      palette = readPalette();
      request();
    },
    /** @param {boolean} shown */
    show(shown) {
      visible = shown;
      if (shown) request();
    },
    /** Brings a lane into sight. @param {import('./layout.js').Lane} lane */
    reveal(lane) {
      const room = element.clientHeight - TOP;
      if (lane.y < element.scrollTop) element.scrollTop = lane.y - 4;
      else if (lane.y + lane.h > element.scrollTop + room) element.scrollTop = lane.y + lane.h - room + 4;
    },
  };
}
/** @typedef {ReturnType<typeof createLanes>} Lanes */
