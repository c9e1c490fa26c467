/** The whole session on one strip: device activity, host classes, and a brush that is the window of the lanes. */

import { h } from '../lib/dom.js';
import { CLASSES } from '../lib/classes.js';
import { createScale } from './scale.js';
import { fitText } from './slices.js';

/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('./scale.js').Span} Span */

const HEIGHT = 40;
const LINES_TOP = 4;
const LINES_ROOM = 24;
const HOST_TOP = 30;
const GRIP = 6;

/**
 * @param {object} on
 * @param {(span: Span) => void} on.window the brush has moved
 * @param {() => number} on.left where the lanes begin, px
 */
export function createStrip(on) {
  const canvas = h('canvas', null);
  const element = h('div', { class: 'strip', 'data-testid': 'overview-strip', role: 'img', 'aria-label': 'The whole session' }, canvas);
  /** @type {Ready|null} */
  let session = null;
  /** @type {Span} */
  let shown = { start_ps: 0, end_ps: 1 };
  let chosen = /** @type {string[]} */ ([]);

  const scale = () => createScale({ start_ps: 0, end_ps: session?.session.duration_ps ?? 1 }, on.left(), element.clientWidth);

  /** @param {import('../lib/theme.js').Palette} palette */
  function draw(palette) {
    const width = element.clientWidth;
    if (!session || !width) return;
    const g = resize(canvas, width, HEIGHT);
    const whole = scale();
    g.fillStyle = palette.surface2;
    g.fillRect(0, 0, width, HEIGHT);
    const devices = session.strip.devices.filter(({ id }) => !chosen.length || chosen.includes(id));
    const step = (whole.right - whole.left) / session.strip.buckets;
    g.fillStyle = palette.dev.fill;
    if (devices.length >= 2 && devices.length <= 8) {
      devices.forEach(({ busy }, line) => runs(busy, (from, to, digit) => {
        g.globalAlpha = 0.25 + (0.75 * digit) / 15;
        g.fillRect(whole.left + from * step, LINES_TOP + line * 3, (to - from) * step, 2);
      }));
    } else if (devices.length) {
      for (let bucket = 0; bucket < session.strip.buckets; bucket += 1) {
        const sum = devices.reduce((total, { busy }) => total + parseInt(busy[bucket] ?? '0', 16), 0);
        const tall = (LINES_ROOM * sum) / (15 * devices.length);
        g.fillRect(whole.left + bucket * step, LINES_TOP + LINES_ROOM - tall, step + 0.3, tall);
      }
    }
    g.globalAlpha = 1;
    const hosts = session.strip.host;
    hosts.forEach((host, line) => runs(host.class, (from, to, digit) => {
      if (CLASSES[digit] === 'unrecorded') return;
      g.fillStyle = palette.classes[digit]?.fill ?? palette.ink3;
      g.fillRect(whole.left + from * step, HOST_TOP + (line * 6) / hosts.length, (to - from) * step, Math.max(1, 6 / hosts.length));
    }, true));
    drawBrush(g, palette, whole, width);
    g.font = `${11 * palette.unit}px ${palette.font}`;
    g.textBaseline = 'middle';
    g.fillStyle = palette.ink3;
    g.fillText('whole session', 12, 13);
    const cores = devices.length ? `${devices.length} device${devices.length === 1 ? '' : 's'} · host by class` : 'host by class';
    g.fillText(fitText(g, cores, whole.left - 20), 12, 28);
    g.fillStyle = palette.line;
    g.fillRect(whole.left - 1, 0, 1, HEIGHT);
    g.fillRect(0, HEIGHT - 1, width, 1);
  }

  /** @param {CanvasRenderingContext2D} g @param {import('../lib/theme.js').Palette} palette @param {import('./scale.js').Scale} whole @param {number} width */
  function drawBrush(g, palette, whole, width) {
    const [from, to] = [whole.x(shown.start_ps), whole.x(shown.end_ps)];
    g.fillStyle = palette.veil;
    g.fillRect(whole.left, 0, from - whole.left, HEIGHT);
    g.fillRect(to, 0, width - to, HEIGHT);
    g.strokeStyle = palette.sel;
    g.lineWidth = 1;
    g.strokeRect(Math.round(from) + 0.5, 0.5, Math.max(2, Math.round(to - from) - 1), HEIGHT - 1);
    g.fillStyle = palette.sel;
    g.fillRect(from - 2, 13, 5, 14);
    g.fillRect(to - 3, 13, 5, 14);
  }

  /** @type {((at: number) => void)|null} */
  let drag = null;
  element.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !session) return;
    const whole = scale();
    const x = event.clientX - element.getBoundingClientRect().left;
    const at = whole.ps(x);
    const { start_ps, end_ps } = shown;
    const [from, to] = [whole.x(start_ps), whole.x(end_ps)];
    if (Math.abs(x - from) <= GRIP && from > whole.left + 1) drag = (now) => on.window(ordered(now, end_ps));
    else if (Math.abs(x - to) <= GRIP) drag = (now) => on.window(ordered(start_ps, now));
    else if (x > from && x < to && end_ps - start_ps < whole.end_ps * 0.999) drag = (now) => on.window({ start_ps: start_ps + now - at, end_ps: end_ps + now - at });
    else drag = (now) => { if (Math.abs(whole.x(now) - x) > 3) on.window(ordered(at, now)); };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener('pointermove', (event) => {
    const whole = scale();
    const x = event.clientX - element.getBoundingClientRect().left;
    drag?.(Math.min(whole.end_ps, Math.max(0, whole.ps(x))));
    const near = [shown.start_ps, shown.end_ps].some((ps) => Math.abs(whole.x(ps) - x) <= GRIP);
    element.style.cursor = near ? 'ew-resize' : x > whole.left ? 'crosshair' : '';
  });
  for (const name of ['pointerup', 'pointercancel']) element.addEventListener(name, () => { drag = null; });

  return {
    element, draw,
    /** @param {Ready} next */
    open(next) { session = next; },
    /** @param {Span} span @param {string[]} devices ids; empty: all */
    set(span, devices) {
      shown = span;
      chosen = devices;
    },
  };
}

/** @param {number} a @param {number} b @returns {Span} */
const ordered = (a, b) => ({ start_ps: Math.min(a, b), end_ps: Math.max(a, b) });

/** Stretches of equal digits. @param {string} digits hexadecimal @param {(from: number, to: number, digit: number) => void} each @param {boolean} [zeros] zeros too */
function runs(digits, each, zeros = false) {
  for (let from = 0; from < digits.length;) {
    let to = from + 1;
    while (to < digits.length && digits[to] === digits[from]) to += 1;
    const digit = parseInt(digits[from], 16);
    if (digit || zeros) each(from, to, digit);
    from = to;
  }
}

/** Fits a canvas to its place and the pixel ratio. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function resize(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== tall) {
    canvas.width = w;
    canvas.height = tall;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
}
