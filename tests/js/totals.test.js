/** Functions that take more items than a call can have arguments, or than recursion can
 * have levels. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maximum, minimum } from '../../frontend/lib/totals.js';
import { collapsedAtFirst } from '../../frontend/device/tree.js';

test('extremes of more numbers than a call can have arguments', () => {
  const values = Array.from({ length: 500_000 }, (_, at) => at - 7);
  assert.deepEqual(
    [minimum(values), maximum(values), minimum([], 3), maximum([], 3), maximum([1], 3)],
    [-7, 499_992, 3, 3, 3],
  );
});

test('a tree of 5,000 levels, each with one row inside, is open at first', () => {
  const rows = Array.from({ length: 5000 }, (_, depth) => ({
    key: `row ${depth}`,
    path: null,
    depth,
    hasNested: depth < 4999,
    ps: 5000 - depth,
  }));
  assert.equal(collapsedAtFirst(/** @type {any} */ (rows)).size, 0);
});
