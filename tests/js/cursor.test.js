import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCursor } from '../../frontend/timeline/cursor.js';

const LANE = {
  id: 'h0.t0/0',
  kind: 'slices',
  depth: 0,
  row: { id: 'h0.t0', kind: 'thread', label: 'python' },
  rows: [],
};
const COLUMNS = {
  length: 3,
  start: [0, 40, 80],
  end: [10, 50, 90],
  name: [0, 1, 2],
  classIndex: [0, 0, 0],
  count: [1, 1, 1],
  busy: [0, 0, 0],
  event: [7, 8, 9],
};
/** The same with an instant at 40 ps. */
const WITH_INSTANT = { ...COLUMNS, end: [10, 40, 90] };

/** The name of the slice to which an arrow key moves a cursor at an instant. */
function moveFrom(start_ps, direction, columns = COLUMNS) {
  const state = {
    cursor: { lane: LANE, start_ps, real_ps: start_ps },
    selection: null,
    window: { start_ps: 0, end_ps: 100 },
  };
  const lanes = {
    lanes: [LANE],
    scene: () => ({ slices: { names: ['a', 'b', 'c'], rows: new Map([['h0.t0', [columns]]]) } }),
    reveal() {},
  };
  createCursor({ state, set: (patch) => Object.assign(state, patch) }, lanes, { announce() {}, wait: () => '' })
    .along(direction);
  return state.cursor.name;
}

test('arrow keys move from a slice to its neighbours', () => {
  assert.deepEqual([moveFrom(40, 1), moveFrom(40, -1)], ['c', 'a']);
});

test('arrow keys move from an event without duration to its neighbours', () => {
  assert.deepEqual([moveFrom(40, 1, WITH_INSTANT), moveFrom(40, -1, WITH_INSTANT)], ['c', 'a']);
});

test('arrow keys move from an instant between slices to the slices around it', () => {
  assert.deepEqual([moveFrom(60, 1), moveFrom(60, -1)], ['c', 'b']);
});
