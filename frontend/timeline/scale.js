/**
 * Converts between time and pixels, for all modules of the timeline. Times are ps from the session's start; x is in CSS
 * pixels from the left of the canvas, and the lanes begin at `left`.
 */

import { clamp, niceStep } from '../lib/axis.js';

/** @typedef {{start_ps: number, end_ps: number}} Span */
/**
 * @typedef {object} Scale
 * @property {number} start_ps @property {number} end_ps the span that the lanes show
 * @property {number} left @property {number} right edges of the lanes, px
 * @property {number} psPerPx
 * @property {(ps: number) => number} x
 * @property {(x: number) => number} ps
 */

/** Zoom stops at 1 ns per px. */
const MIN_PS_PER_PX = 1000;

/**
 * Limits the pixels of a request; very wide screens request fewer than they have. With the grid that is added, requests
 * stay below the server's limit of 20,000.
 */
const MAX_REQUEST_PX = 18_000;
/** Requested spans begin and end at multiples of this many pixels, so that small moves request the same data. */
const GRID_PX = 256;
/** Lower windows have tighter rows and a smaller strip; as in styles.css. */
const LOW_WINDOW_PX = 760;

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
 * Moves a span into the session. Its length changes only if it is longer than the session or too short to zoom to.
 * @param {Span} span
 * @param {number} duration of the session, ps
 * @param {number} px width of the lanes
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
 * Zooms a span around an instant, which stays at its pixel.
 * @param {Span} span
 * @param {number} factor above 1 to zoom in
 * @param {number} at_ps
 */
export function zoomSpan({ start_ps, end_ps }, factor, at_ps) {
  return { start_ps: at_ps - (at_ps - start_ps) / factor, end_ps: at_ps + (end_ps - at_ps) / factor };
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
 * The span to request: three times the shown one, around it, on a grid and inside the session.
 * @param {Span} span @param {number} psPerPx @param {number} duration of the session, ps
 * @returns {{start_ps: number, end_ps: number, px: number}}
 */
export function fetchSpan({ start_ps, end_ps }, psPerPx, duration) {
  const width = end_ps - start_ps;
  let requestedPsPerPx = resolution(psPerPx);
  while (width * 3 > requestedPsPerPx * MAX_REQUEST_PX) requestedPsPerPx *= 2;
  const grid = requestedPsPerPx * GRID_PX;
  const start = Math.max(0, Math.floor((start_ps - width) / grid) * grid);
  const end = Math.min(duration, Math.ceil((end_ps + width) / grid) * grid);
  return { start_ps: start, end_ps: end, px: Math.max(1, Math.ceil((end - start) / requestedPsPerPx)) };
}

/**
 * Ticks of the ruler: every second one has a label. `step` is the time between ticks, ps.
 * @param {Scale} scale @param {number} minPx the least distance between ticks
 */
export function rulerTicks(scale, minPx) {
  const step = Math.max(1, niceStep(scale.psPerPx * minPx));
  const first = Math.ceil(scale.start_ps / step);
  return {
    step,
    ticks: Array.from({ length: Math.floor(scale.end_ps / step) - first + 1 }, (_, at) => ({
      ps: (first + at) * step,
      hasLabel: (first + at) % 2 === 0,
    })),
  };
}

/** Whether the browser's window is so low that rows are tighter and the strip is smaller. */
export const isLowWindow = () => innerHeight < LOW_WINDOW_PX;
