import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idleBetween, noRunsText, stackSpans } from '../../frontend/executions/run-strip.js';

test('overlapping spans take the first free row', () => {
  const spans = [[0, 10], [5, 12], [10, 20], [11, 30], [13, 15]].map(([start, end]) => ({ start, end }));
  assert.deepEqual(stackSpans(spans, 4), [0, 1, 0, 2, 1]);
  assert.deepEqual(stackSpans(spans, 2), [0, 1, 0, 1, 1]);
});

test('a step without runs is distinguished from one whose host is not in memory', () => {
  const runs = { device: [] };
  assert.equal(noRunsText({ step: 3, runs }, false), 'No execution belongs to this step.');
  assert.equal(noRunsText({ step: 3, runs }, true), 'No execution on the chosen devices belongs to this step.');
  assert.match(noRunsText({ step: 3, runs: null }, true), /not in memory/);
  assert.match(noRunsText({ step: null, runs: null }, false), /has no steps/);
});

test('the device is idle from the end of the latest run, not of one inside it', () => {
  const runs = [[0, 10], [2, 3], [20, 5], [25, 5]].map(([start_ps, duration_ps]) => ({ start_ps, duration_ps }));
  const idle = idleBetween(runs).map(({ from, previous, run }) => [from, runs.indexOf(previous), runs.indexOf(run)]);
  assert.deepEqual(idle, [[10, 0, 2]]);
  assert.deepEqual(idleBetween([]), []);
});
