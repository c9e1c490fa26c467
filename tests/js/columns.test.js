import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, eachCover, firstAfter, nearestEdge, sliceAt, sliceOf } from '../../frontend/timeline/columns.js';

const wire = {
  start_ps: 100,
  end_ps: 1000,
  names: ['a', 'b'],
  rows: {
    'h0.t0': [
      {
        s: [-50, 100, 200],
        d: [100, 50, 10],
        n: [0, 1, -1],
        c: [0, 1, 2],
        k: [1, 12, 1],
        b: [0, 30, 0],
        e: [7, 1, 20],
      },
    ],
    'h0.classes': [{ s: [0], d: [900], n: [-1], c: [11], e: [-1] }],
  },
};

test('starts and numbers of events are differences', () => {
  const [columns] = decode(wire).rows.get('h0.t0');
  assert.deepEqual([...columns.start], [50, 150, 350]);
  assert.deepEqual([...columns.end], [150, 200, 360]);
  assert.deepEqual([...columns.event], [7, 8, 28]);
  assert.deepEqual([...columns.count], [1, 12, 1]);
});

test('absent counts mean single events, and slices that are no events have no number', () => {
  const [columns] = decode(wire).rows.get('h0.classes');
  assert.deepEqual([...columns.count], [1]);
  assert.deepEqual([...columns.event], [-1]);
});

test('a slice is found by time, within a tolerance', () => {
  const [columns] = decode(wire).rows.get('h0.t0');
  assert.equal(firstAfter(columns, 149), 0);
  assert.equal(firstAfter(columns, 150), 1);
  assert.equal(firstAfter(columns, 999), 3);
  assert.equal(sliceAt(columns, 160, 0), 1);
  assert.equal(sliceAt(columns, 345, 5), 2);
  assert.equal(sliceAt(columns, 210, 5), -1);
  assert.equal(sliceAt(columns, 203, 5), 1);
  assert.equal(sliceOf(columns, 150), 1);
  assert.equal(sliceOf(columns, 349), -1);
});

test('the coverage of a merged slice comes from its digits, one per bucket of time', () => {
  const rows = {
    'h0.t0': [
      {
        s: [4, 30, 6],
        d: [20, 4, 8],
        n: [0, 0, 0],
        c: [0, 0, 0],
        k: [7, 1, 3],
        b: [16, 0, 4],
        e: [1, 7, 1],
        r: 4,
        f: 'f50',
      },
    ],
  };
  const [columns] = decode({ start_ps: 0, end_ps: 100, names: ['a'], rows }).rows.get('h0.t0');
  const partsOf = (i, start_ps, end_ps) => {
    const parts = [];
    eachCover(columns, i, { start_ps, end_ps }, (from, to, share) => parts.push([from, to, share]));
    return parts;
  };
  // Buckets of 16 ps: the first slice is full in 4 to 16 and covered by a third in 16 to 24.
  assert.deepEqual(partsOf(0, 0, 100), [[4, 16, 1], [16, 24, 1 / 3]]);
  assert.deepEqual(partsOf(0, 12, 20), [[12, 16, 1], [16, 20, 1 / 3]]);
  assert.deepEqual(partsOf(1, 0, 100), [[34, 38, 1]]);
  // The third slice is in one bucket, 40 to 48 ps; the digits before belong to other slices.
  assert.deepEqual(partsOf(2, 0, 100), [[40, 48, 0]]);
});

test('an instant near an edge of a slice is moved to it', () => {
  const [columns] = decode(wire).rows.get('h0.t0');
  // The slices extend from 50 to 150, from 150 to 200 and from 350 to 360.
  assert.deepEqual([45, 54, 55, 146, 204, 356, 365].map((ps) => nearestEdge(columns, ps, 4)),
    [null, 50, null, 150, 200, 360, null]);
  assert.equal(nearestEdge({ ...columns, start: [], end: [], length: 0 }, 50, 4), null);
});
