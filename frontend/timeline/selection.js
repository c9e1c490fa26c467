/** The selection as a plain value, and its text in links. */

import { gapText, msText, msValue, spanText, spanValue } from '../lib/link.js';

/**
 * A window of time; one event; events drawn as one slice; idle time of a device. A link has only the start of an event or
 * a gap; its end comes with the server's answer.
 * @typedef {object} Selection
 * @property {'window'|'event'|'merged'|'gap'} kind
 * @property {number} start_ps @property {number} end_ps
 * @property {string} row empty for a window @property {number} depth
 * @property {string} name of an event @property {string} device of a gap
 * @property {string|null} event its id @property {number} count events in it
 */

/** @param {Selection['kind']} kind @param {Partial<Selection> & import('./scale.js').Span} rest @returns {Selection} */
const selection = (kind, rest) => ({ kind, row: '', depth: 0, name: '', device: '', event: null, count: 1, ...rest });

/** @param {number} start_ps @param {number} end_ps */
export const ofWindow = (start_ps, end_ps) => selection('window', { start_ps, end_ps });

/** @param {import('../lib/routes').EventSummary} brief */
export const ofBrief = ({ row, depth, start_ps, duration_ps, name, event }) =>
  selection('event', { row, depth, start_ps, end_ps: start_ps + duration_ps, name, event });

/** The row of a device's gaps. @param {string} device */
export const gapRow = (device) => `gaps.${device}`;

/** @param {string} device @param {number} start_ps @param {number} [end_ps] */
export const ofGap = (device, start_ps, end_ps = start_ps) =>
  selection('gap', { row: gapRow(device), device, start_ps, end_ps });

/** Selects a drawn slice at its true time. @param {import('./scene.js').DrawnSlice} found @returns {Selection} */
export function ofSlice({ lane, row, depth, real_ps, length_ps, name, event, count }) {
  const kind = count > 1 ? 'merged' : lane.row.kind === 'classes' ? 'window' : 'event';
  const end_ps = real_ps + length_ps;
  if (kind === 'window') return ofWindow(real_ps, end_ps);
  return selection(kind, { row, depth, start_ps: real_ps, end_ps, name, event, count });
}

/**
 * `gap:TPU:0@715.080172721`, `win:715.08+72.143`, `ev:h0.t3@739.896/1` (depth after the slash, 0 left out). Merged ones
 * are windows.
 * @param {Selection|null} selected
 */
export function selectionText(selected) {
  if (!selected) return '';
  const { kind, row, depth, start_ps, end_ps } = selected;
  if (kind === 'gap') return gapText(selected);
  if (kind === 'event') return `ev:${row}@${msText(start_ps, true)}${depth ? '/' + depth : ''}`;
  return `win:${spanText(start_ps, end_ps)}`;
}

/** @param {string|undefined} text @returns {Selection|null} null for what does not parse */
export function selectionValue(text = '') {
  const span = text.startsWith('win:') ? spanValue(text.slice(4)) : null;
  if (span) return ofWindow(span.start_ps, span.end_ps);
  const [, kind, place, start, depth = 0] = /^(ev|gap):(.+)@([\d.]+)(?:\/(\d+))?$/.exec(text) ?? [];
  const start_ps = msValue(start ?? '');
  if (Number.isNaN(start_ps)) return null;
  return kind === 'gap'
    ? ofGap(place, start_ps)
    : selection('event', { row: place, depth: Number(depth), start_ps, end_ps: start_ps });
}
