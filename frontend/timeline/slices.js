/** How one slice is drawn: plain, merged, with the sign of its class, with its text. Knows pixels and tones, not time. */

import { mix } from '../lib/theme.js';
import { digits } from '../lib/format.js';

/** @typedef {import('../lib/theme.js').Palette} Palette */
/** @typedef {import('../lib/theme.js').Tone} Tone */
/** @typedef {'hatch'|'dots'|'none'|'light'|null} Sign what tells a tone apart beside its hue; `light`: no scope */

const INSET = 5;
const LEAST_TEXT_PX = 22;
const LEAST_COUNT_PX = 34;

/** @type {Map<string, number>} */
const widths = new Map();

/** @param {CanvasRenderingContext2D} g @param {string} text */
export function textWidth(g, text) {
  const key = g.font + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    width = g.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** The text, cut with `…` to fit; nothing below three letters. @param {CanvasRenderingContext2D} g @param {string} text @param {number} room */
export function fitText(g, text, room) {
  if (textWidth(g, text) <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(g, text.slice(0, middle) + '…') <= room) low = middle;
    else high = middle - 1;
  }
  return low >= 3 ? text.slice(0, low) + '…' : '';
}

/** @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {number} w @param {number} h @param {string} color @param {number} step */
export function hatch(g, x, y, w, h, color, step = 5) {
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  g.strokeStyle = color;
  g.lineWidth = 1;
  g.beginPath();
  for (let at = Math.floor((x - h) / step) * step; at < x + w + h; at += step) {
    g.moveTo(at, y + h);
    g.lineTo(at + h, y);
  }
  g.stroke();
  g.restore();
}

/** @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {number} w @param {number} h @param {string} color */
function dots(g, x, y, w, h, color) {
  g.fillStyle = color;
  for (let at = Math.ceil(x / 4) * 4 + 2; at < x + w - 1; at += 4) {
    for (let row = y + 3; row < y + h - 1; row += 4) g.fillRect(at, row, 1, 1);
  }
}

/**
 * One slice. `x` and `w` are already cut to the lanes, so the text stays in view; `open` says which edges were cut.
 * @param {CanvasRenderingContext2D} g @param {Palette} palette
 * @param {number} x @param {number} y @param {number} w @param {number} h
 * @param {Tone} tone @param {Sign} sign @param {string} text
 */
export function drawSlice(g, palette, x, y, w, h, tone, sign, text) {
  g.fillStyle = tone.fill;
  if (w < 1) {
    g.fillRect(x, y, 1, h);
    return;
  }
  g.fillRect(x, y, w, h);
  if (sign && !palette.plain && w > 2) {
    if (sign === 'hatch') hatch(g, x, y, w, h, palette.hatch);
    if (sign === 'light') hatch(g, x, y, w, h, palette.line2, 6);
    if (sign === 'dots') dots(g, x, y, w, h, palette.hatch);
  }
  if (w > 2) {
    g.strokeStyle = tone.edge;
    g.lineWidth = 1;
    if (sign === 'dots') g.setLineDash([3, 2]);
    const left = Math.round(x);
    g.strokeRect(left + 0.5, y + 0.5, Math.max(1, Math.round(x + w) - left - 1), h - 1);
    g.setLineDash([]);
  }
  if (!text || w < LEAST_TEXT_PX) return;
  const fitted = fitText(g, text, w - INSET - 3);
  if (!fitted) return;
  if (sign && sign !== 'none') {
    g.fillStyle = tone.fill;
    g.fillRect(x + 2, y + 2, Math.min(w - 4, textWidth(g, fitted) + 6), h - 4);
  }
  g.fillStyle = tone.on;
  g.fillText(fitted, x + INSET, y + h / 2 + 0.5);
}

/**
 * Events too narrow to part: a comb standing on the floor of the lane, with their number.
 * @param {CanvasRenderingContext2D} g @param {Palette} palette
 * @param {number} x @param {number} y @param {number} w @param {number} h @param {Tone} tone @param {number} count
 */
export function drawMerged(g, palette, x, y, w, h, tone, count) {
  const tall = Math.round(h * 0.62);
  const floor = y + h;
  // What is drawn in outline only would hardly be seen as a comb.
  const fill = tone.fill === palette.surface2 || tone.fill === palette.surface ? palette.line2 : tone.fill;
  g.fillStyle = mix(fill, palette.surface, 0.62);
  g.fillRect(x, floor - tall, Math.max(1, w), tall);
  g.fillStyle = fill;
  for (let at = 0; at < Math.max(1, w - 1); at += 3) {
    const dip = (at * 7) % 3;
    g.fillRect(x + at, floor - tall + dip, 1.6, tall - dip);
  }
  if (w < LEAST_COUNT_PX) return;
  const text = `×${digits(count)}`;
  const wide = textWidth(g, text) + 6;
  if (wide > w - 4) return;
  const left = Math.round(x + w / 2 - wide / 2);
  g.fillStyle = palette.surface;
  g.fillRect(left, y + 1, wide, h - 2);
  g.fillStyle = palette.ink2;
  g.fillText(text, left + 3, y + h / 2 + 0.5);
}

/** An outline around a slice, outside of its own edge. @param {CanvasRenderingContext2D} g @param {string} color @param {number} width @param {number} x @param {number} y @param {number} w @param {number} h */
export function outline(g, color, width, x, y, w, h) {
  const out = width > 1 ? 0.5 : -0.5;
  g.strokeStyle = color;
  g.lineWidth = width;
  g.strokeRect(Math.round(x) - out, Math.round(y) - out, Math.max(2, Math.round(w)) + 2 * out, Math.round(h) + 2 * out);
}

/** @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {number} w @param {number} h @param {() => void} draw */
export function clipped(g, x, y, w, h, draw) {
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  draw();
  g.restore();
}
