import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followPointer, wheelZoomFactor } from '../../frontend/timeline/pointer.js';
import { createScale } from '../../frontend/timeline/scale.js';

test('a notch of the wheel zooms by the full factor, an event of a pinch by a part of it', () => {
  assert.equal(wheelZoomFactor(-100), 1.5);
  assert.equal(wheelZoomFactor(100), 1 / 1.5);
  assert.ok(wheelZoomFactor(-3) > 1 && wheelZoomFactor(-3) < 1.05);
  assert.equal(wheelZoomFactor(0), 1);
});

test('a drag selects the time between its ends, and nothing if it returns to its start', () => {
  const listeners = /** @type {Record<string, (event: object) => void>} */ ({});
  const element = /** @type {any} */ ({
    style: {},
    clientWidth: 100,
    addEventListener: (name, listener) => { listeners[name] = listener; },
    getBoundingClientRect: () => ({ left: 0, top: 0 }),
    setPointerCapture() {},
  });
  const selected = [];
  let y = 50;
  const lane = { kind: 'slices', row: { id: 'h0.t0' }, depth: 0, y: 60, h: 20 };
  const slices = { rows: new Map([['h0.t0', [{ length: 1, start: [12e6], end: [33e6] }]]]) };
  followPointer(element, /** @type {any} */ ({
    scene: () => ({
      scale: createScale({ start_ps: 0, end_ps: 100e6 }, 0, 100), lanes: [lane], slices, top: 0, scroll: 0, fixed: 0,
      height: 100,
    }),
    selectedWindow: () => null,
    preview() {},
    hover() {},
    select: (span) => selected.push(span),
  }));
  const drag = (...xs) => {
    const events = xs.map((clientX) => ({ clientX, clientY: y, button: 0 }));
    listeners.pointerdown(events[0]);
    events.slice(1).forEach((event) => listeners.pointermove(event));
    listeners.pointerup(events.at(-1));
  };
  drag(10, 30, 10);
  drag(10, 30);
  assert.deepEqual(selected, [{ start_ps: 10e6, end_ps: 30e6 }]);
  // On a slice, the ends move to its edges.
  y = 70;
  drag(10, 30);
  assert.deepEqual(selected.at(-1), { start_ps: 12e6, end_ps: 33e6 });
});
