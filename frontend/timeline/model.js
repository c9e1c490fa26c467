/** The timeline's state, its changes, and the link keys that follow from it. */

import { spanText, spanValue, toNs } from '../lib/link.js';
import { shiftAt } from './align.js';
import { clampSpan, frameSpan } from './scale.js';
import { foldsText, foldsValue } from './layout.js';
import { selectionText, selectionValue } from './selection.js';

/** @typedef {import('./scale.js').Span} Span */
/** @typedef {import('./selection.js').Selection} Selection */
/** @typedef {import('./scene.js').DrawnSlice} DrawnSlice */
/** @typedef {Span & {row: string, depth: number}} Place */
/**
 * @typedef {object} TimelineState
 * @property {Span} window what the lanes show
 * @property {Selection|null} selection
 * @property {import('../lib/routes').EventDetails|null} detail of the selected event
 * @property {Span|null} preview a window being dragged
 * @property {DrawnSlice|null} hover @property {number|null} pointer x of the hair line
 * @property {DrawnSlice|null} cursor where the keyboard is
 * @property {Map<string, boolean>} open folds that differ from their initial state
 * @property {boolean} flows @property {number[]} hits
 * @property {Place|null} piece of the selected gap's chain
 * @property {import('../lib/routes').CollectiveArrivals|null} delayed by the selected gap
 * @property {import('./align.js').Alignment|null} align
 */
/** @typedef {ReturnType<typeof createModel>} Model */

/** Spans narrower than this on screen are zoomed to. */
const MIN_VISIBLE_PX = 4;

/** State that a new selection or session resets. */
const EMPTY = { detail: null, preview: null, hover: null, pointer: null, cursor: null, piece: null, delayed: null };

/** @param {import('../lib/link.js').Link} link @param {() => number} lanesPx width of the lanes */
export function createModel(link, lanesPx) {
  let duration = 1;
  /** @type {TimelineState} */
  const state = {
    ...EMPTY,
    window: { start_ps: 0, end_ps: 1 },
    selection: null,
    open: new Map(),
    flows: true,
    hits: [],
    align: null,
  };
  /** @type {((changed: Set<keyof TimelineState>) => void)[]} */
  const listeners = [];
  let timer = 0;
  /** Number of sessions left so far. */
  let departures = 0;

  /** Links follow panning with a pause: browsers limit how often an address may change. */
  function writeWindow() {
    timer = 0;
    const { start_ps, end_ps } = state.window;
    link.set({ w: start_ps <= 0 && end_ps >= duration ? '' : spanText(start_ps, end_ps) }, 'replace');
  }

  /** Applies a patch; listeners get the keys that changed by identity. @param {Partial<TimelineState>} patch */
  function set(patch) {
    const changed = new Set(
      /** @type {(keyof TimelineState)[]} */ (Object.keys(patch)).filter((key) => state[key] !== patch[key]),
    );
    Object.assign(state, patch);
    if (changed.size) listeners.forEach((listener) => listener(changed));
  }

  const model = {
    /** @type {Readonly<TimelineState>} */
    state, set,
    /** @param {(changed: Set<keyof TimelineState>) => void} listener */
    on(listener) { listeners.push(listener); },
    get duration() { return duration; },
    /**
     * Takes the state from the link.
     * @param {number} length of the session; an empty session shows 1 ps
     * @returns {string[]} messages about link values that do not fit
     */
    open(length) {
      duration = Math.max(1, length);
      const { w, sel, x } = link.state;
      const span = spanValue(w ?? '');
      const selection = selectionValue(sel);
      const fits = (/** @type {Span|null} */ linked) => linked !== null && linked.start_ps < duration;
      set({
        ...EMPTY,
        hits: [],
        open: foldsValue(x),
        window: clampSpan(span && fits(span) ? span : { start_ps: 0, end_ps: duration }, duration, lanesPx()),
        selection: selection && fits(selection) ? { ...selection, end_ps: Math.min(duration, selection.end_ps) } : null,
      });
      return [
        w && !fits(span) ? 'The linked window is not in this session.' : '',
        sel && !fits(selection) ? 'The linked selection is not in this session.' : '',
      ].filter(Boolean);
    },
    /** Leaves the session: pending answers become stale. */
    leave() {
      departures += 1;
      set({ align: null });
    },
    /**
     * What tells, when an answer comes, whether what it was asked for is still wanted: nothing else was opened or
     * selected.
     * @returns {() => boolean}
     */
    stays() {
      const [place, selected] = [departures, selectionText(state.selection)];
      return () => departures === place && selectionText(state.selection) === selected;
    },
    /** @param {Span} span */
    look(span) {
      const next = clampSpan(span, duration, lanesPx());
      const { start_ps, end_ps } = state.window;
      if (next.start_ps === start_ps && next.end_ps === end_ps) return;
      set({ window: next });
      if (!timer) timer = setTimeout(writeWindow, 250);
    },
    /** Centres the window at a time. @param {number} ps */
    goTo(ps) {
      const { start_ps, end_ps } = state.window;
      const half = (end_ps - start_ps) / 2;
      model.look({ start_ps: ps - half, end_ps: ps + half });
    },
    /**
     * Brings a span into view; zooms in if it is too narrow to see.
     * @param {Span} span
     * @param {number} marginShare share of its length
     * @param {boolean} [all] show the whole span
     */
    bringIntoView({ start_ps, end_ps }, marginShare, all = false) {
      const { window: shown } = state;
      const length = end_ps - start_ps;
      const whole = shown.end_ps - shown.start_ps;
      if (length * lanesPx() < MIN_VISIBLE_PX * whole || (all && length > whole)) {
        model.look(frameSpan({ start_ps, end_ps }, marginShare));
      } else if (
        all ? start_ps < shown.start_ps || end_ps > shown.end_ps : start_ps >= shown.end_ps || end_ps <= shown.start_ps
      ) {
        model.goTo((start_ps + end_ps) / 2);
      }
    },
    /** @param {Selection|null} selection */
    select(selection) {
      const rounded =
        selection?.kind === 'window'
          ? {
              ...selection,
              start_ps: toNs(Math.max(0, selection.start_ps)),
              end_ps: toNs(Math.min(duration, selection.end_ps)),
            }
          : selection;
      clearTimeout(timer);
      writeWindow();
      set({ selection: rounded, detail: null, piece: null, delayed: null });
      link.set({ sel: selectionText(rounded) }, 'push');
    },
    /** @param {string} id @param {boolean} open */
    fold(id, open) {
      const next = new Map(state.open);
      if (!next.delete(id)) next.set(id, open);
      set({ open: next });
      link.set({ x: foldsText(next) }, 'push');
    },
    /**
     * Where a place is drawn; null if aligned device rows leave it out.
     * @template {Place} T
     * @param {T|null} place
     * @returns {T|null}
     */
    drawn(place) {
      const shift = place && shiftAt(state.align, place.row, place.start_ps);
      return place && shift !== null
        ? { ...place, start_ps: place.start_ps - shift, end_ps: place.end_ps - shift }
        : null;
    },
  };
  return model;
}
