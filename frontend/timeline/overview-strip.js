/** A strip of the whole session: device activity, gaps by cause, and a brush for the lanes' window. */

import { clamp } from '../lib/axis.js';
import { h, onDrag, onKeys } from '../lib/dom.js';
import { plural, rangeText } from '../lib/format.js';
import { penOn } from './draw.js';
import { createScale, isSmall, zoomSpan } from './scale.js';

/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('./scale.js').Span} Span */

const NORMAL_SIZES = { height: 40, linesTop: 4, room: 24, bandTop: 30, band: 6, lines: true };
const SMALL_SIZES = { height: 26, linesTop: 3, room: 14, bandTop: 18, band: 5, lines: false };
const GRIP_PX = 6;
/** An arrow key moves the window by this share of it, or zooms by this factor. */
const PAN_SHARE = 0.2;
const ZOOM_FACTOR = 1.5;

/**
 * @param {object} on
 * @param {(span: Span) => void} on.window the brush has moved
 * @param {() => number} on.left where the lanes begin, px
 * @param {() => Span} on.shown @param {() => string[]} on.devices ids of those that are chosen
 * @param {() => {id: string, causes: string}[]|undefined} on.causes of gaps, per device
 */
export function createOverviewStrip(on) {
  const [canvas, base] = [h('canvas', null), h('canvas', null)];
  const element = h(
    'div',
    {
      class: 'strip',
      'data-testid': 'overview-strip',
      role: 'slider',
      tabindex: 0,
      'aria-label': 'Window of the session',
      'aria-valuemin': 0,
    },
    canvas,
  );
  /** @type {Ready|null} */
  let session = null;
  /** Inputs of the last drawing of the base layer. @type {any[]} */
  let lastInputs = [];

  const sizes = () => (isSmall() ? SMALL_SIZES : NORMAL_SIZES);
  const scale = () =>
    createScale({ start_ps: 0, end_ps: session?.session.duration_ps ?? 1 }, on.left(), element.clientWidth);

  /**
   * Draws the layer that does not depend on the window.
   * @param {Ready} session
   * @param {import('../lib/theme.js').Palette} palette
   * @param {string[]} chosen
   */
  function drawSession({ strip: { devices: allDevices, host: hosts, buckets } }, palette, chosen) {
    const whole = scale();
    const { left } = whole;
    const { height, linesTop, room, bandTop, band: bandTall, lines: withLines } = sizes();
    const { box, write, fitText } = penOn(base, element.clientWidth, height, palette);
    const devices = allDevices.filter(({ id }) => chosen.includes(id));
    const lines = withLines && devices.length > 1 && devices.length < 9;
    const bands = allDevices.length
      ? devices.map(({ id }) => on.causes()?.find((device) => device.id === id)?.causes ?? '')
      : hosts.map((host) => host.class);
    box(palette.surface2, 0, 0, element.clientWidth, height);
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const [x, end] = [bucket, bucket + 1].map((at) => Math.round(left + ((whole.right - left) * at) / buckets));
      const w = Math.max(1, end - x);
      const digits = devices.map(({ busy }) => parseInt(busy[bucket], 16));
      digits.forEach((digit, line) => {
        if (lines && digit) box(palette.dev.fill, x, linesTop + line * 3, w, 2, 0.25 + (0.75 * digit) / 15);
      });
      const tall =
        lines || !digits.length ? 0 : (room * digits.reduce((sum, digit) => sum + digit)) / (15 * digits.length);
      box(palette.dev.fill, x, linesTop + room - tall, w, tall);
      bands.forEach((band, line) => {
        const tone = palette.classes[parseInt(band[bucket], 16)];
        // In a partly busy bucket the shorter a gap is, the paler it is.
        const pale = allDevices.length ? digits[line] / 15 : 0;
        if (tone) {
          box(
            tone.fill === palette.surface ? palette.hatch : tone.fill,
            x,
            bandTop + (line * bandTall) / bands.length,
            w,
            bandTall / bands.length,
            1 - pale,
          );
        }
      });
    }
    const label = allDevices.length ? `${plural(devices.length, 'device')} · gaps by cause` : 'host by class';
    write(
      palette.ink3,
      withLines
        ? 'whole session'
        : fitText(allDevices.length ? `session, ${plural(devices.length, 'device')}` : 'session', left - 20),
      12,
      13,
    );
    if (withLines) write(palette.ink3, fitText(label, left - 20), 12, 28);
    box(palette.line, left - 1, 0, 1, height);
    box(palette.line, 0, height - 1, element.clientWidth, 1);
  }

  /** @param {import('../lib/theme.js').Palette} palette */
  function draw(palette) {
    const width = element.clientWidth;
    const { height } = sizes();
    element.style.height = `${height}px`;
    if (!session || !width) return;
    const chosen = on.devices();
    const { start_ps, end_ps } = on.shown();
    for (const [name, value] of Object.entries({
      max: Math.round(session.session.duration_ps / 1e9),
      now: Math.round(start_ps / 1e9),
      text: rangeText(start_ps, end_ps),
    })) {
      element.setAttribute(`aria-value${name}`, String(value));
    }
    const inputs = [session, palette, width, height, devicePixelRatio, chosen.join(), on.causes()];
    if (inputs.some((value, index) => value !== lastInputs[index])) drawSession(session, palette, chosen);
    lastInputs = inputs;
    const { g, box, outline } = penOn(canvas, width, height, palette);
    g.drawImage(base, 0, 0, width, height);
    const { left } = scale();
    const [from, to] = [start_ps, end_ps].map(scale().x);
    box(palette.veil, left, 0, from - left, height);
    box(palette.veil, to, 0, width - to, height);
    outline(palette.sel, 1, from, 0, to - from, height);
    for (const x of [from - 2, to - 3]) box(palette.sel, x, height / 2 - 7, 5, 14);
  }

  /** @param {PointerEvent} event */
  const locatePointer = ({ clientX }) => {
    const whole = scale();
    const x = clientX - element.getBoundingClientRect().left;
    const [from, to] = [on.shown().start_ps, on.shown().end_ps].map(whole.x);
    return {
      whole,
      x,
      at: whole.ps(x),
      from,
      to,
      near: Math.abs(x - from) <= GRIP_PX && from > whole.left + 1 ? 'start' : Math.abs(x - to) <= GRIP_PX ? 'end' : '',
    };
  };
  onDrag(element, (event) => {
    const { whole, x, at, from, to, near } = locatePointer(event);
    const { start_ps, end_ps } = on.shown();
    if (event.button !== 0 || !session) return null;
    return (moved) => {
      const ps = clamp(locatePointer(moved).at, 0, whole.end_ps);
      if (near) on.window(ordered(ps, near === 'start' ? end_ps : start_ps));
      else if (x > from && x < to && end_ps - start_ps < whole.end_ps * 0.999) {
        on.window({ start_ps: start_ps + ps - at, end_ps: end_ps + ps - at });
      } else if (Math.abs(whole.x(ps) - x) > 3) on.window(ordered(at, ps));
    };
  });
  /** @param {number} part of the window; it keeps its length, also where it would go beyond the session */
  function pan(part) {
    const { start_ps, end_ps } = on.shown();
    const by = clamp(part * (end_ps - start_ps), -start_ps, (session?.session.duration_ps ?? end_ps) - end_ps);
    on.window({ start_ps: start_ps + by, end_ps: end_ps + by });
  }
  /** @param {number} factor */
  function zoom(factor) {
    const { start_ps, end_ps } = on.shown();
    on.window(zoomSpan({ start_ps, end_ps }, factor, (start_ps + end_ps) / 2));
  }
  onKeys(element, '*', {
    ArrowLeft: () => pan(-PAN_SHARE),
    ArrowRight: () => pan(PAN_SHARE),
    ArrowUp: () => zoom(ZOOM_FACTOR),
    ArrowDown: () => zoom(1 / ZOOM_FACTOR),
    Home: () => pan(-Infinity),
    End: () => pan(Infinity),
  });
  element.addEventListener('pointermove', (event) => {
    const { whole, x, near } = locatePointer(event);
    element.style.cursor = near ? 'ew-resize' : x > whole.left ? 'crosshair' : '';
  });

  return {
    element, draw,
    /** @param {Ready} next */
    open(next) { session = next; },
  };
}

/** @param {number} a @param {number} b @returns {Span} */
export const ordered = (a, b) => ({ start_ps: Math.min(a, b), end_ps: Math.max(a, b) });
