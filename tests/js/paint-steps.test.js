import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeTags, stepBars } from '../../frontend/timeline/paint-steps.js';
import { createScale } from '../../frontend/timeline/scale.js';

const columns = (/** @type {number[]} */ start, /** @type {number[]} */ end) =>
  /** @type {any} */ ({ length: start.length, start, end });

test('a pixel shows its slowest step, and steps leave no holes of a few pixels', () => {
  const steps = columns([0, 4, 10, 30, 80], [3, 9, 12, 60, 84]);
  const { bars } = stepBars(steps, createScale({ start_ps: 0, end_ps: 100 }, 0, 10));
  assert.deepEqual(bars.map(({ i, x, w }) => [i, x, w]), [[1, 0, 1], [2, 1, 2], [3, 3, 3], [4, 8, 1]]);
});

test('the usual height is that of 99 in 100 steps', () => {
  const start = Array.from({ length: 200 }, (_, at) => at * 10);
  const end = start.map((ps, at) => ps + (at === 7 ? 9 : at === 8 ? 6 : 5));
  assert.equal(stepBars(columns(start, end), createScale({ start_ps: 0, end_ps: 2000 }, 0, 400)).usual_ps, 5);
});

test('tags that would overlap are placed in further lines, and none leaves the lanes', () => {
  const tags = [{ x: 50, w: 40 }, { x: 60, w: 40 }, { x: 110, w: 40 }, { x: 2, w: 40 }];
  assert.deepEqual(placeTags(tags, 0, 120), [
    { x: 30, line: 0 }, { x: 40, line: 1 }, { x: 80, line: 0 }, { x: 0, line: 1 },
  ]);
});
