/** The roofline's geometry on logarithmic axes: dots, scales and labels; draws nothing. */

import { clamp } from '../lib/axis.js';
import { maximum, minimum, total } from '../lib/totals.js';

/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').Dot} Dot */
/** @typedef {{x: number, y: number, w: number, h: number}} Box */

export const LEFT = 46;
export const RIGHT = 10;
export const TOP = 16;
export const BOTTOM = 30;

const PX_OF_MS = 4.6;
const MIN_RADIUS = 2.5;
/** Limits of the largest dot's radius, px: dots stay visible for steps of microseconds and of seconds. */
const LARGEST_RADIUS = [10, 22];
/** Decades above the roof, for its label. */
const HEADROOM = 0.36;
/** Minimum number of decades shown below the roof. */
const MIN_HIGH = 1.2;
/** Ops below this share of the time do not stretch the axes. */
const MIN_PART = 0.001;
const MAX_DECADES = 8;
const LABEL_HIGH = 14;
const MARGIN = 4;

/** Peak FLOP/s and bytes/s; null if unknown. @typedef {{flops: number|null, bytes: number|null}} Roof */
/**
 * Exponents of ten at the ends of the axes: FLOP per byte, and TFLOP/s.
 * @typedef {{x: [number, number], y: [number, number]}} Axes
 */

/** Ops that can be drawn: they have FLOPs and memory traffic. @param {OpRow[]} rows */
export const placed = (rows) =>
  rows.filter(
    ({ intensity, flops_per_s, kind }) =>
      kind === 'work' && intensity !== null && intensity > 0 && flops_per_s !== null && flops_per_s > 0,
  );

/**
 * The axes: whole decades around the drawn ops and the roof.
 * @param {OpRow[]} rows @param {Roof} roof @returns {Axes}
 */
export function axesOf(rows, { flops, bytes }) {
  const placedRows = placed(rows);
  const totalPs = total(placedRows, 'ps');
  const lasting = placedRows.filter(({ ps }) => ps >= MIN_PART * totalPs);
  const ridge = flops && bytes ? [flops / bytes] : [];
  /** @param {number[]} values @param {number} minDecades @returns {[number, number]} */
  function decades(values, minDecades) {
    if (!values.length) return [0, minDecades];
    const [low, high] = [Math.floor(Math.log10(minimum(values)) - 1e-9), Math.ceil(Math.log10(maximum(values)) + 1e-9)];
    return [Math.max(low, high - MAX_DECADES), Math.max(high, low + minDecades)];
  }
  const aroundRidge = ridge.flatMap((intensity) => [intensity / 3, intensity * 3]);
  const x = decades([...lasting.map((row) => row.intensity ?? 1), ...aroundRidge], 2);
  const rates = [...lasting.map((row) => (row.flops_per_s ?? 1) / 1e12), ...(flops ? [flops / 1e12] : [])];
  const y = decades(rates, 2);
  const top = Math.log10(maximum(rates));
  return { x, y: flops ? [Math.min(y[0], Math.floor(top - MIN_HIGH)), top + HEADROOM] : y };
}

/** @param {Axes} axes @param {number} width @param {number} height */
export function scales({ x, y }, width, height) {
  const [wide, high] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
  return {
    /** @param {number} intensity */
    x: (intensity) => LEFT + ((Math.log10(intensity) - x[0]) / (x[1] - x[0])) * wide,
    /** @param {number} rate FLOP/s */
    y: (rate) => TOP + ((y[1] - Math.log10(rate / 1e12)) / (y[1] - y[0])) * high,
  };
}

/**
 * The dots, the largest first; areas are proportional to own time.
 * @param {OpRow[]} rows
 * @param {Axes} axes
 * @param {number} width
 * @param {number} height
 * @returns {Dot[]}
 */
export function dotsOf(rows, axes, width, height) {
  const { x, y } = scales(axes, width, height);
  const sorted = [...placed(rows)].sort((a, b) => b.ps - a.ps);
  const largest = PX_OF_MS * Math.sqrt((sorted[0]?.ps ?? 0) / 1e9);
  const factor = largest ? clamp(largest, LARGEST_RADIUS[0], LARGEST_RADIUS[1]) / largest : 1;
  return sorted.map((row) => ({
    row, r: Math.max(MIN_RADIUS, factor * PX_OF_MS * Math.sqrt(row.ps / 1e9)),
    x: clamp(x(row.intensity ?? 1), LEFT, width - RIGHT), y: clamp(y(row.flops_per_s ?? 1), TOP, height - BOTTOM),
  }));
}

/**
 * The dot under the pointer; of several the smallest, which is drawn on top.
 * @param {Dot[]} dots the largest first
 * @param {number} x
 * @param {number} y
 */
export const dotAt = (dots, x, y) =>
  [...dots].reverse().find((dot) => Math.hypot(dot.x - x, dot.y - y) <= Math.max(dot.r, MIN_RADIUS * 2) + 1) ?? null;

/** @param {Box} a @param {Box} b */
const overlap = (a, b) =>
  Math.max(0, Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x)) *
  Math.max(0, Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y));

/** The distance of a label from the edge of a dot; negative if they overlap. @param {Dot} dot @param {Box} box */
const away = (dot, box) =>
  Math.hypot(Math.max(box.x - dot.x, 0, dot.x - box.x - box.w), Math.max(box.y - dot.y, 0, dot.y - box.y - box.h)) -
  dot.r;

/** How much of a dot a label covers, approximately. @param {Dot} dot @param {Box} box */
const covered = (dot, box) => Math.max(0, 1 - away(dot, box));

/**
 * Where a label's line ends: the point of its box nearest to the dot.
 * @param {Dot} dot
 * @param {Box} box
 * @returns {[number, number]}
 */
export const lineEnd = (dot, box) => [
  Math.max(box.x, Math.min(dot.x, box.x + box.w)),
  Math.max(box.y, Math.min(dot.y, box.y + box.h)),
];

/** @param {number[]} a @param {number[]} b @param {number[]} c @param {number[]} d */
function meet(a, b, c, d) {
  const side = (/** @type {number[]} */ p, /** @type {number[]} */ q, /** @type {number[]} */ r) =>
    Math.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]));
  return side(a, b, c) !== side(a, b, d) && side(c, d, a) !== side(c, d, b);
}

/** Whether a label's line crosses another label's line or text. @param {Label} label @param {Label} other */
function cross(label, { dot, box, line }) {
  if (!label.line) return false;
  /** @type {[number[], number[]]} */
  const segment = [[label.dot.x, label.dot.y], lineEnd(label.dot, label.box)];
  const [left, right, top, bottom] = [box.x, box.x + box.w, box.y, box.y + box.h];
  return (
    meet(...segment, [left, top], [right, bottom]) ||
    meet(...segment, [left, bottom], [right, top]) ||
    (line && meet(...segment, [dot.x, dot.y], lineEnd(dot, box)))
  );
}

const CROSSING_COST = 40;
const OMISSION_COST = 200;
const PASSES = 2;
const DIRECTIONS = [[1, 0], [-1, 0], [0.7, 1], [-0.7, 1], [0.7, -1], [-0.7, -1], [0, 1], [0, -1]];
const DISTANCES = [0, 14, 30, 48, 68, 90];

/**
 * A label: its box, and whether a line leads to it, as is needed if another dot is nearer.
 * @typedef {{dot: Dot, box: Box, line: boolean}} Label
 */

/**
 * Places labels beside their dots, or farther out on a line if they would overlap others. Labels that fit nowhere are
 * left out, unless `always` holds.
 * @param {Dot[]} labelled in order of importance
 * @param {Dot[]} dots
 * @param {(dot: Dot) => number} widthOf px
 * @param {number} width
 * @param {number} height
 * @param {Box[]} occupied
 * @param {(dot: Dot) => boolean} [always]
 * @returns {Label[]}
 */
export function placeLabels(labelled, dots, widthOf, width, height, occupied, always = () => false) {
  /** The best position of a label among those already placed. @param {Dot} dot @param {Label[]} labels */
  function placeOf(dot, labels) {
    const w = widthOf(dot);
    /** @type {{cost: number, label: Label}|null} */
    let best = null;
    for (const distance of DISTANCES) {
      for (const [dx, dy] of DIRECTIONS) {
        const reach = dot.r + MARGIN + distance;
        const [cx, cy] = [dot.x + dx * reach, dot.y + dy * (reach + LABEL_HIGH / 2)];
        const box = { x: dx > 0 ? cx : dx < 0 ? cx - w : cx - w / 2, y: cy - LABEL_HIGH / 2, w, h: LABEL_HIGH };
        if (box.x < LEFT || box.x + w > width - RIGHT || box.y < TOP || box.y + LABEL_HIGH > height - BOTTOM) continue;
        /** @type {Label} */
        const label = {
          dot,
          box,
          line: distance > 0 || dots.some((neighbour) => neighbour !== dot && away(neighbour, box) < away(dot, box)),
        };
        const touched =
          total([...occupied, ...labels.map((otherBox) => otherBox.box)], (/** @type {Box} */ otherBox) =>
            overlap(grown(box), otherBox),
          ) +
          10 * total(dots, (/** @type {Dot} */ neighbour) => covered(neighbour, box));
        const crosses = labels.some((neighbour) => cross(label, neighbour) || cross(neighbour, label));
        const cost = touched * 4 + distance + (crosses ? CROSSING_COST : 0);
        if (!best || cost < best.cost) best = { cost, label };
        if (cost === distance) return best;
      }
      if (best && best.cost <= distance) break;
    }
    return best;
  }
  /** Places the labels in order, then improves each given the others. @param {Dot[]} order */
  function placeAll(order) {
    /** @type {Map<Dot, {cost: number, label: Label}>} */
    const placements = new Map();
    for (let pass = 0; pass < PASSES; pass += 1) {
      for (const dot of order) {
        placements.delete(dot);
        const labels = [...placements.values()].map(({ label }) => label);
        const best = placeOf(dot, labels);
        if (best && (always(dot) || !labels.some(({ box }) => overlap(best.label.box, box)))) placements.set(dot, best);
      }
    }
    return {
      labels: labelled.flatMap((dot) => placements.get(dot)?.label ?? []),
      cost: total(labelled, (dot) => placements.get(dot)?.cost ?? OMISSION_COST),
    };
  }
  const [forward, backward] = [labelled, [...labelled].reverse()].map(placeAll);
  return (forward.cost <= backward.cost ? forward : backward).labels;
}

/** @param {Box} box */
const grown = ({ x, y, w, h }) => ({ x: x - 2, y: y - 1, w: w + 4, h: h + 2 });

/** Formats a power of ten: `0.1`, `10`, `1 000`, and `10⁶` for large and small ones. @param {number} power */
export const decade = (power) =>
  power < -3 || power > 5
    ? `10${[...String(power)].map((sign) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(sign)]).join('')}`
    : Number(`1e${power}`)
        .toFixed(Math.max(0, -power))
        .replace(/(\d)(?=(\d{3})+$)/g, '$1\u202f');
