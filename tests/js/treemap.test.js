/** The rectangles of a treemap. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { squarify } from '../../frontend/device/treemap.js';

const WHOLE = { x: 1, y: 2, width: 6, height: 4 };

/** @param {import('../../frontend/device/treemap.js').Rectangle} rectangle */
const area = ({ width, height }) => width * height;

test('areas are the values, and fill the whole', () => {
  const rectangles = squarify([6, 6, 4, 3, 2, 2, 1], WHOLE);
  assert.deepEqual(rectangles.map((rectangle) => Math.round(area(rectangle) * 1e9) / 1e9), [6, 6, 4, 3, 2, 2, 1]);
});

test('the rectangles of the publication of this method', () => {
  const [first, second, third] = squarify([6, 6, 4, 3, 2, 2, 1], { x: 0, y: 0, width: 6, height: 4 });
  assert.deepEqual(first, { x: 0, y: 0, width: 3, height: 2 });
  assert.deepEqual(second, { x: 0, y: 2, width: 3, height: 2 });
  assert.equal(third.x, 3);
});

test('no rectangle leaves the whole, and none overlaps another one', () => {
  const values = [...Array(40).keys()].map((index) => 1 / (index + 1));
  const rectangles = squarify(values, WHOLE);
  rectangles.forEach((a, index) => {
    assert.ok(a.x > WHOLE.x - 1e-9 && a.x + a.width < WHOLE.x + WHOLE.width + 1e-9);
    assert.ok(a.y > WHOLE.y - 1e-9 && a.y + a.height < WHOLE.y + WHOLE.height + 1e-9);
    for (const b of rectangles.slice(index + 1)) {
      const overlap =
        Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x) > 1e-9 &&
        Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y) > 1e-9;
      assert.equal(overlap, false);
    }
  });
});

test('one value takes the whole, and none takes nothing', () => {
  assert.deepEqual(squarify([3], WHOLE), [WHOLE]);
  assert.deepEqual(squarify([], WHOLE), []);
});
