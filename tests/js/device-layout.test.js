import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BOTTOM,
  LEFT,
  RIGHT,
  axesOf,
  decadeText,
  dotAt,
  dotsOf,
  drawableOps,
  scales,
} from '../../frontend/device/layout.js';
import { opRows } from '../../frontend/device/rows.js';
import { MS, answerWith } from './device-answer.js';

const rows = opRows(/** @type {any} */ (answerWith()));

test('axes begin at whole decades below the ops, contain the ridge, and end above the roof', () => {
  const roof = { flops: 1e15, bytes: 1e12 };
  assert.deepEqual(drawableOps(rows).map(({ id }) => id), ['dot.1', 'fusion.2', 'fusion.2~2']);
  const axes = axesOf(rows, roof);
  assert.deepEqual(axes.x, [0, 4]);
  // The slowest op is at exactly 1 TFLOP/s, and not on the axis.
  assert.equal(axes.y[0], -1);
  assert.ok(axes.y[1] > 3 && axes.y[1] < 3.5);
  assert.deepEqual(axesOf([], { flops: null, bytes: null }), { x: [0, 2], y: [0, 2] });
  const { x, y } = scales(axes, 500, 300);
  assert.deepEqual([x(1), x(1e4), y(1e11)].map(Math.round), [LEFT, 500 - RIGHT, 300 - BOTTOM]);
  // An op with less than a thousandth of the time does not stretch the axes.
  assert.deepEqual(axesOf([...rows, { ...rows[0], ps: MS / 1000, intensity: 1e-6 }], roof).x, [0, 4]);
});

test('areas of dots are proportional to time; of dots on top of each other the last one is found', () => {
  const axes = axesOf(rows, { flops: 1e15, bytes: 1e12 });
  const dots = dotsOf(rows, axes, 500, 300);
  assert.ok(Math.abs(dots[0].r ** 2 / dots[1].r ** 2 - 30 / 25) < 1e-9);
  const [large, small] = [{ row: rows[0], x: 100, y: 100, r: 20 }, { row: rows[1], x: 105, y: 100, r: 4 }];
  assert.equal(dotAt([large, small], 106, 100), small);
  assert.equal(dotAt([large, small], 90, 100), large);
  assert.equal(dotAt([large, small], 200, 100), null);
  assert.ok(dotsOf(rows.map((row) => ({ ...row, ps: row.ps * 1e6 })), axes, 500, 300)[0].r <= 22);
  assert.equal(Math.round(dotsOf(rows.map((row) => ({ ...row, ps: row.ps / 1e6 })), axes, 500, 300)[0].r), 10);
});

test('powers of ten are written out, small and large ones with an exponent', () =>
  assert.deepEqual([-5, -1, 0, 3, 5, 6].map(decadeText), ['10⁻⁵', '0.1', '1', '1\u202f000', '100\u202f000', '10⁶']));
