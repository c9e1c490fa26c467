import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathText, shortPathNames } from '../../frontend/lib/path-names.js';
import { axisOf, hostInterval, ribbonShapes } from '../../frontend/propagation/order.js';
import { isInside, shownRows, valuesOf } from '../../frontend/propagation/tree.js';
import { selectionQuery } from '../../frontend/propagation/view.js';

const rows = ['step', 'step/forward', 'step/forward/attention', 'step/forward2', 'other'].map((path) => ({ path }));

test('a path is nested in another by whole segments', () => {
  assert.ok(isInside('step/forward/attention', 'step/forward'));
  assert.ok(!isInside('step/forward2', 'step/forward'));
  assert.ok(!isInside('step', 'step'));
});

test('a collapsed row hides its nested rows and nothing else', () => {
  const visiblePaths = (collapsed) =>
    shownRows(rows, new Set(collapsed)).map(({ row, hasNested }) => `${row.path}${hasNested ? '+' : ''}`);
  assert.deepEqual(visiblePaths([]), ['step+', 'step/forward+', 'step/forward/attention', 'step/forward2', 'other']);
  assert.deepEqual(visiblePaths(['step/forward']), ['step+', 'step/forward+', 'step/forward2', 'other']);
  assert.deepEqual(visiblePaths(['step', 'step/forward']), ['step+', 'other']);
});

test('a row has times of one step, of the mean step, and of the whole capture', () => {
  const row = {
    host_ps: 30,
    device_ps: 60,
    device_ops: 12,
    mean_host_ps: 10,
    mean_device_ps: 20,
    step_host_ps: 9,
    step_device_ps: 21,
    step_device_ops: 4,
  };
  assert.deepEqual(valuesOf(row, 'step_'), { host: 9, device: 21, ops: 4 });
  assert.deepEqual(valuesOf(row, 'mean_'), { host: 10, device: 20, ops: undefined });
  assert.deepEqual(valuesOf(row, ''), { host: 30, device: 60, ops: 12 });
});

test('ribbons divide a host phase by device time and end at their runs, between which no idle time is drawn', () => {
  const host = [
    { start_ps: 0, end_ps: 40 },
    { start_ps: 40, end_ps: 100 },
  ];
  const device = [10, 20, 70].map((device_ps) => ({ device_ps }));
  const ribbons = [
    { host: 0, device: 0, inverted: false },
    { host: 1, device: 1, inverted: false },
    { host: 0, device: 2, inverted: true },
  ];
  assert.deepEqual(
    ribbonShapes({ phase_rows: { host, device }, ribbons }, axisOf(0, 100)).map(({ from, to }) => [from, to]),
    [
      [[0, 0.05], [0, 0.1]],
      [[0.4, 1], [0.1, 0.3]],
      [[0.05, 0.4], [0.3, 1]],
    ],
  );
});

test('the host strip covers the step, or its annotation if the host’s phases start outside the step', () => {
  const tree = [{ path: 'step', host_interval: [10, 50] }];
  const strips = { host: [{ start_ps: 20, end_ps: 45 }] };
  const step = (/** @type {number} */ start_ps) => ({ name: 'step', start_ps, duration_ps: 40 });
  assert.deepEqual(hostInterval({ tree, step: step(15), phase_rows: strips }), [15, 55]);
  assert.deepEqual(hostInterval({ tree, step: step(100), phase_rows: strips }), [10, 50]);
  assert.deepEqual(hostInterval({ tree: [], step: step(100), phase_rows: strips }), [20, 45]);
});

test('short names are the shortest endings that distinguish paths', () => {
  const paths = ['reduce', 'jit/map/reduce', 'jit/map/mm', 'a/0/drop', 'b/0/drop', null];
  const annotations = new Set([...paths, 'jit', 'jit/map', 'a', 'a/0', 'b', 'b/0']);
  assert.deepEqual(Object.fromEntries(shortPathNames(paths, annotations)), {
    reduce: 'reduce',
    'jit/map/reduce': 'map/reduce',
    'jit/map/mm': 'mm',
    'a/0/drop': 'a/0/drop',
    'b/0/drop': 'b/0/drop',
  });
});

test('short names consist of whole names, which may contain slashes', () => {
  const annotations = new Set(['train/step', 'train/step/net/forward', 'train/step/data', 'eval', 'eval/net/forward']);
  assert.deepEqual(
    [...shortPathNames(annotations, annotations).values()].sort(),
    ['data', 'eval', 'eval/net/forward', 'train/step', 'train/step/net/forward'],
  );
  annotations.delete('eval/net/forward');
  assert.equal(shortPathNames(annotations, annotations).get('train/step/net/forward'), 'net/forward');
  assert.deepEqual(
    [...shortPathNames(['f/g', 'p/f/g', 'q/g'], new Set(['f', 'p', 'q']))],
    [['f/g', 'f/g'], ['p/f/g', 'p/f/g'], ['q/g', 'q/g']],
  );
});

test('scopes of differentiation are named by their function', () => {
  const texts = JSON.parse(readFileSync(new URL('../path_texts.json', import.meta.url), 'utf8'));
  for (const [path, outer, text] of texts) assert.equal(pathText(path, outer), text);
});

test('only a selected annotation or scope of the timeline is part of the query', () => {
  assert.deepEqual(selectionQuery('ev:h0.ann@553.364287/1'), { row: 'h0.ann', start_ps: 553364287000, depth: 1 });
  assert.deepEqual(selectionQuery('ev:h1.d3.scopes@5'), { row: 'h1.d3.scopes', start_ps: 5000000000, depth: 0 });
  for (const selection of [undefined, '', 'win:5+3', 'ev:h0.t3@5/1', 'gap:TPU:0@5']) {
    assert.equal(selectionQuery(selection), null);
  }
});
