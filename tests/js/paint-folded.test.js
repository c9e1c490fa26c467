import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIVE } from '../../frontend/timeline/columns.js';
import { drawFoldedDevices } from '../../frontend/timeline/paint-folded.js';
import { createScale } from '../../frontend/timeline/scale.js';

const row = (core, kind) => ({ id: `h0.d${core}.${kind}`, kind, device: `vm/TPU:${core}` });
const columns = (start, end, classIndex = 0) => ({
  length: 1,
  start: [start],
  end: [end],
  classIndex: [classIndex],
  count: [1],
});
const palette = { surface: '#ffffff', run: { fill: '#777777' }, collective: { fill: '#333333' } };

/** The boxes drawn for folded rows, as x and colour. */
function boxesOf(rows, slices) {
  const boxes = [];
  const pen = { box: (fill, x) => boxes.push([Math.round(x), fill]), drawArea: () => assert.fail('nothing is merged') };
  const scale = createScale({ start_ps: 0, end_ps: 100 }, 0, 100);
  drawFoldedDevices(pen, { scale, slices: { rows: new Map(slices) } }, palette, { rows, h: 11 }, 0);
  return boxes;
}

test('folded devices show their runs and collectives', () => {
  const slices = [
    ['h0.d0.modules', [columns(10, 50)]],
    ['h0.d0.ops', [columns(20, 30, COLLECTIVE)]],
    ['h0.d1.ops', [columns(40, 50)]],
  ];
  const rows = [row(0, 'modules'), row(0, 'ops'), row(1, 'ops')];
  assert.deepEqual(boxesOf(rows, slices), [[10, '#777777'], [20, '#333333']]);
});

test('folded devices show their ops if none of them has recorded runs', () => {
  const slices = [['h0.d0.ops', [columns(10, 50)]], ['h0.d1.ops', [columns(40, 50)]]];
  assert.deepEqual(boxesOf([row(0, 'ops'), row(1, 'ops')], slices), [[10, '#777777'], [40, '#777777']]);
});
