/** Draws the roofline: ops as dots, the roof, and labels. */

import { digits, timeText } from '../lib/format.js';
import { lineEnd, placeLabels } from './labels.js';
import { BOTTOM, LEFT, RIGHT, TOP, decadeText, scales } from './layout.js';
import { roundPeak } from './rows.js';
import { minimum } from '../lib/totals.js';

/** @typedef {import('../lib/theme.js').Palette} Palette */
/** @typedef {import('./types').Dot} Dot */
/** @typedef {import('./labels.js').Box} Box */
/**
 * @typedef {object} Picture the roofline's data
 * @property {Dot[]} dots the largest first
 * @property {import('./layout.js').Axes} axes
 * @property {import('./layout.js').Roof} roof
 * @property {string} precision of the peak, such as `bf16`
 * @property {(dot: Dot) => number|undefined} toneOf 0…7; undefined: an annotation without a tone; -1: no annotation
 * @property {(dot: Dot) => boolean} isFaint whether the filters exclude the op
 * @property {string} selectedId @property {string} highlightedId @property {boolean} hasAllLabels
 * @property {{key: string, labels: import('./labels.js').Label[]}} labelCache labels, valid while the
 *   key is the same
 */

/** Number of labelled dots, at first and with all labels: with more none would be readable. */
const LABELLED_DOTS = 7;
const MAX_LABELLED_DOTS = 80;
/** A second roof is drawn at this share of the peaks. */
const SECOND_ROOF_SHARE = 0.5;
/** Positions of a roof's label along its line, 0 to 1, the best first. */
const ROOF_LABEL_POSITIONS = [0.62, 0.3, 0.85, 0.15];
/** Dots farther than this from a roof's label do not matter for its position, px. */
const MAX_DOT_DISTANCE = 90;
const AREA_NOTE = 'area of a dot: own time';

/**
 * @param {ReturnType<typeof import('../timeline/draw.js').penOn>} pen
 * @param {number} width
 * @param {number} height
 * @param {Palette} palette
 * @param {Picture} picture
 */
export function paintRoofline(
  { context, box, write, textWidth },
  width,
  height,
  palette,
  { dots, axes, roof, precision, toneOf, isFaint, selectedId, highlightedId, hasAllLabels, labelCache },
) {
  const { x, y } = scales(axes, width, height);
  const [right, bottom] = [width - RIGHT, height - BOTTOM];
  const ridge = roof.flops && roof.bytes ? roof.flops / roof.bytes : null;
  /** Boxes that labels must not cover. @type {Box[]} */
  const occupied = [];

  /** @param {string} text @param {number} middleX @param {number} middleY @param {string} color */
  const centred = (text, middleX, middleY, color) => write(color, text, middleX - textWidth(text) / 2, middleY);

  /** @param {string} color @param {number} lineWidth @param {number[]} dash @param {[number, number][]} points */
  function line(color, lineWidth, dash, points) {
    context.strokeStyle = color;
    context.lineWidth = lineWidth;
    context.setLineDash(dash);
    context.beginPath();
    points.forEach(([px, py]) => context.lineTo(px, py));
    context.stroke();
    context.setLineDash([]);
  }

  /**
   * The roof at a share of both peaks, clipped to the picture.
   * @param {number} peakShare @returns {[number, number][]}
   */
  function roofLine(peakShare) {
    const [flops, bytes] = [(roof.flops ?? 0) * peakShare, (roof.bytes ?? 0) * peakShare];
    const from = Math.max(10 ** axes.x[0], 10 ** (axes.y[0] + 12) / bytes);
    const level = y(flops);
    const corner = x(flops / bytes);
    return [
      [x(from), Math.min(bottom, y(from * bytes))],
      [corner, level],
      [right, level],
    ];
  }

  function drawGrid() {
    for (let power = axes.x[0]; power <= axes.x[1]; power += 1) {
      const lineX = Math.round(x(10 ** power)) + 0.5;
      line(palette.line, 1, [], [[lineX, TOP], [lineX, bottom]]);
      const text = decadeText(power);
      write(palette.ink2, text, Math.min(lineX - textWidth(text) / 2, width - textWidth(text) - 2), bottom + 10);
    }
    for (let power = axes.y[0]; power <= axes.y[1]; power += 1) {
      const lineY = Math.round(y(1e12 * 10 ** power)) + 0.5;
      line(palette.line, 1, [], [[LEFT, lineY], [right, lineY]]);
      const text = decadeText(power);
      write(palette.ink2, text, LEFT - 6 - textWidth(text), lineY);
    }
    write(palette.ink3, 'TFLOP/s', 2, 6);
    centred('FLOP per byte of HBM traffic', (LEFT + right) / 2, height - 7, palette.ink3);
  }

  /** Shades the area above the roof. */
  function shadeAboveRoof() {
    const points = roofLine(1);
    context.beginPath();
    [...points, [right, TOP], [LEFT, TOP], ...(points[0][0] > LEFT ? [[LEFT, bottom]] : [])].forEach(([px, py]) =>
      context.lineTo(px, py),
    );
    context.closePath();
    context.fillStyle = palette.bg;
    context.fill();
  }

  /** @param {number} intensity of the ridge, FLOP per byte */
  function drawRoof(intensity) {
    const [low, corner, end] = roofLine(1);
    line(palette.line2, 1, [3, 3], roofLine(SECOND_ROOF_SHARE));
    const ridgeX = Math.round(corner[0]) + 0.5;
    line(palette.ink3, 1, [2, 3], [[ridgeX, corner[1]], [ridgeX, bottom]]);
    line(palette.ink, 1.5, [], [low, corner, end]);
    for (const [from, to] of [
      [low, corner],
      [corner, end],
    ]) {
      const pieces = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / 6);
      for (let piece = 0; piece <= pieces; piece += 1) {
        occupied.push({
          x: from[0] + ((to[0] - from[0]) * piece) / pieces - 1,
          y: from[1] + ((to[1] - from[1]) * piece) / pieces - 1,
          w: 2,
          h: 2,
        });
      }
    }
    const teraflops = roundPeak((roof.flops ?? 0) / 1e12);
    const compute = `${digits(teraflops, teraflops < 100 ? 1 : 0)} TFLOP/s${precision ? ` ${precision}` : ''}`;
    write(palette.ink, compute, right - 4 - textWidth(compute), corner[1] - 10);
    occupied.push({ x: right - 4 - textWidth(compute), y: corner[1] - 17, w: textWidth(compute), h: 14 });
    const angle = Math.atan2(corner[1] - low[1], corner[0] - low[0]);
    const memory = `HBM ${digits((roof.bytes ?? 0) / 1e9)} GB/s`;
    if (Math.hypot(corner[0] - low[0], corner[1] - low[1]) > textWidth(memory) * 1.6) {
      const position = freestPosition(low, corner, textWidth(memory) / 2);
      writeAlong(memory, low, corner, position, angle, -9, palette.ink);
      const secondOffset = 9 + (y(SECOND_ROOF_SHARE) - y(1)) * Math.cos(angle);
      const second = `${SECOND_ROOF_SHARE * 100} % of the roof`;
      writeAlong(second, low, corner, position, angle, secondOffset, palette.ink3);
    }
    const [text, labelY] = [ridgeText(intensity), bottom - 11];
    const plateWidth = textWidth(text) + 8;
    box(palette.surface, corner[0] - plateWidth / 2, labelY - 7, plateWidth, 14);
    centred(text, corner[0], labelY, palette.ink);
    const [memoryBound, computeBound] = ['‹ memory-bound', 'compute-bound ›'];
    if (corner[0] - plateWidth / 2 - 4 - textWidth(memoryBound) > LEFT) {
      write(palette.ink2, memoryBound, corner[0] - plateWidth / 2 - 4 - textWidth(memoryBound), labelY);
    }
    if (corner[0] + plateWidth / 2 + 4 + textWidth(computeBound) < right) {
      write(palette.ink2, computeBound, corner[0] + plateWidth / 2 + 4, labelY);
    }
    occupied.push({
      x: corner[0] - plateWidth / 2 - 4 - textWidth(memoryBound),
      y: labelY - 8,
      w: plateWidth + 8 + textWidth(memoryBound) + textWidth(computeBound),
      h: 16,
    });
  }

  /**
   * The position for a text on a line, 0 to 1, that is farthest from the largest dots.
   * @param {[number, number]} from
   * @param {[number, number]} to
   * @param {number} halfWidth of the text
   */
  function freestPosition(from, to, halfWidth) {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const distanceFromDots = (/** @type {number} */ position) => {
      const [px, py] = pointOn(from, to, position);
      return minimum(
        dots.slice(0, LABELLED_DOTS).map((dot) => Math.hypot(px - dot.x, py - dot.y)),
        MAX_DOT_DISTANCE,
      );
    };
    return ROOF_LABEL_POSITIONS.filter((position) => Math.min(position, 1 - position) * length > halfWidth).reduce(
      (best, position) => (distanceFromDots(position) > distanceFromDots(best) ? position : best),
      ROOF_LABEL_POSITIONS[0],
    );
  }

  /**
   * Writes text along a line.
   * @param {string} text
   * @param {[number, number]} from
   * @param {[number, number]} to
   * @param {number} position 0 to 1
   * @param {number} angle of the line, in radians
   * @param {number} offset from the line, px
   * @param {string} color
   */
  function writeAlong(text, from, to, position, angle, offset, color) {
    const [px, py] = pointOn(from, to, position);
    context.save();
    context.translate(px, py);
    context.rotate(angle);
    write(color, text, -textWidth(text) / 2, offset);
    context.restore();
    // The slanted text is covered by several boxes.
    const half = textWidth(text) / 2;
    for (let at = -half; at < half; at += 14) {
      occupied.push({
        x: px + Math.cos(angle) * at - Math.sin(angle) * offset - 7,
        y: py + Math.sin(angle) * at + Math.cos(angle) * offset - 7,
        w: 14,
        h: 14,
      });
    }
  }

  /** @param {Dot} dot */
  function drawDot(dot) {
    const tone = toneOf(dot);
    const look =
      tone === undefined
        ? { fill: palette.surface2, edge: palette.ink3 }
        : tone < 0
          ? { fill: palette.surface, edge: palette.hatch }
          : palette.annotations[tone];
    context.globalAlpha = isFaint(dot) ? 0.14 : 0.92;
    context.beginPath();
    context.arc(dot.x, dot.y, dot.r, 0, 7);
    context.fillStyle = look.fill;
    context.fill();
    if (!isFaint(dot)) context.globalAlpha = 1;
    context.strokeStyle = look.edge;
    context.lineWidth = 1;
    if (tone === -1) context.setLineDash([2, 2]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /** @param {Dot} dot @param {number} lineWidth */
  function drawRing(dot, lineWidth) {
    context.strokeStyle = palette.sel;
    context.lineWidth = lineWidth;
    context.beginPath();
    context.arc(dot.x, dot.y, dot.r + 1.5, 0, 7);
    context.stroke();
  }

  /** @param {import('./labels.js').Label} label */
  function drawLabel({ dot, box: area, hasLine }) {
    const [text, middle] = [textOf(dot), area.y + area.h / 2];
    if (hasLine) {
      line(palette.ink3, 1, [], [[dot.x, dot.y], lineEnd(dot, area)]);
      context.fillStyle = palette.ink;
      context.beginPath();
      context.arc(dot.x, dot.y, 1.5, 0, 7);
      context.fill();
    }
    context.lineWidth = 3;
    context.lineJoin = 'round';
    context.strokeStyle = palette.surface;
    context.strokeText(text, area.x, middle + 0.5);
    write(palette.ink, text, area.x, middle);
  }

  const textOf = (/** @type {Dot} */ { row }) => `${row.op}  ${timeText(row.ps, 1)}`;

  box(palette.surface, 0, 0, width, height);
  if (ridge) shadeAboveRoof();
  drawGrid();
  if (ridge) drawRoof(ridge);
  dots.forEach(drawDot);
  const passing = dots.filter((dot) => !isFaint(dot));
  const [selected, highlighted] = [selectedId, highlightedId].map((id) => dots.find(({ row }) => row.id === id));
  if (highlighted) drawRing(highlighted, 1);
  if (selected) drawRing(selected, 2);
  write(palette.ink2, AREA_NOTE, LEFT + 8, TOP + 10);
  occupied.push({ x: LEFT + 8, y: TOP + 3, w: textWidth(AREA_NOTE), h: 14 });
  const labelCount = hasAllLabels ? MAX_LABELLED_DOTS : LABELLED_DOTS;
  const labelled = [...new Set([...(selected ? [selected] : []), ...passing.slice(0, labelCount)])];
  const key = JSON.stringify([width, height, axes, roof, labelled.map(({ row, x: dotX }) => [row.id, row.ps, dotX])]);
  if (labelCache.key !== key) {
    Object.assign(labelCache, {
      key,
      labels: placeLabels(
        labelled,
        dots,
        (dot) => textWidth(textOf(dot)),
        width,
        height,
        occupied,
        (dot) => dot === selected,
      ),
    });
  }
  labelCache.labels.forEach(drawLabel);
}

/**
 * The point at a position, 0 to 1, on a line.
 * @param {[number, number]} from @param {[number, number]} to @param {number} position
 */
const pointOn = (from, to, position) => [
  from[0] + (to[0] - from[0]) * position,
  from[1] + (to[1] - from[1]) * position,
];

/** The intensity of the ridge: whole, or with one decimal below 10. @param {number} value */
const ridgeText = (value) => digits(value, value < 10 ? 1 : 0);
