/** The timeline's state and the few ways it changes; link keys follow from it. */

import { createStore } from '../lib/store.js';
import { spanText, spanValue, toNs } from '../lib/link.js';
import { clampSpan } from './scale.js';
import { foldsText, foldsValue } from './layout.js';
import { endOf, selectionText, selectionValue } from './selection.js';

/** @typedef {import('./scale.js').Span} Span */
/** @typedef {import('./selection.js').Selection} Selection */
/**
 * @typedef {object} TimelineState
 * @property {Span} window what the lanes show
 * @property {Selection|null} selection @property {import('../lib/types').EventDetail|null} detail of the selected event
 * @property {Span|null} preview a window being dragged
 * @property {import('./scene.js').Found|null} hover @property {number|null} pointer x of the hair line
 * @property {import('./scene.js').Found|null} cursor where the keyboard is
 * @property {Map<string, boolean>} open folds that differ from how they are at first
 * @property {boolean} flows @property {number[]} hits
 * @property {import('../lib/views').GapDetail|null} gap the selected one @property {Span & {row: string, depth: number, duration_ps: number}|null} piece of its chain
 */
/** @typedef {ReturnType<typeof createModel>} Model */

/** @param {import('../lib/link.js').Link} link @param {() => number} lanesPx width of the lanes */
export function createModel(link, lanesPx) {
  let duration = 1;
  const store = createStore(/** @type {TimelineState} */ ({
    window: { start_ps: 0, end_ps: 1 }, selection: null, detail: null, preview: null, hover: null, pointer: null, cursor: null,
    open: new Map(), flows: true, hits: [], gap: null, piece: null,
  }));
  let timer = 0;
  const isWhole = (/** @type {Span} */ span) => span.start_ps <= 0 && span.end_ps >= duration;

  /** Links follow panning with a pause: browsers limit how often an address may change. */
  function writeWindow() {
    timer = 0;
    const { window: span } = store.state;
    link.set({ w: isWhole(span) ? '' : spanText(span.start_ps, span.end_ps) }, 'replace');
  }

  return {
    ...store,
    get duration() { return duration; },
    /** Takes the state from the link. @param {number} length of the session @returns {string[]} what of the link does not fit */
    open(length) {
      duration = length;
      const stale = [];
      const span = spanValue(link.state.w ?? '');
      const fits = span && span.start_ps < duration;
      if (link.state.w && !fits) stale.push('The linked window is not in this session.');
      const selection = selectionValue(link.state.sel);
      const inside = selection && selection.start_ps < duration;
      if (link.state.sel && !inside) stale.push('The linked selection is not in this session.');
      store.set({
        window: clampSpan(fits ? span : { start_ps: 0, end_ps: duration }, duration, lanesPx()),
        selection: inside ? (selection.kind === 'window' ? { ...selection, end_ps: Math.min(duration, selection.end_ps) } : selection) : null,
        detail: null, preview: null, hover: null, pointer: null, cursor: null, open: foldsValue(link.state.x), hits: [], gap: null, piece: null,
      });
      return stale;
    },
    /** @param {Span} span */
    look(span) {
      const next = clampSpan(span, duration, lanesPx());
      const { window: old } = store.state;
      if (next.start_ps === old.start_ps && next.end_ps === old.end_ps) return;
      store.set({ window: next });
      if (!timer) timer = setTimeout(writeWindow, 250);
    },
    /** @param {Selection|null} selection */
    select(selection) {
      const own = selection?.kind === 'window' ? { ...selection, start_ps: toNs(Math.max(0, selection.start_ps)), end_ps: toNs(Math.min(duration, selection.end_ps)) } : selection;
      clearTimeout(timer);
      writeWindow();
      store.set({ selection: own, detail: null, gap: null, piece: null });
      link.set({ sel: selectionText(own) }, 'push');
    },
    /** @param {string} id @param {boolean} open */
    fold(id, open) {
      const next = new Map(store.state.open);
      if (next.has(id)) next.delete(id);
      else next.set(id, open);
      store.set({ open: next });
      link.set({ x: foldsText(next) }, 'push');
    },
    /** The span of the selection, or null. @returns {Span|null} */
    selected() {
      const { selection } = store.state;
      return selection && { start_ps: selection.start_ps, end_ps: endOf(selection) };
    },
  };
}
