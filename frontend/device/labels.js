/** Places the labels of the roofline's dots; draws nothing. */

import { total } from '../lib/totals.js';
import { BOTTOM, LEFT, RIGHT, TOP } from './layout.js';

/** @typedef {import('./types').Dot} Dot */
/** @typedef {{x: number, y: number, w: number, h: number}} Box */
/**
 * A label: its box, and whether a line connects it with its dot, as is needed if it is not beside the dot, or nearer to
 * another one.
 * @typedef {{dot: Dot, box: Box, hasLine: boolean}} Label
 */

const LABEL_HEIGHT = 14;
/** Distance between a label and its dot. */
const MARGIN = 4;
/** Costs of a label: of each px² over another box, of a line that crosses a label or its line, of leaving it out. */
const OVERLAP_COST = 4;
const CROSSING_COST = 40;
const OMISSION_COST = 200;
/** A label that reaches into a dot costs as much as an overlap of this area for each px, px². */
const INTRUSION_AREA = 10;
/** Each pass improves the positions of the one before. */
const PASSES = 2;
/** Tried positions around a dot, the best first, and their distances from it, px. */
const DIRECTIONS = [[1, 0], [-1, 0], [0.7, 1], [-0.7, 1], [0.7, -1], [-0.7, -1], [0, 1], [0, -1]];
const DISTANCES = [0, 14, 30, 48, 68, 90];

/** The area that two boxes share. @param {Box} a @param {Box} b */
const overlap = (a, b) =>
  Math.max(0, Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x)) *
  Math.max(0, Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y));

/** The distance of a label from the edge of a dot; negative if they overlap. @param {Dot} dot @param {Box} box */
const distance = (dot, box) =>
  Math.hypot(Math.max(box.x - dot.x, 0, dot.x - box.x - box.w), Math.max(box.y - dot.y, 0, dot.y - box.y - box.h)) -
  dot.r;

/** How far a label reaches into a dot, or into the 1 px around it, px. @param {Dot} dot @param {Box} box */
const intrusion = (dot, box) => Math.max(0, 1 - distance(dot, box));

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

/**
 * Whether the segments from `a` to `b` and from `c` to `d` cross.
 * @param {number[]} a @param {number[]} b @param {number[]} c @param {number[]} d
 */
function segmentsCross(a, b, c, d) {
  const side = (/** @type {number[]} */ p, /** @type {number[]} */ q, /** @type {number[]} */ r) =>
    Math.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]));
  return side(a, b, c) !== side(a, b, d) && side(c, d, a) !== side(c, d, b);
}

/** Whether a label's line crosses another label's line or text. @param {Label} label @param {Label} other */
function lineCrosses(label, { dot, box, hasLine }) {
  if (!label.hasLine) return false;
  /** @type {[number[], number[]]} */
  const segment = [[label.dot.x, label.dot.y], lineEnd(label.dot, label.box)];
  const [left, right, top, bottom] = [box.x, box.x + box.w, box.y, box.y + box.h];
  return (
    segmentsCross(...segment, [left, top], [right, bottom]) ||
    segmentsCross(...segment, [left, bottom], [right, top]) ||
    (hasLine && segmentsCross(...segment, [dot.x, dot.y], lineEnd(dot, box)))
  );
}

/**
 * Places labels beside their dots, or farther out on a line if they would overlap others. Labels that overlap another
 * one at their best position too are left out, unless they are required.
 * @param {Dot[]} labelled in order of importance
 * @param {Dot[]} dots all
 * @param {(dot: Dot) => number} widthOf px
 * @param {number} width
 * @param {number} height
 * @param {Box[]} occupied boxes that labels avoid
 * @param {(dot: Dot) => boolean} [isRequired]
 * @returns {Label[]}
 */
export function placeLabels(labelled, dots, widthOf, width, height, occupied, isRequired = () => false) {
  /**
   * The position of a label with the lowest cost; null if none is inside the picture.
   * @param {Dot} dot @param {Label[]} labels already placed
   */
  function bestPlacement(dot, labels) {
    const w = widthOf(dot);
    /** @type {{cost: number, label: Label}|null} */
    let best = null;
    for (const offset of DISTANCES) {
      for (const [dx, dy] of DIRECTIONS) {
        const reach = dot.r + MARGIN + offset;
        const [x, middle] = [dot.x + dx * reach, dot.y + dy * (reach + LABEL_HEIGHT / 2)];
        const left = dx > 0 ? x : dx < 0 ? x - w : x - w / 2;
        const box = { x: left, y: middle - LABEL_HEIGHT / 2, w, h: LABEL_HEIGHT };
        if (box.x < LEFT || box.x + w > width - RIGHT) continue;
        if (box.y < TOP || box.y + LABEL_HEIGHT > height - BOTTOM) continue;
        /** @type {Label} */
        const label = {
          dot,
          box,
          hasLine:
            offset > 0 ||
            dots.some((neighbour) => neighbour !== dot && distance(neighbour, box) < distance(dot, box)),
        };
        const boxes = [...occupied, ...labels.map((neighbour) => neighbour.box)];
        const covered =
          total(boxes, (/** @type {Box} */ neighbour) => overlap(enlarged(box), neighbour)) +
          INTRUSION_AREA * total(dots, (/** @type {Dot} */ neighbour) => intrusion(neighbour, box));
        const crosses = labels.some((neighbour) => lineCrosses(label, neighbour) || lineCrosses(neighbour, label));
        const cost = covered * OVERLAP_COST + offset + (crosses ? CROSSING_COST : 0);
        if (!best || cost < best.cost) best = { cost, label };
        if (cost === offset) return best;
      }
      if (best && best.cost <= offset) break;
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
        const best = bestPlacement(dot, labels);
        const isFree = best && !labels.some(({ box }) => overlap(best.label.box, box));
        if (best && (isFree || isRequired(dot))) placements.set(dot, best);
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

/** A box with space around it. @param {Box} box */
const enlarged = ({ x, y, w, h }) => ({ x: x - 2, y: y - 1, w: w + 4, h: h + 2 });
