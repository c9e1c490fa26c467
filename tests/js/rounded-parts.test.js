import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roundParts, roundShares } from '../../frontend/lib/rounded-parts.js';

const sum = (values) => values.reduce((total, value) => total + value, 0);

test('the rest after rounding down goes to the largest remainders', () => {
  assert.deepEqual(roundParts([1.4, 1.4, 1.2], 1), [2, 1, 1]);
  assert.deepEqual(roundParts([0.5, 0.5], 1), [1, 0]);
  assert.deepEqual(roundParts([], 1), []);
});

test('rounded parts add up to the rounded whole, each within one quantum', () => {
  let seed = 7;
  const random = () => { seed = (seed * 48271) % 2147483647; return seed; };
  for (let repetition = 0; repetition < 200; repetition += 1) {
    const parts = Array.from({ length: 1 + (random() % 12) }, () => random() % 1e9);
    const rounded = roundParts(parts, 1e6);
    assert.equal(sum(rounded), Math.round(sum(parts) / 1e6));
    parts.forEach((part, index) => assert.ok(Math.abs(rounded[index] - part / 1e6) <= 1));
  }
});

test('shares add up to 100.0 %', () => {
  assert.equal(Math.round(sum(roundShares([1, 1, 1])) * 1000), 1000);
  assert.deepEqual(roundShares([0, 0]), [0, 0]);
});
