/** The selection as a plain value, and its text in links. */

import { UNITS } from '../lib/format.js';
import { gapText, msText, msValue, spanValue, windowText } from '../lib/link.js';

/**
 * A selected window, event, slice of several events, or gap. A link has only the start of an event or a gap; its end
 * comes with the server's answer.
 * @typedef {object} Selection
 * @property {'window'|'event'|'merged'|'gap'} kind
 * @property {number} start_ps @property {number} end_ps
 * @property {string} row id; empty for a window, and for a gap, whose row is that of its device
 * @property {number} depth
 * @property {string} name of an event
 * @property {string} device of a gap
 * @property {string|null} event id of an event
 * @property {number} count number of events
 */

/** @param {Selection['kind']} kind @param {Partial<Selection> & import('./scale.js').Span} rest @returns {Selection} */
const selection = (kind, rest) => ({ kind, row: '', depth: 0, name: '', device: '', event: null, count: 1, ...rest });

/** @param {number} start_ps @param {number} end_ps */
export const windowSelection = (start_ps, end_ps) => selection('window', { start_ps, end_ps });

/**
 * Whether a selection is the window of an interval: links of earlier versions rounded windows to ns.
 * @param {Selection|null} selected @param {number} start ps @param {number} end ps
 */
export const isWindowOf = (selected, start, end) =>
  selected?.kind === 'window' &&
  Math.abs(start - selected.start_ps) < UNITS.ns.ps &&
  Math.abs(end - selected.end_ps) < 2 * UNITS.ns.ps;

/** @param {import('../lib/routes').EventSummary} summary */
export const eventSelection = ({ row, depth, start_ps, duration_ps, name, event }) =>
  selection('event', { row, depth, start_ps, end_ps: start_ps + duration_ps, name, event });

/** @param {string} device @param {number} start_ps @param {number} [end_ps] */
export const gapSelection = (device, start_ps, end_ps = start_ps) =>
  selection('gap', { device, start_ps, end_ps });

/** The selection of a drawn slice, at its true time. @param {import('./scene.js').DrawnSlice} slice */
export function sliceSelection({ lane, row, depth, real_ps, length_ps, name, event, count }) {
  const kind = count > 1 ? 'merged' : lane.row.kind === 'classes' ? 'window' : 'event';
  const end_ps = real_ps + length_ps;
  if (kind === 'window') return windowSelection(real_ps, end_ps);
  return selection(kind, { row, depth, start_ps: real_ps, end_ps, name, event, count });
}

/**
 * The selection's text in a link, with times in ms: `gap:TPU:0@715.080172721`, `win:715.08+72.143` (start+duration),
 * `ev:h0.t3@739.896/1` (the depth is after the slash, 0 is left out). A merged slice is written as a window.
 * @param {Selection|null} selected
 */
export function selectionText(selected) {
  if (!selected) return '';
  const { kind, row, depth, start_ps, end_ps } = selected;
  if (kind === 'gap') return gapText(selected);
  if (kind === 'event') return `ev:${row}@${msText(start_ps, true)}${depth ? '/' + depth : ''}`;
  return windowText(start_ps, end_ps);
}

/** @param {string|undefined} text @returns {Selection|null} null if the text does not parse */
export function selectionValue(text = '') {
  const span = text.startsWith('win:') ? spanValue(text.slice(4)) : null;
  if (span) return windowSelection(span.start_ps, span.end_ps);
  const [, kind, id, start, depth = 0] = /^(ev|gap):(.+)@([\d.]+)(?:\/(\d+))?$/.exec(text) ?? [];
  const start_ps = msValue(start ?? '');
  if (Number.isNaN(start_ps)) return null;
  return kind === 'gap'
    ? gapSelection(id, start_ps)
    : selection('event', { row: id, depth: Number(depth), start_ps, end_ps: start_ps });
}
