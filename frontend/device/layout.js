/** The roofline's logarithmic axes and its dots; draws nothing. */

import { clamp } from '../lib/axis.js';
import { maximum, minimum, total } from '../lib/totals.js';

/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').Dot} Dot */

/** Margins of the picture, px. */
export const LEFT = 46;
export const RIGHT = 10;
export const TOP = 16;
export const BOTTOM = 30;

/** Radius of the dot of an op of 1 ms. */
const RADIUS_OF_1_MS_PX = 4.6;
const MIN_RADIUS_PX = 2.5;
/** Limits of the largest dot's radius: dots stay visible for steps of microseconds and of seconds. */
const LARGEST_RADIUS_PX = [10, 22];
/** Decades above the roof, for its label. */
const DECADES_ABOVE_ROOF = 0.36;
const MIN_DECADES_BELOW_ROOF = 1.2;
/** Ops below this share of the time do not stretch the axes. */
const MIN_TIME_SHARE = 0.001;
const MAX_DECADES = 8;
const MIN_DECADES = 2;

/** Peak FLOP/s and bytes/s; null if unknown. @typedef {{flops: number|null, bytes: number|null}} Roof */
/**
 * Exponents of ten at the ends of the axes: FLOP per byte, and TFLOP/s.
 * @typedef {{x: [number, number], y: [number, number]}} Axes
 */

/** Ops that can be drawn: they have FLOPs and memory traffic. @param {OpRow[]} rows */
export const drawableOps = (rows) =>
  rows.filter(
    ({ intensity, flops_per_s, kind }) =>
      kind === 'work' && intensity !== null && intensity > 0 && flops_per_s !== null && flops_per_s > 0,
  );

/**
 * The axes: whole decades around the drawn ops and the roof. If the peak FLOP/s are known, the y axis ends a little
 * above them, or above the fastest op.
 * @param {OpRow[]} rows @param {Roof} roof @returns {Axes}
 */
export function axesOf(rows, { flops, bytes }) {
  const drawable = drawableOps(rows);
  const total_ps = total(drawable, 'ps');
  const significant = drawable.filter(({ ps }) => ps >= MIN_TIME_SHARE * total_ps);
  /** Exponents of whole decades around the values. @param {number[]} values @returns {[number, number]} */
  function decades(values) {
    if (!values.length) return [0, MIN_DECADES];
    const [low, high] = [Math.floor(Math.log10(minimum(values)) - 1e-9), Math.ceil(Math.log10(maximum(values)) + 1e-9)];
    return [Math.max(low, high - MAX_DECADES), Math.max(high, low + MIN_DECADES)];
  }
  const aroundRidge = flops && bytes ? [flops / bytes / 3, (flops / bytes) * 3] : [];
  const x = decades([...significant.map((row) => row.intensity ?? 1), ...aroundRidge]);
  const rates = [...significant.map((row) => (row.flops_per_s ?? 1) / 1e12), ...(flops ? [flops / 1e12] : [])];
  const y = decades(rates);
  const top = Math.log10(maximum(rates));
  return {
    x,
    y: flops ? [Math.min(y[0], Math.floor(top - MIN_DECADES_BELOW_ROOF)), top + DECADES_ABOVE_ROOF] : y,
  };
}

/** Functions from values to pixels. @param {Axes} axes @param {number} width @param {number} height */
export function scales({ x, y }, width, height) {
  const [plotWidth, plotHeight] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
  return {
    /** @param {number} intensity */
    x: (intensity) => LEFT + ((Math.log10(intensity) - x[0]) / (x[1] - x[0])) * plotWidth,
    /** @param {number} rate FLOP/s */
    y: (rate) => TOP + ((y[1] - Math.log10(rate / 1e12)) / (y[1] - y[0])) * plotHeight,
  };
}

/**
 * The dots, the largest first; areas are proportional to own time. Ops beyond the axes have dots at their ends.
 * @param {OpRow[]} rows
 * @param {Axes} axes
 * @param {number} width
 * @param {number} height
 * @returns {Dot[]}
 */
export function dotsOf(rows, axes, width, height) {
  const { x, y } = scales(axes, width, height);
  const sorted = [...drawableOps(rows)].sort((a, b) => b.ps - a.ps);
  const largest = RADIUS_OF_1_MS_PX * Math.sqrt((sorted[0]?.ps ?? 0) / 1e9);
  const factor = largest ? clamp(largest, LARGEST_RADIUS_PX[0], LARGEST_RADIUS_PX[1]) / largest : 1;
  return sorted.map((row) => ({
    row, r: Math.max(MIN_RADIUS_PX, factor * RADIUS_OF_1_MS_PX * Math.sqrt(row.ps / 1e9)),
    x: clamp(x(row.intensity ?? 1), LEFT, width - RIGHT), y: clamp(y(row.flops_per_s ?? 1), TOP, height - BOTTOM),
  }));
}

/**
 * The dot under the pointer; of several the smallest, which is drawn on top; null if there is none.
 * @param {Dot[]} dots the largest first
 * @param {number} x
 * @param {number} y
 */
export const dotAt = (dots, x, y) =>
  [...dots].reverse().find((dot) => Math.hypot(dot.x - x, dot.y - y) <= Math.max(dot.r, MIN_RADIUS_PX * 2) + 1) ?? null;

/** Formats a power of ten: `0.1`, `10`, `1 000`, and `10⁶` for large and small ones. @param {number} power */
export const decadeText = (power) =>
  power < -3 || power > 5
    ? `10${[...String(power)].map((digit) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(digit)]).join('')}`
    : Number(`1e${power}`)
        .toFixed(Math.max(0, -power))
        .replace(/(\d)(?=(\d{3})+$)/g, '$1\u202f');
