/** The timeline's state, its changes, and their link keys. */

import { listItems, listText, spanText, spanValue } from '../lib/link.js';
import { shiftAt } from './align.js';
import { clampSpan, frameSpan } from './scale.js';
import { foldsText, foldsValue } from './layout.js';
import { filterText, filterValue } from './legend.js';
import { selectionText, selectionValue } from './selection.js';

/** @typedef {import('./scale.js').Span} Span */
/** @typedef {import('./selection.js').Selection} Selection */
/** @typedef {import('./scene.js').DrawnSlice} DrawnSlice */
/** A span of time on one depth of a row. @typedef {Span & {row: string, depth: number}} RowSpan */
/**
 * @typedef {object} TimelineState
 * @property {Span} window the span that the lanes show
 * @property {Selection|null} selection
 * @property {import('../lib/routes').EventDetails|null} detail of the selected event
 * @property {Span|null} preview the window that is being dragged
 * @property {DrawnSlice|null} hover the slice under the pointer
 * @property {number|null} pointer x of the vertical line at the pointer
 * @property {DrawnSlice|null} cursor the slice that the arrow keys have reached
 * @property {Map<string, boolean>} open whether folds are open, if that differs from their initial state
 * @property {import('./legend.js').Filter} filter
 * @property {Set<string>} hiddenRows @property {Set<string>} pinnedRows ids of rows without a device, and of devices
 * @property {boolean} flows whether arrows are drawn
 * @property {number[]} hits start times of search hits, ps
 * @property {RowSpan|null} piece the outlined event in the chain of the selected gap
 * @property {import('../lib/routes').CollectiveArrivals|null} delayed the collective that the selected gap delays
 * @property {import('./align.js').Alignment|null} align null: device rows are drawn at their recorded times
 */
/** @typedef {ReturnType<typeof createModel>} Model */

/** Spans narrower than this on screen are zoomed to. */
const MIN_VISIBLE_PX = 4;
/** The same for gaps, whose length is read on screen, and how many of its lengths are shown on each side. */
const MIN_GAP_PX = 80;
const GAP_MARGIN_SHARE = 4;
/** Selections that only other views show: a finding, a pattern of gaps. */
const SELECTION_OF_OTHER_VIEWS = /^(fin|pat):/;

/** State that is reset whenever the state is taken from the link. */
const EMPTY = { detail: null, preview: null, hover: null, pointer: null, cursor: null, piece: null, delayed: null };

/** @param {import('../lib/link.js').Link} link @param {() => number} lanesPx width of the lanes */
export function createModel(link, lanesPx) {
  let duration = 1;
  /** The row of each device's gaps, which links and selections name by their device. @type {Map<string, string>} */
  let gapRows = new Map();
  /** @type {TimelineState} */
  const state = {
    ...EMPTY,
    window: { start_ps: 0, end_ps: 1 },
    selection: null,
    open: new Map(),
    filter: filterValue(''),
    hiddenRows: new Set(),
    pinnedRows: new Set(),
    flows: true,
    hits: [],
    align: null,
  };
  /** @type {((changed: Set<keyof TimelineState>) => void)[]} */
  const listeners = [];
  /** Number of sessions closed so far. */
  let closedSessionCount = 0;

  /** The window's link state. @returns {import('../lib/link.js').LinkState} */
  function windowState() {
    const { start_ps, end_ps } = state.window;
    return { w: start_ps <= 0 && end_ps >= duration ? '' : spanText(start_ps, end_ps) };
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
     * @param {number} length duration of the session, ps; an empty session shows 1 ps
     * @returns {string[]} messages about link values that do not fit
     */
    open(length) {
      duration = Math.max(1, length);
      const { w, sel, x, lg, rh, rp } = link.state;
      const span = spanValue(w ?? '');
      const selection = selectionValue(sel);
      const fits = (/** @type {Span|null} */ linked) => linked !== null && linked.start_ps < duration;
      set({
        ...EMPTY,
        open: foldsValue(x),
        filter: filterValue(lg),
        hiddenRows: new Set(listItems(rh)),
        pinnedRows: new Set(listItems(rp)),
        window: clampSpan(span && fits(span) ? span : { start_ps: 0, end_ps: duration }, duration, lanesPx()),
        selection: selection && fits(selection) ? { ...selection, end_ps: Math.min(duration, selection.end_ps) } : null,
      });
      return [
        w && !fits(span) ? 'The linked window is not in this session.' : '',
        sel && !fits(selection) && !SELECTION_OF_OTHER_VIEWS.test(sel)
          ? 'The linked selection is not in this session.'
          : '',
      ].filter(Boolean);
    },
    /** Takes the session's rows. @param {import('../lib/types').Row[]} rows */
    setRows(rows) {
      gapRows = new Map(rows.flatMap(({ kind, device, id }) => (kind === 'gaps' && device ? [[device, id]] : [])));
    },
    /** The id of a selection's row; empty without one. @param {{row: string, device?: string}|null} selected */
    rowOf: (selected) => selected?.row || (gapRows.get(selected?.device ?? '') ?? ''),
    /** Leaves the session: pending answers become stale, hits and alignment are cleared. */
    leave() {
      closedSessionCount += 1;
      set({ align: null, hits: [] });
    },
    /**
     * Returns a function that reports whether the session and the selection are still those of this call. Answers that
     * arrive after a change are ignored.
     * @returns {() => boolean}
     */
    trackSelection() {
      const [sessionCount, selected] = [closedSessionCount, selectionText(state.selection)];
      return () => closedSessionCount === sessionCount && selectionText(state.selection) === selected;
    },
    /** Moves the window to a span, as far as the session and the limit of zooming permit. @param {Span} span */
    setWindow(span) {
      const next = clampSpan(span, duration, lanesPx());
      const { start_ps, end_ps } = state.window;
      if (next.start_ps === start_ps && next.end_ps === end_ps) return;
      set({ window: next });
      link.setLater(windowState());
    },
    /** Centres the window at a time. @param {number} ps */
    goTo(ps) {
      const { start_ps, end_ps } = state.window;
      const half = (end_ps - start_ps) / 2;
      model.setWindow({ start_ps: ps - half, end_ps: ps + half });
    },
    /**
     * Brings a span into view. Zooms if the span is too narrow to see or, with `all`, longer than the window.
     * @param {Span} span
     * @param {number} marginShare the margin on each side after zooming, as a share of the span
     * @param {boolean} [all] whether to show the whole span, not only a part of it
     * @param {number} [min_px] the width on screen from which a span is wide enough
     */
    bringIntoView({ start_ps, end_ps }, marginShare, all = false, min_px = MIN_VISIBLE_PX) {
      const { window: shown } = state;
      const length = end_ps - start_ps;
      const shownLength = shown.end_ps - shown.start_ps;
      const isTooNarrow = length * lanesPx() < min_px * shownLength;
      const isOutside = start_ps >= shown.end_ps || end_ps <= shown.start_ps;
      const isCut = start_ps < shown.start_ps || end_ps > shown.end_ps;
      if (isTooNarrow || (all && length > shownLength)) {
        model.setWindow(frameSpan({ start_ps, end_ps }, marginShare));
      } else if (all ? isCut : isOutside) model.goTo((start_ps + end_ps) / 2);
    },
    /** Brings a gap into view, wide enough to see what is around it. @param {Span} span */
    bringGapIntoView(span) { model.bringIntoView(span, GAP_MARGIN_SHARE, true, MIN_GAP_PX); },
    /** Selects an item, a window as far as it is in the session; null clears. @param {Selection|null} selection */
    select(selection) {
      const inSession =
        selection?.kind === 'window'
          ? {
              ...selection,
              start_ps: Math.max(0, selection.start_ps),
              end_ps: Math.min(duration, selection.end_ps),
            }
          : selection;
      const isFollowed = state.detail?.on_device && state.detail.on_device.path === link.state.an;
      link.set({ ...windowState(), ...(isFollowed ? { an: '' } : {}) }, 'replace');
      set({ selection: inSession, detail: null, piece: null, delayed: null });
      link.set({ sel: selectionText(inSession) }, 'push');
    },
    /**
     * Opens or closes a fold. The opposite change returns it to its initial state.
     * @param {string} id
     * @param {boolean} open
     */
    fold(id, open) {
      const next = new Map(state.open);
      if (next.get(id) === !open) next.delete(id);
      else next.set(id, open);
      set({ open: next });
      link.set({ x: foldsText(next) }, 'push');
    },
    /** @param {{hiddenRows?: Set<string>, pinnedRows?: Set<string>}} rows */
    arrangeRows(rows) {
      set(rows);
      link.set({ rh: listText([...state.hiddenRows]), rp: listText([...state.pinnedRows]) }, 'push');
    },
    /** @param {import('./legend.js').Filter} filter */
    filter(filter) {
      set({ filter });
      link.set({ lg: filterText(filter) }, 'push');
    },
    /**
     * The span at which a true span of a row is drawn; null if aligned device rows leave it out.
     * @template {RowSpan & {device?: string}} T
     * @param {T|null} span
     * @returns {T|null}
     */
    toDrawn(span) {
      const row = model.rowOf(span);
      const shift = span && shiftAt(state.align, row, span.start_ps);
      return span && shift !== null
        ? { ...span, row, start_ps: span.start_ps - shift, end_ps: span.end_ps - shift }
        : null;
    },
  };
  return model;
}
