import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  eachCore,
  filterGaps,
  groupGaps,
  patternRows,
  patternText,
  stepOf,
  sumClasses,
} from '../../frontend/gaps/group.js';
import { total } from '../../frontend/lib/totals.js';

const gap = (device, start_ps, duration_ps, more = {}) => ({
  device,
  host: 'vm',
  start_ps,
  duration_ps,
  step: 2,
  step_number: 1206,
  before: 'a',
  after: 'b',
  inside_run: false,
  kind: 'starved',
  cause: 'tracing',
  by_class_ps: { tracing: duration_ps },
  by_finding_ps: {},
  devices: [device],
  starts_ps: [start_ps],
  durations_ps: [duration_ps],
  all_cores_idle_by_device_ps: [null],
  ...more,
});
const CORES = ['TPU:0', 'TPU:1', 'TPU:2'];

test('a gap on several cores is one row with the mean', () => {
  const item = gap('TPU:1', 101, 72, {
    index: 0,
    devices: ['TPU:1', 'TPU:0', 'TPU:2'],
    starts_ps: [101, 100, 99],
    durations_ps: [72, 70, 74],
    all_cores_idle_by_device_ps: [70, 70, 71],
  });
  const [row, secondRow, ...rest] = groupGaps(eachCore([item, gap('TPU:0', 200, 9, { index: 1 })]), CORES);
  assert.equal(rest.length, 0);
  assert.deepEqual(
    row.gaps.map(({ device, start_ps }) => [device, start_ps]),
    [
      ['TPU:0', 100],
      ['TPU:1', 101],
      ['TPU:2', 99],
    ],
  );
  assert.equal(row.mean_ps, 72);
  assert.deepEqual(row.gaps.map(({ all_cores_idle_ps }) => all_cores_idle_ps), [70, 70, 71]);
  assert.deepEqual(row.by_class_ps, { tracing: 216 });
  assert.deepEqual([secondRow.gaps.length, secondRow.mean_ps], [1, 9]);
});

test('a row has only the selected cores', () => {
  const items = eachCore([
    gap('TPU:0', 0, 10, { index: 0, devices: ['TPU:0', 'TPU:1'], starts_ps: [0, 1], durations_ps: [10, 8] }),
  ]);
  const [row] = groupGaps(filterGaps(items, new Map(), null, ['TPU:1']), CORES);
  assert.deepEqual([row.gaps.length, row.gap.device, row.mean_ps], [1, 'TPU:1', 8]);
  assert.equal(total(Object.values(row.by_class_ps), Number), 8);
});

test('patterns have the figures of the given gaps and keep their positions', () => {
  const pattern = (after) => ({
    before: 'a',
    after,
    inside_run: false,
    count: 9,
    total_ps: 99,
    mean_ps: 11,
    min_ps: 1,
    max_ps: 50,
    cause: 'compile',
    by_class_ps: { compile: 99 },
  });
  const [withoutGaps, withGaps] = patternRows(
    [pattern('c'), pattern('b')],
    [gap('TPU:0', 0, 10), gap('TPU:1', 0, 14), gap('TPU:0', 90, 3, { inside_run: true })],
  );
  assert.equal(withoutGaps.count, 0);
  assert.deepEqual(withGaps, {
    ...pattern('b'),
    count: 2,
    total_ps: 24,
    mean_ps: 12,
    median_ps: 10,
    min_ps: 10,
    max_ps: 14,
    cause: 'tracing',
    kind: null,
    causes: [{ cause: 'tracing', count: 2, ps: 24 }],
    reason: null,
    by_class_ps: { tracing: 24 },
  });
});

test('a pattern has its causes by time and count, and the median', () => {
  const row = { before: 'a', after: 'b', inside_run: false, cause: 'input', by_class_ps: {} };
  const short = (start) => gap('TPU:0', start, 3, { cause: 'dispatch' });
  const [pattern] = patternRows(
    [row],
    [
      gap('TPU:0', 0, 217, { cause: 'input', reason: 'early_sync' }),
      short(300),
      short(400),
      gap('TPU:0', 500, 4, { kind: 'queued', cause: 'wait' }),
    ],
  );
  assert.deepEqual(pattern.causes, [
    { cause: 'input', count: 1, ps: 217 },
    { cause: 'dispatch', count: 2, ps: 6 },
    { cause: 'queued', count: 1, ps: 4 },
  ]);
  assert.deepEqual(
    [pattern.median_ps, pattern.mean_ps, pattern.cause, pattern.reason],
    [3, 56.75, 'input', 'early_sync'],
  );
});

test('the cause of a pattern is its class with most time, queued if queued gaps have most of that', () => {
  const row = { before: 'a', after: 'b', inside_run: false, cause: 'input', by_class_ps: {} };
  const rowOfGaps = (/** @type {number} */ unqueued_ps) => {
    const gaps = [
      gap('TPU:0', 0, 40, { cause: 'input' }),
      gap('TPU:0', 100, 35, { kind: 'queued', cause: 'wait' }),
      gap('TPU:0', 200, unqueued_ps, { cause: 'wait' }),
    ];
    const [{ cause, kind }] = patternRows([row], gaps);
    return [cause, kind];
  };
  assert.deepEqual([3, 25, 35].map(rowOfGaps), [
    ['input', null],
    ['wait', 'queued'],
    ['wait', null],
  ]);
});

test('a pattern is linked by the names of its programs', () => {
  assert.equal(patternText({ before: 'a', after: 'b', inside_run: false }), 'a → b');
  assert.equal(patternText({ before: null, after: 'b', inside_run: false }), ' → b');
  assert.equal(patternText({ before: 'b', after: 'b', inside_run: true }), 'in b');
});

test('rows are sorted by length, then by start', () => {
  const rows = groupGaps(
    [gap('TPU:0', 50, 5, { index: 0 }), gap('TPU:0', 0, 5, { index: 1 }), gap('TPU:0', 20, 9, { index: 2 })],
    CORES,
  );
  assert.deepEqual(rows.map((row) => row.gap.start_ps), [20, 0, 50]);
});

test('gaps are filtered by each key, by both programs of a pattern, and by the selected devices', () => {
  const items = [
    gap('TPU:0', 0, 5e9),
    gap('TPU:1', 0, 2e7, {
      cause: 'compile',
      kind: 'queued',
      after: 'c',
      step_number: 1207,
      by_finding_ps: { early_sync: 5 },
    }),
  ];
  const devicesOf = (filters, pattern = null, selected = CORES) =>
    filterGaps(items, new Map(Object.entries(filters)), pattern, selected).map(({ device }) => device);
  assert.deepEqual(devicesOf({}), ['TPU:0', 'TPU:1']);
  assert.deepEqual(devicesOf({ cause: 'compile' }), ['TPU:1']);
  assert.deepEqual(devicesOf({ kind: 'starved', step: '1206' }), ['TPU:0']);
  assert.deepEqual(devicesOf({ min: '1' }), ['TPU:0']);
  assert.deepEqual(devicesOf({ finding: 'early_sync' }), ['TPU:1']);
  assert.deepEqual(devicesOf({ device: 'TPU:1', cause: 'tracing' }), []);
  assert.deepEqual(devicesOf({}, { before: 'a', after: 'c', inside_run: false }), ['TPU:1']);
  assert.deepEqual(devicesOf({}, null, ['TPU:0']), ['TPU:0']);
});

test('a step is named by its number, or by its index without one', () => {
  assert.deepEqual(
    [
      stepOf(gap('TPU:0', 0, 1)),
      stepOf(gap('TPU:0', 0, 1, { step_number: null })),
      stepOf(gap('TPU:0', 0, 1, { step: null, step_number: null })),
    ],
    ['1206', '2', ''],
  );
});

test('classes without time are left out of a sum', () => {
  assert.deepEqual(sumClasses([gap('TPU:0', 0, 3), gap('TPU:1', 0, 4, { by_class_ps: { wait: 4, compile: 0 } })]), {
    tracing: 3,
    wait: 4,
  });
});
