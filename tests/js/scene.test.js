import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelledLane } from '../../frontend/timeline/scene.js';

const lane = (row, depth, y, label = '') => ({ id: `${row}/${depth}`, row: { id: row }, depth, y, h: 16, label });
const LANES = [
  lane('h0.steps', 0, 3, 'Steps'),
  lane('h0.ann', 0, 22, 'Annotations'),
  lane('h0.ann', 1, 41),
  lane('h0.ann', 2, 60),
];
const labels = (scroll, fixed = 0) => {
  const scene = { lanes: LANES, top: 23, fixed, scroll };
  return LANES.filter(({ y }) => y >= scroll).map((shown) => labelledLane(scene, shown).label);
};

test('the topmost lane on screen has the label of its row, whose first lane is scrolled away', () => {
  assert.deepEqual(labels(0), ['Steps', 'Annotations', '', '']);
  assert.deepEqual(labels(19), ['Annotations', '', '']);
  assert.deepEqual(labels(38), ['Annotations', '']);
  assert.deepEqual(labels(57), ['Annotations']);
  // Fixed lanes have their own labels; below them, the second depth of the annotations is at the edge.
  assert.deepEqual(labels(0, 21), ['Steps', 'Annotations', '', '']);
  assert.deepEqual(labels(19, 21), ['Annotations', 'Annotations', '']);
});
