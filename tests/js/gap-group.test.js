import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterGaps, groupGaps, patternsOf, stepOf, sumClasses } from '../../frontend/gaps/group.js';

const gap = (device, start_ps, duration_ps, more = {}) => ({
  device, host: 'vm', start_ps, duration_ps, step: 2, step_number: 1206, before: 'a', after: 'b', kind: 'starved', cause: 'tracing', by_class_ps: { tracing: duration_ps }, ...more,
});
const CORES = ['TPU:0', 'TPU:1', 'TPU:2'];
const NONE = { hosts: [], devices: [] };

test('gaps of several cores at the same time are one row with their mean', () => {
  const [row, ...rest] = groupGaps([gap('TPU:1', 101, 72), gap('TPU:0', 100, 70), gap('TPU:2', 99, 74)], CORES);
  assert.equal(rest.length, 0);
  assert.deepEqual(row.gaps.map(({ device }) => device), CORES);
  assert.equal(row.mean_ps, 72);
  assert.deepEqual(row.by_class_ps, { tracing: 216 });
});

test('what follows on the same core, touches only a little or ends in another program is a row of its own', () => {
  assert.equal(groupGaps([gap('TPU:0', 0, 10), gap('TPU:0', 10, 10)], CORES).length, 2);
  assert.equal(groupGaps([gap('TPU:0', 0, 10), gap('TPU:1', 7, 10)], CORES).length, 2);
  assert.equal(groupGaps([gap('TPU:0', 0, 10), gap('TPU:1', 0, 10, { after: 'c' })], CORES).length, 2);
  assert.equal(groupGaps([gap('TPU:0', 0, 10), gap('TPU:0', 0, 10, { host: 'other' })], CORES).length, 2);
});

test('patterns of some gaps have the numbers of these gaps, and keep their places', () => {
  const pattern = (after) => ({ before: 'a', after, count: 9, total_ps: 99, mean_ps: 11, min_ps: 1, max_ps: 50, cause: 'compile', by_class_ps: { compile: 99 } });
  const [none, some] = patternsOf([pattern('c'), pattern('b')], [gap('TPU:0', 0, 10), gap('TPU:1', 0, 14), gap('TPU:0', 90, 3, { inside_run: true })]);
  assert.equal(none.count, 0);
  assert.deepEqual(some, { ...pattern('b'), count: 2, total_ps: 24, mean_ps: 12, min_ps: 10, max_ps: 14, cause: 'tracing', by_class_ps: { tracing: 24 } });
});

test('rows come longest first, ties by time', () => {
  const rows = groupGaps([gap('TPU:0', 50, 5), gap('TPU:0', 0, 5), gap('TPU:0', 20, 9)], CORES);
  assert.deepEqual(rows.map((row) => row.gap.start_ps), [20, 0, 50]);
});

test('filters narrow by each of their keys, a pattern by both programs, the header by device', () => {
  const items = [gap('TPU:0', 0, 5e9), gap('TPU:1', 0, 2e7, { cause: 'compile', kind: 'queued', after: 'c', step_number: 1207 })];
  const left = (filters, pattern = null, chosen = NONE) => filterGaps(items, new Map(Object.entries(filters)), pattern, chosen).map(({ device }) => device);
  assert.deepEqual(left({}), ['TPU:0', 'TPU:1']);
  assert.deepEqual(left({ cause: 'compile' }), ['TPU:1']);
  assert.deepEqual(left({ kind: 'starved', step: '1206' }), ['TPU:0']);
  assert.deepEqual(left({ min: '1' }), ['TPU:0']);
  assert.deepEqual(left({ device: 'TPU:1', cause: 'tracing' }), []);
  assert.deepEqual(left({}, { before: 'a', after: 'c' }), ['TPU:1']);
  assert.deepEqual(left({}, null, { hosts: [], devices: ['TPU:0'] }), ['TPU:0']);
  assert.deepEqual(left({}, null, { hosts: ['other'], devices: [] }), []);
});

test('a step is called by its number, and by its index where it has none', () => {
  assert.deepEqual([stepOf(gap('TPU:0', 0, 1)), stepOf(gap('TPU:0', 0, 1, { step_number: null })), stepOf(gap('TPU:0', 0, 1, { step: null, step_number: null }))], ['1206', '2', '']);
});

test('classes without time are left out of a sum', () => {
  assert.deepEqual(sumClasses([gap('TPU:0', 0, 3), gap('TPU:1', 0, 4, { by_class_ps: { wait: 4, compile: 0 } })]), { tracing: 3, wait: 4 });
});
