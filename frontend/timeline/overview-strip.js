/** A strip of the whole session: device activity, gaps by cause, and a brush for the lanes' window. */

import { clamp } from '../lib/axis.js';
import { h, onDrag, onKeys } from '../lib/dom.js';
import { plural, rangeText } from '../lib/format.js';
import { total } from '../lib/totals.js';
import { penOn } from './draw.js';
import { createScale, isLowWindow, zoomSpan } from './scale.js';

/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('./scale.js').Span} Span */

/** In px: activity of the devices at the top, as lines or one bar chart; a band of causes below. */
const NORMAL_SIZES = { height: 40, activityTop: 4, activityHeight: 24, bandTop: 30, bandHeight: 6, hasLines: true };
const SMALL_SIZES = { height: 26, activityTop: 3, activityHeight: 14, bandTop: 18, bandHeight: 5, hasLines: false };
/** Up to this number of devices, each has its own line. */
const MAX_LINES = 8;
const LINE_PITCH_PX = 3;
/** Opacity of a line where its device is hardly busy. */
const MIN_OPACITY = 0.25;
/** The digit of a bucket in which a device is busy all the time. */
const MAX_DIGIT = 15;
/** The edges of the window can be dragged within this distance. */
const GRIP_PX = 6;
/** Moves of a pressed pointer up to this length do not draw a new window. */
const MAX_CLICK_MOVE_PX = 3;
/** Windows that show more of the session than this are not moved: a drag in them draws a new window. */
const MAX_MOVABLE_SHARE = 0.999;
/** Arrow keys move the window by this share of it, or zoom by this factor. */
const PAN_SHARE = 0.2;
const ZOOM_FACTOR = 1.5;

/**
 * @param {object} on
 * @param {(span: Span) => void} on.window called when the user moves the brush
 * @param {() => number} on.left x at which the lanes begin, px
 * @param {() => Span} on.shown the lanes' window
 * @param {() => string[]} on.devices ids of the chosen devices
 * @param {() => {id: string, causes: string}[]|undefined} on.causes per device the causes of its gaps, a digit for each
 *   bucket
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

  const sizes = () => (isLowWindow() ? SMALL_SIZES : NORMAL_SIZES);
  const sessionScale = () =>
    createScale({ start_ps: 0, end_ps: session?.session.duration_ps ?? 1 }, on.left(), element.clientWidth);

  /**
   * Draws the layer that does not depend on the window.
   * @param {Ready} session
   * @param {import('../lib/theme.js').Palette} palette
   * @param {string[]} deviceIds
   */
  function drawSession({ strip: { devices: allDevices, host: hosts, buckets } }, palette, deviceIds) {
    const { left, right } = sessionScale();
    const { height, activityTop, activityHeight, bandTop, bandHeight, hasLines } = sizes();
    const { box, write, fitText } = penOn(base, element.clientWidth, height, palette);
    const devices = allDevices.filter(({ id }) => deviceIds.includes(id));
    const drawsLines = hasLines && devices.length > 1 && devices.length <= MAX_LINES;
    const bands = allDevices.length
      ? devices.map(({ id }) => on.causes()?.find((device) => device.id === id)?.causes ?? '')
      : hosts.map((host) => host.class);
    box(palette.surface2, 0, 0, element.clientWidth, height);
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const [x, end] = [bucket, bucket + 1].map((at) => Math.round(left + ((right - left) * at) / buckets));
      const w = Math.max(1, end - x);
      const busy = devices.map((device) => parseInt(device.busy[bucket], 16) / MAX_DIGIT);
      if (drawsLines) {
        busy.forEach((share, line) => {
          const opacity = MIN_OPACITY + (1 - MIN_OPACITY) * share;
          if (share) box(palette.run.fill, x, activityTop + line * LINE_PITCH_PX, w, 2, opacity);
        });
      } else if (busy.length) {
        const barHeight = (activityHeight * total(busy, Number)) / busy.length;
        box(palette.run.fill, x, activityTop + activityHeight - barHeight, w, barHeight);
      }
      bands.forEach((band, line) => {
        const tone = palette.classes[parseInt(band[bucket], 16)];
        // The busier the bucket, the paler its gaps.
        const opacity = allDevices.length ? 1 - busy[line] : 1;
        if (tone) {
          box(
            tone.fill === palette.surface ? palette.hatch : tone.fill,
            x,
            bandTop + (line * bandHeight) / bands.length,
            w,
            bandHeight / bands.length,
            opacity,
          );
        }
      });
    }
    const label = allDevices.length ? `${plural(devices.length, 'device')} · gaps by cause` : 'host by class';
    write(
      palette.ink3,
      hasLines
        ? 'whole session'
        : fitText(allDevices.length ? `session, ${plural(devices.length, 'device')}` : 'session', left - 20),
      12,
      13,
    );
    if (hasLines) write(palette.ink3, fitText(label, left - 20), 12, 28);
    box(palette.line, left - 1, 0, 1, height);
    box(palette.line, 0, height - 1, element.clientWidth, 1);
  }

  /** @param {import('../lib/theme.js').Palette} palette */
  function draw(palette) {
    const width = element.clientWidth;
    const { height } = sizes();
    element.style.height = `${height}px`;
    if (!session || !width) return;
    const deviceIds = on.devices();
    const { start_ps, end_ps } = on.shown();
    for (const [name, value] of Object.entries({
      max: Math.round(session.session.duration_ps / 1e9),
      now: Math.round(start_ps / 1e9),
      text: rangeText(start_ps, end_ps),
    })) {
      element.setAttribute(`aria-value${name}`, String(value));
    }
    const inputs = [session, palette, width, height, devicePixelRatio, deviceIds.join(), on.causes()];
    if (inputs.some((value, index) => value !== lastInputs[index])) drawSession(session, palette, deviceIds);
    lastInputs = inputs;
    const { context, box, outline } = penOn(canvas, width, height, palette);
    context.drawImage(base, 0, 0, width, height);
    const { left, x: toX } = sessionScale();
    const [from, to] = [start_ps, end_ps].map(toX);
    box(palette.veil, left, 0, from - left, height);
    box(palette.veil, to, 0, width - to, height);
    outline(palette.sel, 1, from, 0, to - from, height);
    for (const x of [from - 2, to - 3]) box(palette.sel, x, height / 2 - 7, 5, 14);
  }

  /** @param {PointerEvent} event */
  const locatePointer = ({ clientX }) => {
    const scale = sessionScale();
    const x = clientX - element.getBoundingClientRect().left;
    const [from, to] = [on.shown().start_ps, on.shown().end_ps].map(scale.x);
    const isAtStart = Math.abs(x - from) <= GRIP_PX && from > scale.left + 1;
    const edge = isAtStart ? 'start' : Math.abs(x - to) <= GRIP_PX ? 'end' : null;
    return { scale, x, at_ps: scale.ps(x), from, to, edge };
  };
  onDrag(element, (event) => {
    const { scale, x, at_ps, from, to, edge } = locatePointer(event);
    const { start_ps, end_ps } = on.shown();
    if (event.button !== 0 || !session) return null;
    return (moveEvent) => {
      const ps = clamp(locatePointer(moveEvent).at_ps, 0, scale.end_ps);
      if (edge) on.window(spanBetween(ps, edge === 'start' ? end_ps : start_ps));
      else if (x > from && x < to && end_ps - start_ps < scale.end_ps * MAX_MOVABLE_SHARE) {
        on.window({ start_ps: start_ps + ps - at_ps, end_ps: end_ps + ps - at_ps });
      } else if (Math.abs(scale.x(ps) - x) > MAX_CLICK_MOVE_PX) on.window(spanBetween(at_ps, ps));
    };
  });
  /** Moves the window by a share of its length, at most to an end of the session. @param {number} share */
  function pan(share) {
    const { start_ps, end_ps } = on.shown();
    const by = clamp(share * (end_ps - start_ps), -start_ps, (session?.session.duration_ps ?? end_ps) - end_ps);
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
    const { scale, x, edge } = locatePointer(event);
    element.style.cursor = edge ? 'ew-resize' : x > scale.left ? 'crosshair' : '';
  });

  return {
    element, draw,
    /** @param {Ready} next */
    open(next) { session = next; },
  };
}

/** The span between two instants, in any order. @param {number} a @param {number} b @returns {Span} */
export const spanBetween = (a, b) => ({ start_ps: Math.min(a, b), end_ps: Math.max(a, b) });
