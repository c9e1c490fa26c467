/**
 * The only conversion between time and pixels. Times are ps from the session's start, x is CSS pixels from the left of
 * the canvas, where the lanes begin at `left`.
 */

import { clamp, niceStep } from '../lib/axis.js';

/** @typedef {{start_ps: number, end_ps: number}} Span */
/**
 * @typedef {object} Scale
 * @property {number} start_ps @property {number} end_ps what the lanes show
 * @property {number} left @property {number} right in px
 * @property {number} psPerPx
 * @property {(ps: number) => number} x
 * @property {(x: number) => number} ps
 */

/** Zoom stops at 1 ns per px. */
const MIN_PS_PER_PX = 1000;

/** The server's limit of pixels per request; very wide screens request fewer than they have. */
const MAX_REQUEST_PX = 18_000;

/** @param {Span} span @param {number} left @param {number} right @returns {Scale} */
export function createScale({ start_ps, end_ps }, left, right) {
  const psPerPx = Math.max(1, end_ps - start_ps) / Math.max(1, right - left);
  return {
    start_ps, end_ps, left, right, psPerPx,
    x: (ps) => left + (ps - start_ps) / psPerPx,
    ps: (x) => start_ps + (x - left) * psPerPx,
  };
}

/**
 * Moves a span into the session and keeps its length where it can.
 * @param {Span} span
 * @param {number} duration
 * @param {number} px
 */
export function clampSpan({ start_ps, end_ps }, duration, px) {
  const minLength = Math.min(duration, MIN_PS_PER_PX * Math.max(1, px));
  const length = clamp(end_ps - start_ps, minLength, duration);
  const middle = (start_ps + end_ps) / 2;
  const unclamped = length === end_ps - start_ps ? start_ps : middle - length / 2;
  const start = Math.round(clamp(unclamped, 0, duration - length));
  return { start_ps: start, end_ps: Math.round(start + length) };
}

/**
 * Zooms so that `at` stays where it is: a factor above 1 shows less.
 * @param {Span} span
 * @param {number} factor
 * @param {number} at
 */
export function zoomSpan({ start_ps, end_ps }, factor, at) {
  return { start_ps: at - (at - start_ps) / factor, end_ps: at + (end_ps - at) / factor };
}

/**
 * A span with a margin on both sides.
 * @param {Span} span
 * @param {number} [marginShare] share of its length
 */
export function frameSpan({ start_ps, end_ps }, marginShare = 0.15) {
  const margin = (end_ps - start_ps) * marginShare;
  return { start_ps: start_ps - margin, end_ps: end_ps + margin };
}

/** Time per pixel floored to a power of two, so that small zooms request the same data. @param {number} psPerPx */
export const resolution = (psPerPx) => 2 ** Math.floor(Math.log2(psPerPx));

/**
 * The span to request: three screens around the given one, on a grid, inside the session.
 * @param {Span} span @param {number} psPerPx @param {number} duration
 * @returns {{start_ps: number, end_ps: number, px: number}}
 */
export function fetchSpan({ start_ps, end_ps }, psPerPx, duration) {
  const width = end_ps - start_ps;
  let step = resolution(psPerPx);
  while (width * 3 > step * MAX_REQUEST_PX) step *= 2;
  const grid = step * 256;
  const start = Math.max(0, Math.floor((start_ps - width) / grid) * grid);
  const end = Math.min(duration, Math.ceil((end_ps + width) / grid) * grid);
  return { start_ps: start, end_ps: end, px: Math.max(1, Math.ceil((end - start) / step)) };
}

/**
 * Ticks of the ruler: every second one has a label.
 * @param {Scale} scale @param {number} leastPx between ticks
 */
export function rulerTicks(scale, leastPx) {
  const step = Math.max(1, niceStep(scale.psPerPx * leastPx));
  const first = Math.ceil(scale.start_ps / step);
  return {
    step,
    ticks: Array.from({ length: Math.floor(scale.end_ps / step) - first + 1 }, (_, at) => ({
      ps: (first + at) * step,
      label: (first + at) % 2 === 0,
    })),
  };
}

/** Whether the window is so low that rows and strip are tighter. */
export const isSmall = () => innerHeight < 760;
