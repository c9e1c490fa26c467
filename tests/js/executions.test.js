import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultText } from '../../frontend/executions/cards.js';
import { COSTS, costOf, savings, smallPrograms, sumCosts } from '../../frontend/executions/costs.js';
import { idleBetween, noRunsText, stackSpans } from '../../frontend/executions/run-strip.js';

const row = (program, device_ps, overhead_ps, more = {}) => ({
  program,
  program_ids: [],
  kind: 'dynamo',
  join: 'exact',
  joins: { exact: 10 },
  launches: 10,
  count: 10,
  per_step: 2,
  device_ps,
  queue_ps: 0,
  overhead_ps,
  host_ps: device_ps + overhead_ps,
  ...more,
});
const FORWARD = row('forward', 96_270, 42_750);
const CLEAN = row('clean-up', 1_180, 23_110);

test('a cost is of a run, of a step and core, or of all runs', () => {
  const costs = (rows, basis, coreSteps) => COSTS.map((key) => costOf(rows, key, basis, coreSteps));
  assert.deepEqual(costs([FORWARD], 'run', 5), [13_902, 9_627, 0, 4_275]);
  assert.deepEqual(costs([FORWARD, CLEAN], 'step', 5), [32_662, 19_490, 0, 13_172]);
  assert.deepEqual(costs([FORWARD], 'total', 5), [139_020, 96_270, 0, 42_750]);
  assert.deepEqual(costs([FORWARD], 'step', null), [139_020, 96_270, 0, 42_750]);
});

test('a run whose launch is not known has the mean queue time and overhead of its program\'s others', () => {
  const costs = (rows, basis) => COSTS.map((key) => costOf(rows, key, basis, 5));
  const partly = row('p', 100, 80, { joins: { exact: 8, none: 2 }, queue_ps: 40, host_ps: 220 });
  const unknown = row('q', 30, 0, { join: 'none', joins: { none: 10 } });
  assert.deepEqual(costs([partly], 'run'), [10 + 5 + 10, 10, 5, 10]);
  assert.deepEqual(costs([partly], 'step'), [50, 20, 10, 20]);
  assert.deepEqual(costs([unknown], 'run'), [null, 3, null, null]);
  assert.deepEqual(costs([partly, unknown], 'run'), [6.5 + 15, 6.5, 5, 10]);
  assert.deepEqual(costs([partly, unknown], 'step'), [26 + 30, 26, 10, 20]);
  assert.deepEqual(costs([partly, unknown], 'total'), [250, 130, 40, 80]);
  assert.deepEqual(costs([unknown], 'total'), [null, 30, null, null]);
  assert.equal(costOf([unknown], 'overhead_ps', 'step', null), null);
});

test('small programs have a known launch and more overhead than work', () => {
  assert.deepEqual(smallPrograms([FORWARD, CLEAN]), [CLEAN]);
  assert.deepEqual(smallPrograms([row('p', 1, 5, { join: 'none', joins: { none: 10 } })]), []);
});

test('the overhead of runs with unknown launches is not called small', () => {
  assert.match(defaultText([FORWARD]), /nothing to gain by merging\.$/);
  assert.match(defaultText([]), /^The launches of these runs are unknown/);
});

test('costs add up by column', () => {
  assert.deepEqual(sumCosts([FORWARD, CLEAN]), {
    count: 20,
    launches: 20,
    host_ps: 163_310,
    device_ps: 97_450,
    queue_ps: 0,
    overhead_ps: 65_860,
  });
});

test('without small programs their overhead is gone; one execution costs what the fit predicts', () => {
  const once = [FORWARD, CLEAN].map((program) => ({ ...program, per_step: 1 }));
  const result = savings(once, { fixed_ps: 2_000, slope: 0.1 }, 10);
  assert.deepEqual(result.map(({ name, now_ps, then_ps }) => [name, now_ps, Math.round(then_ps)]), [
    ['without the small program', 6_586, 4_275], ['all work in one execution', 6_586, Math.round(2_000 + 974.5)]]);
});

test('without steps, all executions of a session are not merged into one', () => {
  const result = savings([FORWARD, CLEAN], { fixed_ps: 2_000, slope: 0.1 }, null);
  assert.deepEqual(result, [{ name: 'without the small program', now_ps: 65_860, then_ps: 42_750 }]);
});

test('there are no savings with one execution per step or without a fit', () => {
  assert.deepEqual(savings([{ ...FORWARD, per_step: 1 }], { fixed_ps: 1, slope: 0 }, 10), []);
  assert.deepEqual(savings([FORWARD, row('backward', 99, 1)], null, 10), []);
});

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
