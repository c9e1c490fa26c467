import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lazyFirst, stepMeans } from '../../frontend/executions/against.js';

const overview = (durations, tracing) => ({ devices: [{}, {}], steps: { count: durations.length, columns: { duration_ps: durations, host_ps: tracing ? { tracing } : {} } } });

test('a step of a session takes the mean of its steps; a class that never occurs takes nothing', () => {
  assert.deepEqual(stepMeans(overview([30, 50], [10, 20])), { steps: 2, devices: 2, step: { tracing_ps: 15, wall_ps: 40 } });
  assert.deepEqual(stepMeans(overview([30])).step, { tracing_ps: 0, wall_ps: 30 });
  assert.equal(stepMeans(overview([])).step, null);
});

test('the ratio is lazy to dynamo, whichever of them is open', () => {
  const source = (name, ...kinds) => ({ name, rows: kinds.map((kind) => ({ kind })), steps: 1, devices: 1, step: null });
  const names = (...sources) => lazyFirst(sources).map(({ name }) => name);
  assert.deepEqual(names(source('d', 'lazy', 'dynamo'), source('l', 'lazy')), ['l', 'd']);
  assert.deepEqual(names(source('l', 'lazy'), source('d', 'dynamo')), ['l', 'd']);
  assert.deepEqual(names(source('a', 'lazy'), source('b', 'lazy')), ['a', 'b']);
});
