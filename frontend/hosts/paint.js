/** Draws the heat map: steps as columns, hosts as rows; bars in rows of named hosts, tones in thin rows. */

import { mix } from '../lib/theme.js';
import { CLASSES } from '../lib/classes.js';
import { digits } from '../lib/format.js';
import { DEVICE } from './rows.js';
import { HEAD, LEFT, RIGHT, columnX, labelEvery, onScale, runsOf } from './layout.js';
import { maximum } from '../lib/totals.js';

/** @typedef {import('../lib/theme.js').Palette} Palette */
/** @typedef {import('./layout.js').HeatRow} HeatRow */
/**
 * @typedef {object} Picture the map's data
 * @property {HeatRow[]} rows
 * @property {number} top of the thin rows
 * @property {number} bottom
 * @property {number} first the first visible step
 * @property {number} fits number of visible steps
 * @property {(step: number) => string} step @property {boolean} arrival shows arrival; otherwise step time
 * @property {(host: number, step: number) => number|null} value lateness or step time, µs; null if unknown
 * @property {number} from of the scale, µs @property {number} to
 * @property {number[]} last the last host of each step; -1 if none @property {boolean[]} clear more than chance
 * @property {(host: number) => string} number the host's label in the head
 * @property {(host: number, step: number) => string|null} cause class that took longest against the median host
 * @property {(host: number) => [name: string, note: string]} words
 * @property {string[]} thinNotes lines of text beside the thin rows, unless these are high enough for names
 * @property {(row: HeatRow) => string} waits
 * @property {string} thinWaits
 * @property {string} waitsHead head of the waits; empty if they are unknown
 * @property {number[]} blamed hosts that the verdict names
 */
/** @typedef {{host: number, range: import('./types').StepRange|null}} Marked */

const MIN_TONE = 0.07;
/** Minimum height of a thin row with a name, px. */
const MIN_LABELLED_ROW = 14;

/** The tone at a position on the scale. @param {Palette} palette @param {number} part 0 to 1 */
export const toneOf = (palette, part) =>
  mix(palette.surface, palette.devColl.fill, MIN_TONE + (1 - MIN_TONE) * part);

/**
 * The colour of the last host's bar: of the class that took longer, of device work, or of neither.
 * @param {Palette} palette
 * @param {string|null} name
 */
function fillOf(palette, name) {
  const at = CLASSES.indexOf(/** @type {import('../lib/routes').ClassName} */ (name));
  return at >= 0 ? palette.classes[at] : name === DEVICE ? palette.devColl : palette.dev;
}

/**
 * @param {ReturnType<typeof import('../timeline/draw.js').penOn>} pen
 * @param {number} width
 * @param {Palette} palette
 * @param {Picture} picture
 * @param {Marked} marked
 */
export function paint(
  { g, box, write, textWidth, fitText, drawSlice, outline },
  width,
  palette,
  picture,
  { host: chosen, range },
) {
  const { rows, top, bottom, first, fits, arrival, value, from, to, last, clear } = picture;
  const x = (/** @type {number} */ step) => columnX(step - first, fits, width);
  const wide = (/** @type {number} */ step) => Math.max(1, x(step + 1) - x(step) - gap);
  const column = (width - LEFT - RIGHT) / fits;
  const gap = column >= 10 ? 2 : 1;
  const steps = Array.from({ length: fits }, (_, index) => first + index);
  const isLast = (/** @type {HeatRow} */ { hosts }, /** @type {number} */ step) => hosts.includes(last[step]);
  const part = (/** @type {number} */ us) => onScale(us, from, to);
  const font = g.font;

  /** @param {string} text @param {number} middle @param {number} y @param {string} color @param {boolean} [bold] */
  function centred(text, middle, y, color, bold) {
    if (bold) g.font = `600 ${font}`;
    write(color, text, middle - textWidth(text) / 2, y);
    g.font = font;
  }

  /** @param {string} text @param {number} y @param {boolean} bold */
  function atRight(text, y, bold) {
    if (bold) g.font = `600 ${font}`;
    write(palette.ink, text, width - 4 - textWidth(text), y);
    g.font = font;
  }

  function drawHead() {
    write(palette.ink3, 'step', 4, 8);
    if (picture.waitsHead) write(palette.ink3, picture.waitsHead, width - 4 - textWidth(picture.waitsHead), 8);
    const labelStep = labelEvery(column, maximum(steps.map((step) => textWidth(picture.step(step)))) + 14);
    steps
      .filter((_, index) => index % labelStep === 0)
      .forEach((step) => centred(picture.step(step), (x(step) + x(step + 1)) / 2 - 1, 8, palette.ink2));
    if (!arrival) return;
    write(palette.ink2, 'last to arrive', 4, 26);
    const keys = steps.map((step) => `${last[step]} ${clear[step]}`);
    const allFit = steps.every((step) => last[step] < 0 || textWidth(picture.number(last[step])) <= column - 2);
    for (const [begin, end] of allFit ? steps.map((_, index) => [index, index]) : runsOf(keys)) {
      const lastHost = last[first + begin];
      const text = lastHost < 0 ? '' : picture.number(lastHost);
      const room = x(first + end + 1) - x(first + begin);
      if (textWidth(text) <= room - 2) {
        centred(
          text,
          (x(first + begin) + x(first + end + 1)) / 2 - 1,
          26,
          clear[first + begin] ? palette.ink : palette.ink3,
          clear[first + begin] && picture.blamed.includes(lastHost),
        );
      }
    }
  }

  /** @param {HeatRow} row */
  function drawNamed(row) {
    const {
      hosts: [host],
      y,
      h,
    } = row;
    const selected = host === chosen;
    if (selected) box(palette.wash, 0, y - 2, width, h + 4);
    const [name, note] = picture.words(host);
    if (selected) g.font = `600 ${font}`;
    write(palette.ink, fitText(name, LEFT - 10), 4, y + 10);
    g.font = font;
    write(palette.ink2, fitText(note, LEFT - 6), 4, y + 24);
    atRight(picture.waits(row), y + h / 2, selected);
    for (const step of steps) {
      const us = value(host, step);
      const [left, w] = [x(step), wide(step)];
      if (us === null) {
        drawSlice(left, y, w, h, { fill: palette.surface, on: palette.ink, edge: palette.line2 }, 'light', '');
      } else if (!arrival) box(toneOf(palette, part(us)), left, y, w, h);
      else drawBar(row, step, us, left, w, selected);
    }
  }

  /**
   * @param {HeatRow} row
   * @param {number} step
   * @param {number} us
   * @param {number} left
   * @param {number} w
   * @param {boolean} selected
   */
  function drawBar(row, step, us, left, w, selected) {
    const {
      hosts: [host],
      y,
      h,
    } = row;
    box(selected ? palette.surface : palette.surface2, left, y, w, h);
    box(palette.line, left, y + h - 1, w, 1);
    const barHeight = Math.round(part(us) * h);
    if (!isLast(row, step)) {
      if (us > 0) box(palette.dev2.fill, left, y + h - Math.max(1, barHeight), w, Math.max(1, barHeight));
      return;
    }
    const tone = fillOf(palette, picture.cause(host, step));
    const high = Math.max(3, barHeight);
    drawSlice(left, y + h - high, w, high, tone, null, '');
    const text = digits(us / 1000);
    if (us > to && textWidth(text) <= w - 2) centred(text, left + w / 2, y + h / 2, tone.on);
  }

  /** @param {HeatRow[]} thin */
  function drawThin(thin) {
    if (rows.length > thin.length) box(palette.line2, 0, top - 5, width, 1);
    if (thin.every(({ hosts, h }) => hosts.length === 1 && h >= MIN_LABELLED_ROW)) {
      for (const row of thin) {
        write(palette.ink, fitText(picture.words(row.hosts[0])[0], LEFT - 10), 4, row.y + row.h / 2);
        atRight(picture.waits(row), row.y + row.h / 2, false);
      }
    } else {
      picture.thinNotes.forEach((text, index) =>
        write(index ? palette.ink2 : palette.ink, fitText(text, LEFT - 10), 4, top + 7 + index * 14),
      );
      atRight(picture.thinWaits, top + 7, false);
    }
    for (const row of thin) {
      for (const step of steps) {
        const values = row.hosts.flatMap((host) => value(host, step) ?? []);
        if (values.length) box(toneOf(palette, part(maximum(values))), x(step), row.y, wide(step), row.h);
      }
      // Rows without any value are hatched.
      if (steps.every((step) => row.hosts.every((host) => value(host, step) === null))) {
        drawSlice(
          x(first),
          row.y,
          x(first + fits) - x(first),
          row.h,
          { fill: palette.surface, on: palette.ink, edge: palette.line2 },
          'light',
          '',
        );
      }
    }
    if (arrival) {
      for (const row of thin) {
        for (const step of steps) {
          if (isLast(row, step)) box(palette.dev.fill, x(step), row.y, wide(step), Math.max(row.h, 2));
        }
      }
    }
    const selectedRow = thin.find(({ hosts }) => hosts.includes(chosen));
    if (selectedRow) {
      outline(palette.accent, 1, x(first) - 1, selectedRow.y - 1, x(first + fits) - x(first) + 1, selectedRow.h + 2);
    }
  }

  function drawMarks() {
    if (!range) return;
    const [begin, end] = [Math.max(first, range[0]), Math.min(first + fits - 1, range[1])];
    if (begin > end) return;
    const [left, right] = [x(begin) - 1, x(end) + wide(end) + 1];
    box(palette.veil, LEFT, HEAD - 2, left - LEFT, bottom - HEAD + 2, 0.7);
    box(palette.veil, right, HEAD - 2, x(first + fits) - right, bottom - HEAD + 2, 0.7);
    for (const edge of [left - 0.75, right - 0.75]) box(palette.sel, edge, HEAD - 6, 1.5, bottom - HEAD + 6);
    if (range[0] !== range[1]) return;
    const row = rows.find(({ hosts }) => hosts.includes(chosen));
    if (row) outline(palette.sel, 2, left + 1, row.y, right - left - 2, row.h);
  }

  box(palette.surface, 0, 0, width, bottom);
  drawHead();
  const thin = rows.filter(({ named }) => !named);
  rows.filter(({ named }) => named).forEach(drawNamed);
  if (thin.length) drawThin(thin);
  drawMarks();
}
