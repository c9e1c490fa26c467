/** What is selected, as a plain value, and how a link writes it. */

import { gapRow } from './gaps.js';
import { msText, msValue, spanText, spanValue } from '../lib/link.js';

/** @typedef {import('../lib/types').Brief} Brief */
/** @typedef {{kind: 'window', start_ps: number, end_ps: number}} WindowSelection */
/**
 * One event; a link knows only its place, the rest comes with the server's answer.
 * @typedef {{kind: 'event', row: string, depth: number, start_ps: number, duration_ps: number, name: string, event: string|null}} EventSelection
 */
/**
 * Events drawn as one slice.
 * @typedef {{kind: 'merged', row: string, depth: number, start_ps: number, end_ps: number, count: number}} MergedSelection
 */
/**
 * Idle time of a device; a link knows only where it begins, and `end_ps` comes with the server's answer.
 * @typedef {{kind: 'gap', device: string, row: string, depth: 0, start_ps: number, end_ps: number}} GapSelection
 */
/** @typedef {WindowSelection|EventSelection|MergedSelection|GapSelection} Selection */

/** @param {Selection|null} selection */
export const startOf = (selection) => selection?.start_ps ?? 0;

/** @param {Selection} selection */
export const endOf = (selection) => (selection.kind === 'event' ? selection.start_ps + selection.duration_ps : selection.end_ps);

/** @param {Brief} brief @returns {EventSelection} */
export function ofBrief({ row, depth, start_ps, duration_ps, name, event }) {
  return { kind: 'event', row, depth, start_ps, duration_ps, name, event };
}

/** @param {string} device @param {number} start_ps @param {number} [end_ps] @returns {GapSelection} */
export const ofGap = (device, start_ps, end_ps = start_ps) => ({ kind: 'gap', device, row: gapRow(device), depth: 0, start_ps, end_ps });

/** `gap:TPU:0@715.080172721`, `win:715.08+72.143`, `ev:h0.t3@739.896/1` (depth after the slash, 0 left out). Merged ones are windows. @param {Selection|null} selection */
export function selectionText(selection) {
  if (!selection) return '';
  if (selection.kind === 'gap') return `gap:${selection.device}@${msText(selection.start_ps, true)}`;
  if (selection.kind !== 'event') return `win:${spanText(selection.start_ps, selection.end_ps)}`;
  const depth = selection.depth ? `/${selection.depth}` : '';
  return `ev:${selection.row}@${msText(selection.start_ps, true)}${depth}`;
}

/** @param {string|undefined} text @returns {Selection|null} null for what does not parse */
export function selectionValue(text) {
  const [, kind, rest] = /^(\w+):(.+)$/.exec(text ?? '') ?? [];
  if (kind === 'win') {
    const span = spanValue(rest);
    return span && { kind: 'window', ...span };
  }
  if (kind === 'gap') {
    const [, device, start] = /^(.+)@([\d.]+)$/.exec(rest) ?? [];
    const start_ps = device ? msValue(start) : NaN;
    return Number.isNaN(start_ps) ? null : ofGap(device, start_ps);
  }
  if (kind === 'ev') {
    const [, row, start, depth] = /^(.+)@([\d.]+)(?:\/(\d+))?$/.exec(rest) ?? [];
    const start_ps = row ? msValue(start) : NaN;
    return Number.isNaN(start_ps) ? null
      : { kind: 'event', row, depth: Number(depth ?? 0), start_ps, duration_ps: 0, name: '', event: null };
  }
  return null;
}
