/** Draws the roofline: ops as dots, the roof, and labels. */

import { digits, timeText } from '../lib/format.js';
import { BOTTOM, LEFT, RIGHT, TOP, decade, lineEnd, placeLabels, scales } from './layout.js';
import { trimmed } from './rows.js';
import { minimum } from '../lib/totals.js';

/** @typedef {import('../lib/theme.js').Palette} Palette */
/** @typedef {import('./types').Dot} Dot */
/** @typedef {import('./layout.js').Box} Box */
/**
 * @typedef {object} Picture the roofline's data
 * @property {Dot[]} dots the largest first
 * @property {import('./layout.js').Axes} axes
 * @property {import('./layout.js').Roof} roof
 * @property {string} precision of the peak, such as `bf16`
 * @property {(dot: Dot) => number|undefined} tone 0…5; undefined: an annotation without a tone; -1: no annotation
 * @property {(dot: Dot) => boolean} faint whether the filters exclude the op
 * @property {string} chosen id of an op @property {string} lifted @property {boolean} all labels
 * @property {{key: string, labels: import('./layout.js').Label[]}} labelCache labels, valid while the
 *   key is the same
 */

const LABELS = 7;
/** With more labels none would be readable. */
const MAX_LABELS = 80;
const SECOND_ROOF = 0.5;
/** Positions of a roof's label along its line, 0 to 1, the best first. */
const LABEL_POSITIONS = [0.62, 0.3, 0.85, 0.15];
/** Distance within which a dot's label may be, px. */
const CROWD = 90;

/**
 * @param {ReturnType<typeof import('../timeline/draw.js').penOn>} pen
 * @param {number} width
 * @param {number} height
 * @param {Palette} palette
 * @param {Picture} picture
 */
export function paintRoofline(
  { g, box, write, textWidth },
  width,
  height,
  palette,
  { dots, axes, roof, precision, tone, faint, chosen, lifted, all, labelCache },
) {
  const { x, y } = scales(axes, width, height);
  const [right, bottom] = [width - RIGHT, height - BOTTOM];
  const ridge = roof.flops && roof.bytes ? roof.flops / roof.bytes : null;
  /** Boxes that labels must not cover. @type {Box[]} */
  const occupied = [];

  /** @param {string} text @param {number} middle @param {number} at @param {string} color */
  const centred = (text, middle, at, color) => write(color, text, middle - textWidth(text) / 2, at);

  /** @param {string} color @param {number} thick @param {number[]} dash @param {[number, number][]} points */
  function line(color, thick, dash, points) {
    g.strokeStyle = color;
    g.lineWidth = thick;
    g.setLineDash(dash);
    g.beginPath();
    points.forEach(([px, py]) => g.lineTo(px, py));
    g.stroke();
    g.setLineDash([]);
  }

  /** The roof at a share of both peaks, clipped to the picture. @param {number} part @returns {[number, number][]} */
  function roofAt(part) {
    const [flops, bytes] = [(roof.flops ?? 0) * part, (roof.bytes ?? 0) * part];
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
      const at = Math.round(x(10 ** power)) + 0.5;
      line(
        palette.line,
        1,
        [],
        [
          [at, TOP],
          [at, bottom],
        ],
      );
      const text = decade(power);
      write(palette.ink2, text, Math.min(at - textWidth(text) / 2, width - textWidth(text) - 2), bottom + 10);
    }
    for (let power = axes.y[0]; power <= axes.y[1]; power += 1) {
      const at = Math.round(y(1e12 * 10 ** power)) + 0.5;
      line(
        palette.line,
        1,
        [],
        [
          [LEFT, at],
          [right, at],
        ],
      );
      const text = decade(power);
      write(palette.ink2, text, LEFT - 6 - textWidth(text), at);
    }
    write(palette.ink3, 'TFLOP/s', 2, 6);
    centred('FLOP per byte of HBM traffic', (LEFT + right) / 2, height - 7, palette.ink3);
  }

  function drawGround() {
    const points = roofAt(1);
    g.beginPath();
    [...points, [right, TOP], [LEFT, TOP], ...(points[0][0] > LEFT ? [[LEFT, bottom]] : [])].forEach(([px, py]) =>
      g.lineTo(px, py),
    );
    g.closePath();
    g.fillStyle = palette.bg;
    g.fill();
  }

  /** @param {number} at FLOP per byte */
  function drawRoof(at) {
    const [low, corner, end] = roofAt(1);
    line(palette.line2, 1, [3, 3], roofAt(SECOND_ROOF));
    line(
      palette.ink3,
      1,
      [2, 3],
      [
        [Math.round(corner[0]) + 0.5, corner[1]],
        [Math.round(corner[0]) + 0.5, bottom],
      ],
    );
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
    const name = `${digits(trimmed((roof.flops ?? 0) / 1e12), trimmed((roof.flops ?? 0) / 1e12) < 100 ? 1 : 0)} ` +
      `TFLOP/s${precision ? ` ${precision}` : ''}`;
    write(palette.ink, name, right - 4 - textWidth(name), corner[1] - 10);
    occupied.push({ x: right - 4 - textWidth(name), y: corner[1] - 17, w: textWidth(name), h: 14 });
    const slope = Math.atan2(corner[1] - low[1], corner[0] - low[0]);
    const memory = `HBM ${digits((roof.bytes ?? 0) / 1e9)} GB/s`;
    if (Math.hypot(corner[0] - low[0], corner[1] - low[1]) > textWidth(memory) * 1.6) {
      const part = freePart(low, corner, textWidth(memory) / 2);
      along(memory, low, corner, part, slope, -9, palette.ink);
      along('50 % of it', low, corner, part, slope, 9 + (y(1) - y(2)) * Math.cos(slope), palette.ink3);
    }
    const [text, labelY] = [ridgeText(at), bottom - 11];
    const wide = textWidth(text) + 8;
    box(palette.surface, corner[0] - wide / 2, labelY - 7, wide, 14);
    centred(text, corner[0], labelY, palette.ink);
    const [memoryBound, computeBound] = ['‹ memory-bound', 'compute-bound ›'];
    if (corner[0] - wide / 2 - 4 - textWidth(memoryBound) > LEFT) {
      write(palette.ink2, memoryBound, corner[0] - wide / 2 - 4 - textWidth(memoryBound), labelY);
    }
    if (corner[0] + wide / 2 + 4 + textWidth(computeBound) < right) {
      write(palette.ink2, computeBound, corner[0] + wide / 2 + 4, labelY);
    }
    occupied.push({
      x: corner[0] - wide / 2 - 4 - textWidth(memoryBound),
      y: labelY - 8,
      w: wide + 8 + textWidth(memoryBound) + textWidth(computeBound),
      h: 16,
    });
  }

  /**
   * The position on a line, 0 to 1, farthest from the labelled dots.
   * @param {[number, number]} from
   * @param {[number, number]} to
   * @param {number} half of the text's width
   */
  function freePart(from, to, half) {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const away = (/** @type {number} */ part) =>
      minimum(
        dots
          .slice(0, LABELS)
          .map((dot) =>
            Math.hypot(from[0] + (to[0] - from[0]) * part - dot.x, from[1] + (to[1] - from[1]) * part - dot.y),
          ),
        CROWD,
      );
    return LABEL_POSITIONS.filter((part) => Math.min(part, 1 - part) * length > half).reduce(
      (best, part) => (away(part) > away(best) ? part : best),
      LABEL_POSITIONS[0],
    );
  }

  /**
   * Writes text along a line.
   * @param {string} text
   * @param {[number, number]} from
   * @param {[number, number]} to
   * @param {number} part
   * @param {number} slope
   * @param {number} off
   * @param {string} color
   */
  function along(text, from, to, part, slope, off, color) {
    const [px, py] = [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part];
    g.save();
    g.translate(px, py);
    g.rotate(slope);
    write(color, text, -textWidth(text) / 2, off);
    g.restore();
    // The slanted text is covered by several boxes.
    const half = textWidth(text) / 2;
    for (let at = -half; at < half; at += 14) {
      occupied.push({
        x: px + Math.cos(slope) * at - Math.sin(slope) * off - 7,
        y: py + Math.sin(slope) * at + Math.cos(slope) * off - 7,
        w: 14,
        h: 14,
      });
    }
  }

  /** @param {Dot} dot */
  function drawDot(dot) {
    const toneIndex = tone(dot);
    const look =
      toneIndex === undefined
        ? { fill: palette.surface2, edge: palette.ink3 }
        : toneIndex < 0
          ? { fill: palette.surface, edge: palette.hatch }
          : palette.phases[toneIndex];
    g.globalAlpha = faint(dot) ? 0.14 : 0.92;
    g.beginPath();
    g.arc(dot.x, dot.y, dot.r, 0, 7);
    g.fillStyle = look.fill;
    g.fill();
    if (!faint(dot)) g.globalAlpha = 1;
    g.strokeStyle = look.edge;
    g.lineWidth = 1;
    if (toneIndex === -1) g.setLineDash([2, 2]);
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  /** @param {Dot} dot @param {number} thick */
  function ring(dot, thick) {
    g.strokeStyle = palette.sel;
    g.lineWidth = thick;
    g.beginPath();
    g.arc(dot.x, dot.y, dot.r + 1.5, 0, 7);
    g.stroke();
  }

  /** @param {import('./layout.js').Label} label */
  function drawLabel({ dot, box: area, line: hasLine }) {
    const [text, middle] = [textOf(dot), area.y + area.h / 2];
    if (hasLine) {
      line(palette.ink3, 1, [], [[dot.x, dot.y], lineEnd(dot, area)]);
      g.fillStyle = palette.ink;
      g.beginPath();
      g.arc(dot.x, dot.y, 1.5, 0, 7);
      g.fill();
    }
    g.lineWidth = 3;
    g.lineJoin = 'round';
    g.strokeStyle = palette.surface;
    g.strokeText(text, area.x, middle + 0.5);
    write(palette.ink, text, area.x, middle);
  }

  const textOf = (/** @type {Dot} */ { row }) => `${row.op}  ${timeText(row.ps, 1)}`;

  box(palette.surface, 0, 0, width, height);
  if (ridge) drawGround();
  drawGrid();
  if (ridge) drawRoof(ridge);
  dots.forEach(drawDot);
  const passing = dots.filter((dot) => !faint(dot));
  const [selected, hovered] = [chosen, lifted].map((id) => dots.find(({ row }) => row.id === id));
  if (hovered) ring(hovered, 1);
  if (selected) ring(selected, 2);
  write(palette.ink2, 'area of a dot: own time', LEFT + 8, TOP + 10);
  occupied.push({ x: LEFT + 8, y: TOP + 3, w: textWidth('area of a dot: own time'), h: 14 });
  const labelled = [...new Set([...(selected ? [selected] : []), ...passing.slice(0, all ? MAX_LABELS : LABELS)])];
  const key = JSON.stringify([width, height, axes, roof, labelled.map(({ row, x: at }) => [row.id, row.ps, at])]);
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

/** The intensity of the ridge: whole, or with a decimal where it is small. @param {number} value */
const ridgeText = (value) => digits(value, value < 10 ? 1 : 0);
