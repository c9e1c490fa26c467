/** Drawing functions for a canvas, in pixels and tones: boxes, text, textures, slices. */

import { escapeInvisible } from '../lib/escapes.js';

/** @typedef {import('../lib/theme.js').Palette} Palette */
/** @typedef {import('../lib/theme.js').Tone} Tone */
/**
 * A texture over a tone, for slices without a hue; `light`: no scope.
 * @typedef {'hatch'|'dots'|'light'|null} Texture
 */

/** Space before and after the text of a slice. */
const TEXT_INSET_PX = 5;
const TEXT_MARGIN_PX = 3;
/** Narrower slices have no text. */
export const MIN_TEXT_PX = 22;
/** Text of baseline `middle` is drawn this much lower, so that it looks centred. */
const BASELINE_OFFSET_PX = 0.5;
const MAX_MEASURED_TEXTS = 20_000;
/** Narrower slices have no edges; a row of them is an area. */
export const MIN_EDGES_PX = 2;
/** Distances between the lines of hatches and between dots. */
const HATCH_PX = { hatch: 5, light: 6 };
const DOTS_PX = 4;

/** Widths of texts by font and text, px. @type {Map<string, number>} */
const widths = new Map();

/**
 * Fits a canvas to its size and the pixel ratio; returns the drawing functions.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @param {Palette} palette
 */
export function penOn(canvas, width, height, palette) {
  const ratio = devicePixelRatio || 1;
  const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    Object.assign(canvas, { width: pixelWidth, height: pixelHeight });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = `${11 * palette.fontScale}px ${palette.font}`;
  context.textBaseline = 'middle';

  /**
   * @param {string} color
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   * @param {number} [alpha]
   */
  function box(color, x, y, w, h, alpha = 1) {
    context.globalAlpha = alpha;
    context.fillStyle = color;
    context.fillRect(x, y, w, h);
    context.globalAlpha = 1;
  }

  /**
   * Text, vertically centred on `y`.
   * @param {string} color
   * @param {string} text
   * @param {number} x
   * @param {number} y
   */
  function write(color, text, x, y) {
    context.fillStyle = color;
    context.fillText(escapeInvisible(text), x, y + BASELINE_OFFSET_PX);
  }

  /**
   * Text on its own background, `tagWidth` wide.
   * @param {string} background
   * @param {string} color
   * @param {string} text
   * @param {number} x
   * @param {number} y
   */
  function tag(background, color, text, x, y) {
    box(background, x, y - 8, tagWidth(text), 16);
    write(color, text, x + 4, y);
  }

  const tagWidth = (/** @type {string} */ text) => textWidth(text) + 8;

  /** @param {string} text */
  function textWidth(text) {
    const key = context.font + text;
    let measured = widths.get(key);
    if (measured === undefined) {
      if (widths.size > MAX_MEASURED_TEXTS) widths.clear();
      measured = context.measureText(escapeInvisible(text)).width;
      widths.set(key, measured);
    }
    return measured;
  }

  /** The text, cut with `…` to fit; empty below three letters. @param {string} text @param {number} space px */
  function fitText(text, space) {
    if (textWidth(text) <= space) return text;
    let letters = 0;
    let maxLetters = text.length;
    while (letters < maxLetters) {
      const middle = (letters + maxLetters + 1) >> 1;
      if (textWidth(text.slice(0, middle) + '…') <= space) letters = middle;
      else maxLetters = middle - 1;
    }
    return letters >= 3 ? text.slice(0, letters) + '…' : '';
  }

  /** Whether all of a text fits into a slice. @param {string} text @param {number} space width of the slice, px */
  const fits = (text, space) => textWidth(text) <= space - TEXT_INSET_PX - TEXT_MARGIN_PX;

  /**
   * Draws inside rectangles.
   * @param {{x: number, y: number, w: number, h: number}[]} boxes
   * @param {() => void} draw
   */
  function clippedTo(boxes, draw) {
    context.save();
    context.beginPath();
    for (const { x, y, w, h } of boxes) context.rect(x, y, w, h);
    context.clip();
    draw();
    context.restore();
  }

  /**
   * Draws inside a rectangle.
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   * @param {() => void} draw
   */
  const clipped = (x, y, w, h, draw) => clippedTo([{ x, y, w, h }], draw);

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   * @param {string} color
   * @param {number} step
   */
  function hatch(x, y, w, h, color, step) {
    clipped(x, y, w, h, () => {
      context.strokeStyle = color;
      context.lineWidth = 1;
      context.beginPath();
      for (let at = Math.floor((x - h) / step) * step; at < x + w + h; at += step) {
        context.moveTo(at, y + h);
        context.lineTo(at + h, y);
      }
      context.stroke();
    });
  }

  /** @param {number} x @param {number} y @param {number} w @param {number} h @param {string} color */
  function dots(x, y, w, h, color) {
    for (let at = Math.ceil(x / DOTS_PX) * DOTS_PX + 2; at < x + w - 1; at += DOTS_PX) {
      for (let row = y + 3; row < y + h - 1; row += DOTS_PX) box(color, at, row, 1, 1);
    }
  }

  /**
   * Draws a slice. `x` and `w` are already cut to the lanes, so that its text stays in view.
   * @param {number} x @param {number} y @param {number} w @param {number} h
   * @param {Tone} tone @param {Texture} texture @param {string} text @param {number} [textPx] width for the text
   */
  function drawSlice(x, y, w, h, tone, texture, text, textPx = w) {
    box(tone.fill, x, y, Math.max(1, w), h);
    if (w >= MIN_EDGES_PX) {
      if (texture && !palette.plain) {
        if (texture === 'dots') dots(x, y, w, h, palette.hatch);
        else hatch(x, y, w, h, texture === 'light' ? palette.line2 : palette.hatch, HATCH_PX[texture]);
      }
      context.strokeStyle = tone.edge;
      context.lineWidth = 1;
      if (texture === 'dots') context.setLineDash([3, 2]);
      const left = Math.round(x);
      context.strokeRect(left + 0.5, y + 0.5, Math.max(1, Math.round(x + w) - left - 1), h - 1);
      context.setLineDash([]);
    }
    const fitted = textPx < MIN_TEXT_PX ? '' : fitText(text, textPx - TEXT_INSET_PX - TEXT_MARGIN_PX);
    if (!fitted) return;
    if (texture) box(tone.fill, x + 2, y + 2, Math.min(w - 4, textWidth(fitted) + 6), h - 4);
    write(tone.on, fitted, x + TEXT_INSET_PX, y + h / 2);
  }

  /**
   * Draws a part of an area from the bottom of a lane, on whole pixels, at least one wide and high.
   * @param {string} fill
   * @param {number} from @param {number} to x
   * @param {number} y
   * @param {number} h of the lane
   * @param {number} share of it
   */
  function drawArea(fill, from, to, y, h, share) {
    const [x, areaHeight] = [Math.round(from), Math.max(1, Math.round(h * share))];
    box(fill, x, y + h - areaHeight, Math.max(1, Math.round(to) - x), areaHeight);
  }

  /**
   * Draws an outline around a slice, outside of the slice's edge if the line is thicker than 1 px.
   * @param {string} color
   * @param {number} linePx
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  function outline(color, linePx, x, y, w, h) {
    const out = linePx > 1 ? 0.5 : -0.5;
    context.strokeStyle = color;
    context.lineWidth = linePx;
    context.strokeRect(
      Math.round(x) - out,
      Math.round(y) - out,
      Math.max(2, Math.round(w)) + 2 * out,
      Math.round(h) + 2 * out,
    );
  }

  return {
    context,
    box,
    drawArea,
    write,
    tag,
    tagWidth,
    textWidth,
    fitText,
    fits,
    clipped,
    clippedTo,
    drawSlice,
    outline,
  };
}
