/** Draws the heat map: steps as columns, hosts as rows; bars in rows of named hosts, tones in thin rows. */

import { mix } from '../lib/theme.js';
import { CLASSES } from '../lib/classes.js';
import { digits } from '../lib/format.js';
import { DEVICE } from './rows.js';
import { HEAD, LEFT, RIGHT, columnX, labelEvery, mergeNeighbours, onScale } from './layout.js';
import { maximum } from '../lib/totals.js';

/** @typedef {import('../lib/theme.js').Palette} Palette */
/** @typedef {import('./layout.js').HeatRow} HeatRow */
/**
 * @typedef {object} Picture the map's data
 * @property {HeatRow[]} rows
 * @property {number} top of the thin rows
 * @property {number} bottom
 * @property {number} first the first visible step
 * @property {number} columnCount number of visible steps
 * @property {(step: number) => string} stepLabel
 * @property {boolean} showsArrival whether cells show arrival; otherwise step time
 * @property {(host: number, step: number) => number|null} valueOf lateness or step time, µs; null if unknown
 * @property {number} from of the scale, µs @property {number} to
 * @property {number[]} lastHosts the last host of each step; -1 if none
 * @property {boolean[]} isClear per step, whether its last host is one of the late hosts, and not only by clock errors
 * @property {(host: number) => string} hostLabel of a last host, above its step
 * @property {(string|null)[]} lastCauses per step, the class in which its last host most exceeds the median host
 * @property {(host: number) => [name: string, note: string]} rowTexts of a named host
 * @property {string[]} thinNotes lines of text beside the thin rows, unless the rows are high enough for names
 * @property {(row: HeatRow) => string} waitText how long others wait for a row's hosts
 * @property {string} thinWaitText the same for all thin rows
 * @property {string} waitHead heading of these texts; empty if the waits are unknown
 * @property {number[]} verdictHosts hosts that the verdict names
 */
/** @typedef {{host: number, range: import('./types').StepRange|null}} HeatSelection */

/** Share of the darkest tone at the scale's lower end. */
const MIN_TONE = 0.07;
/** Minimum height of a thin row with a name, px. */
const MIN_LABELLED_ROW_PX = 14;
/** Middle of the lines of the head: the steps, and the last host of each, px. */
const STEPS_Y = 8;
const LAST_HOSTS_Y = 26;

/** The tone at a position on the scale. @param {Palette} palette @param {number} position 0 to 1 */
const toneOf = (palette, position) =>
  mix(palette.surface, palette.collective.fill, MIN_TONE + (1 - MIN_TONE) * position);

/**
 * The colour of the last host's bar: of the class that took longer, of device work, or of neither.
 * @param {Palette} palette
 * @param {string|null} name
 */
function fillOf(palette, name) {
  const index = CLASSES.indexOf(/** @type {import('../lib/routes').ClassName} */ (name));
  return index >= 0 ? palette.classes[index] : name === DEVICE ? palette.collective : palette.run;
}

/**
 * @param {ReturnType<typeof import('../timeline/draw.js').penOn>} pen
 * @param {number} width
 * @param {Palette} palette
 * @param {Picture} picture
 * @param {HeatSelection} selection
 */
export function paint(
  { context, box, write, textWidth, fitText, drawSlice, outline },
  width,
  palette,
  picture,
  { host: selectedHost, range },
) {
  const { rows, top, bottom, first, columnCount, showsArrival, valueOf, from, to, lastHosts, isClear } = picture;
  const x = (/** @type {number} */ step) => columnX(step - first, columnCount, width);
  const cellWidth = (/** @type {number} */ step) => Math.max(1, x(step + 1) - x(step) - gap);
  const column = (width - LEFT - RIGHT) / columnCount;
  const gap = column >= 10 ? 2 : 1;
  const end = first + columnCount;
  const steps = Array.from({ length: columnCount }, (_, index) => first + index);
  const isLast = (/** @type {HeatRow} */ { hosts }, /** @type {number} */ step) => hosts.includes(lastHosts[step]);
  const positionOf = (/** @type {number} */ us) => onScale(us, from, to);
  const font = context.font;

  /** @param {string} text @param {number} middle @param {number} y @param {string} color @param {boolean} [bold] */
  function centred(text, middle, y, color, bold) {
    if (bold) context.font = `600 ${font}`;
    write(color, text, middle - textWidth(text) / 2, y);
    context.font = font;
  }

  /** @param {string} text @param {number} y @param {boolean} bold */
  function atRight(text, y, bold) {
    if (bold) context.font = `600 ${font}`;
    write(palette.ink, text, width - 4 - textWidth(text), y);
    context.font = font;
  }

  function drawHead() {
    write(palette.ink3, 'step', 4, STEPS_Y);
    if (picture.waitHead) write(palette.ink3, picture.waitHead, width - 4 - textWidth(picture.waitHead), STEPS_Y);
    const labelStep = labelEvery(column, maximum(steps.map((step) => textWidth(picture.stepLabel(step)))) + 14);
    steps
      .filter((_, index) => index % labelStep === 0)
      .forEach((step) => centred(picture.stepLabel(step), (x(step) + x(step + 1)) / 2 - 1, STEPS_Y, palette.ink2));
    if (!showsArrival) return;
    write(palette.ink2, 'last to arrive', 4, LAST_HOSTS_Y);
    const allFit = steps.every(
      (step) => lastHosts[step] < 0 || textWidth(picture.hostLabel(lastHosts[step])) <= column - 2,
    );
    const groups = allFit
      ? steps.map((step) => [step, step])
      : mergeNeighbours(steps.map((step) => `${lastHosts[step]} ${isClear[step]}`)).map(([begin, last]) => [
          first + begin,
          first + last,
        ]);
    for (const [begin, last] of groups) {
      const lastHost = lastHosts[begin];
      const text = lastHost < 0 ? '' : picture.hostLabel(lastHost);
      if (textWidth(text) <= x(last + 1) - x(begin) - 2) {
        centred(
          text,
          (x(begin) + x(last + 1)) / 2 - 1,
          LAST_HOSTS_Y,
          isClear[begin] ? palette.ink : palette.ink3,
          isClear[begin] && picture.verdictHosts.includes(lastHost),
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
    const isSelected = host === selectedHost;
    if (isSelected) box(palette.wash, 0, y - 2, width, h + 4);
    const [name, note] = picture.rowTexts(host);
    if (isSelected) context.font = `600 ${font}`;
    write(palette.ink, fitText(name, LEFT - 10), 4, y + 10);
    context.font = font;
    write(palette.ink2, fitText(note, LEFT - 6), 4, y + 24);
    atRight(picture.waitText(row), y + h / 2, isSelected);
    for (const step of steps) {
      const us = valueOf(host, step);
      const [left, w] = [x(step), cellWidth(step)];
      if (us === null) {
        drawSlice(left, y, w, h, { fill: palette.surface, on: palette.ink, edge: palette.line2 }, 'light', '');
      } else if (!showsArrival) box(toneOf(palette, positionOf(us)), left, y, w, h);
      else drawBar(row, step, us, left, w, isSelected);
    }
  }

  /**
   * @param {HeatRow} row
   * @param {number} step
   * @param {number} us
   * @param {number} left
   * @param {number} w
   * @param {boolean} isSelected
   */
  function drawBar(row, step, us, left, w, isSelected) {
    const { y, h } = row;
    box(isSelected ? palette.surface : palette.surface2, left, y, w, h);
    box(palette.line, left, y + h - 1, w, 1);
    const barHeight = Math.round(positionOf(us) * h);
    if (!isLast(row, step)) {
      if (us > 0) box(palette.op.fill, left, y + h - Math.max(1, barHeight), w, Math.max(1, barHeight));
      return;
    }
    const tone = fillOf(palette, picture.lastCauses[step]);
    const sliceHeight = Math.max(3, barHeight);
    drawSlice(left, y + h - sliceHeight, w, sliceHeight, tone, null, '');
    const text = digits(us / 1000);
    if (us > to && textWidth(text) <= w - 2) centred(text, left + w / 2, y + h / 2, tone.on);
  }

  /** @param {HeatRow[]} thinRows */
  function drawThin(thinRows) {
    if (rows.length > thinRows.length) box(palette.line2, 0, top - 5, width, 1);
    if (thinRows.every(({ hosts, h }) => hosts.length === 1 && h >= MIN_LABELLED_ROW_PX)) {
      for (const row of thinRows) {
        write(palette.ink, fitText(picture.rowTexts(row.hosts[0])[0], LEFT - 10), 4, row.y + row.h / 2);
        atRight(picture.waitText(row), row.y + row.h / 2, false);
      }
    } else {
      picture.thinNotes.forEach((text, index) =>
        write(index ? palette.ink2 : palette.ink, fitText(text, LEFT - 10), 4, top + 7 + index * 14),
      );
      atRight(picture.thinWaitText, top + 7, false);
    }
    for (const row of thinRows) {
      for (const step of steps) {
        const values = row.hosts.flatMap((host) => valueOf(host, step) ?? []);
        if (values.length) box(toneOf(palette, positionOf(maximum(values))), x(step), row.y, cellWidth(step), row.h);
      }
      // Rows without any value are hatched.
      if (steps.every((step) => row.hosts.every((host) => valueOf(host, step) === null))) {
        drawSlice(
          x(first),
          row.y,
          x(end) - x(first),
          row.h,
          { fill: palette.surface, on: palette.ink, edge: palette.line2 },
          'light',
          '',
        );
      }
    }
    if (showsArrival) {
      for (const row of thinRows) {
        for (const step of steps) {
          if (isLast(row, step)) box(palette.run.fill, x(step), row.y, cellWidth(step), Math.max(row.h, 2));
        }
      }
    }
    const selectedRow = thinRows.find(({ hosts }) => hosts.includes(selectedHost));
    if (selectedRow) {
      outline(palette.accent, 1, x(first) - 1, selectedRow.y - 1, x(end) - x(first) + 1, selectedRow.h + 2);
    }
  }

  /** Dims the steps outside of the selected range, and outlines the selected cell. */
  function drawSelection() {
    if (!range) return;
    const [begin, last] = [Math.max(first, range[0]), Math.min(end - 1, range[1])];
    if (begin > last) return;
    const [left, right] = [x(begin) - 1, x(last) + cellWidth(last) + 1];
    box(palette.veil, LEFT, HEAD - 2, left - LEFT, bottom - HEAD + 2, 0.7);
    box(palette.veil, right, HEAD - 2, x(end) - right, bottom - HEAD + 2, 0.7);
    for (const edge of [left - 0.75, right - 0.75]) box(palette.sel, edge, HEAD - 6, 1.5, bottom - HEAD + 6);
    if (range[0] !== range[1]) return;
    const row = rows.find(({ hosts }) => hosts.includes(selectedHost));
    if (row) outline(palette.sel, 2, left + 1, row.y, right - left - 2, row.h);
  }

  box(palette.surface, 0, 0, width, bottom);
  drawHead();
  rows.filter(({ named }) => named).forEach(drawNamed);
  const thinRows = rows.filter(({ named }) => !named);
  if (thinRows.length) drawThin(thinRows);
  drawSelection();
}
