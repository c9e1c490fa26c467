import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNITS } from '../../frontend/lib/format.js';
import { sorted, timeColumn } from '../../frontend/lib/table.js';

const ITEMS = [{ name: 'b', ps: 1 }, { name: 'a', ps: 3 }, { name: 'c', ps: 1 }];

test('equal values keep the order of the items, in both directions', () => {
  assert.deepEqual(sorted(ITEMS, ({ ps }) => ps, false).map(({ name }) => name), ['b', 'c', 'a']);
  assert.deepEqual(sorted(ITEMS, ({ ps }) => ps, true).map(({ name }) => name), ['a', 'b', 'c']);
});

test('texts can be sorted, and the given items keep their order', () => {
  assert.deepEqual(sorted(ITEMS, ({ name }) => name, true).map(({ name }) => name), ['c', 'b', 'a']);
  assert.equal(ITEMS[0].name, 'b');
});

test('a cell of a time has its picoseconds, and none if the time is missing', () => {
  const { ps, cell } = timeColumn('Time', UNITS.ms, 'time');
  assert.deepEqual([ps({ time: 1_500_000_000.4 }), cell({ time: 1_500_000_000 })], [1_500_000_000, '1.500']);
  assert.deepEqual([ps({ time: null }), cell({ time: null })], [null, '–']);
});
