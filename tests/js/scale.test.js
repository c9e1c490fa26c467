import assert from 'node:assert/strict';
import { test } from 'node:test';
import { niceStep } from '../../frontend/lib/axis.js';
import * as scale from '../../frontend/timeline/scale.js';

test('pixels and times convert into each other', () => {
  const timeScale = scale.createScale({ start_ps: 520e9, end_ps: 900e9 }, 188, 1440);
  assert.equal(timeScale.x(520e9), 188);
  assert.equal(timeScale.x(900e9), 1440);
  assert.ok(Math.abs(timeScale.ps(timeScale.x(715.08e9)) - 715.08e9) < 1);
});

test('a span keeps its length when it is moved into the session', () => {
  assert.deepEqual(scale.clampSpan({ start_ps: -5e6, end_ps: 5e6 }, 100e6, 100), { start_ps: 0, end_ps: 10e6 });
  assert.deepEqual(scale.clampSpan({ start_ps: 95e6, end_ps: 105e6 }, 100e6, 100), { start_ps: 90e6, end_ps: 100e6 });
  assert.deepEqual(scale.clampSpan({ start_ps: -1, end_ps: 200e6 }, 100e6, 100), { start_ps: 0, end_ps: 100e6 });
});

test('zoom stops at 1 ns per pixel', () => {
  const { start_ps, end_ps } = scale.clampSpan({ start_ps: 50e6, end_ps: 50e6 + 10 }, 100e6, 1000);
  assert.equal(end_ps - start_ps, 1000 * 1000);
});

test('zooming leaves the time under the pointer where it is', () => {
  const before = { start_ps: 0, end_ps: 900 };
  const after = scale.zoomSpan(before, 1.5, 300);
  assert.equal((300 - after.start_ps) / (after.end_ps - after.start_ps), 300 / 900);
  assert.equal(after.end_ps - after.start_ps, 600);
});

test('small zooms and pans request the same data', () => {
  const requestOf = (start, end) => scale.fetchSpan({ start_ps: start, end_ps: end }, (end - start) / 1250, 3e12);
  assert.deepEqual(requestOf(1000e9, 1380e9), requestOf(1001e9, 1381e9));
  assert.deepEqual(requestOf(1000e9, 1380e9), requestOf(1000e9, 1381e9));
  const { start_ps, end_ps, px } = requestOf(1000e9, 1380e9);
  assert.ok(start_ps <= 620e9 && end_ps >= 1760e9, 'three screens');
  const step = (end_ps - start_ps) / px;
  assert.ok(step <= 380e9 / 1250 && step > 380e9 / 1250 / 2.01, 'between one and two pixels of the server per pixel');
});

test('a request stays inside the session and within the limit of the server', () => {
  const { start_ps, end_ps, px } = scale.fetchSpan({ start_ps: 0, end_ps: 3e12 }, 3e12 / 7000, 3e12);
  assert.deepEqual([start_ps, end_ps], [0, 3e12]);
  assert.ok(px <= 20_000);
});

test('ticks step by 1, 2 or 5, every second one has a label', () => {
  for (const [min, step] of [[1, 1], [1.1, 2], [3, 5], [6, 10], [19e9, 20e9]]) assert.equal(niceStep(min), step);
  const { step, ticks } = scale.rulerTicks(scale.createScale({ start_ps: 520e9, end_ps: 900e9 }, 188, 1440), 40);
  assert.equal(step, 20e9);
  assert.equal(ticks[0].ps, 520e9);
  assert.deepEqual(ticks.slice(0, 3).map(({ hasLabel }) => hasLabel), [true, false, true]);
  assert.ok(ticks.every(({ ps }) => ps >= 520e9 && ps <= 900e9));
});

test('an empty span has a position, and its request has integers', () => {
  const timeScale = scale.createScale({ start_ps: 0, end_ps: 0 }, 188, 1440);
  assert.equal(timeScale.x(0), 188);
  assert.deepEqual(
    scale.fetchSpan({ start_ps: 0, end_ps: 1 }, scale.createScale({ start_ps: 0, end_ps: 1 }, 188, 1440).psPerPx, 1),
    { start_ps: 0, end_ps: 1, px: 2048 },
  );
});
