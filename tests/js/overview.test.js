import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findingLinkState, opsLinkState } from '../../frontend/overview/findings.js';
import { niceTicks } from '../../frontend/lib/axis.js';
import { axisEnds } from '../../frontend/overview/duty.js';
import { listedStepsText, stepRows } from '../../frontend/overview/step-data.js';
import { noStepsTexts } from '../../frontend/overview/steps.js';

test('columns of steps become rows, each with its host time by class', () => {
  const zero = [0, 0];
  const rows = stepRows({
    index: [0, 1],
    number: [7, null],
    start_ps: [5, 9],
    duration_ps: [4, 6],
    device_busy_ps: [3, 2],
    executions: [1, 1],
    compiles: zero,
    early_syncs: zero,
    input_syncs: zero,
    from_device: zero,
    host_ps: { tracing: [4, 5], wait: [0, 1] },
  });
  assert.deepEqual(
    rows.map(({ number, start_ps, host_ps }) => [number, start_ps, host_ps]),
    [
      [7, 5, { tracing: 4, wait: 0 }],
      [null, 9, { tracing: 5, wait: 1 }],
    ],
  );
});

test('the card of steps says how many steps it leaves out', () => {
  const text = (...numbers) => listedStepsText(...numbers).replaceAll('\u202f', ' ').replaceAll('\u00a0', ' ');
  assert.equal(text(1000, 1000, false), '');
  assert.equal(text(1000, 1840, false), '; the first 1 000 of 1 840 steps');
  assert.equal(text(24, 192, true), '; 24 of 192 steps of all hosts');
});

test('the axis of duty cycles has a length, and ends at 100 %', () => {
  assert.deepEqual(axisEnds([0.62, 0.994]), { low: 0.6, high: 1 });
  assert.deepEqual(axisEnds([1, 1]), { low: 0.95, high: 1 });
  assert.deepEqual(axisEnds([0, 0]), { low: 0, high: 0.05 });
});

test('a finding is shown as a gap, as a window, or in Propagation at its step', () => {
  const steps = { index: [20, 21, 22], start_ps: [0, 5e9, 9e9], duration_ps: [5e9, 4e9, 4e9], number: [7, 8, null] };
  const stateOf = (id, start, device = null, explained_gaps = {}) =>
    findingLinkState(
      { id, windows: [{ start_ps: start, end_ps: start + 1e9, device }] },
      { explained_gaps, steps: { columns: steps } },
    );
  assert.equal(stateOf('tracing_bound', 6e9, 'TPU:0').sel, 'gap:TPU:0@6');
  assert.equal(stateOf('recompilation', 6e9).sel, 'win:6+1');
  const longest = { device: 'TPU:1', start_ps: 5e9, duration_ps: 3e9 };
  const { sel, fi } = stateOf('recompilation', 6e9, null, { recompilation: { count: 1, gaps: [longest] } });
  assert.deepEqual([sel, fi], ['gap:TPU:1@5', 'recompilation']);
  for (const id of ['device_waits', 'host_callback', 'straggler']) {
    assert.equal(stateOf(id, 6e9, 'TPU:0').sel, 'win:6+1');
  }
  const ofHosts = { columns: { ...steps, host: ['a', 'a', 'b,c'] } };
  const windows = [{ start_ps: 6e9, end_ps: 7e9, device: 'b,c/TPU:0' }];
  assert.equal(findingLinkState({ id: 'straggler', windows }, { explained_gaps: {}, steps: ofHosts }).x, 'b%2Cc/TPU:0');
  assert.deepEqual(stateOf('annotations_not_propagated', 6e9), { v: 'propagation', sel: 'win:6+1', st: '8' });
  assert.equal(stateOf('annotations_not_propagated', 9e9).st, '22');
  assert.equal(stateOf('annotations_not_propagated', 13e9).st, '');
});

test('a finding about annotations or ops leads to them in Device', () => {
  const deviceStateOf = (evidence, devices, count) =>
    opsLinkState({ evidence }, { devices: { host: devices }, steps: { count } });
  assert.deepEqual(deviceStateOf({ annotation: 'Step/attention', op: 'dot.1' }, ['TPU:0', 'TPU:1'], 6), {
    v: 'device',
    dd: 'all',
    st: 'mean',
    an: 'Step/attention',
    op: 'dot.1',
    f: '',
  });
  assert.deepEqual(
    deviceStateOf(
      {
        places: [
          { annotation: null, op: 'dot.1' },
          { annotation: 'b', op: 'c' },
        ],
      },
      ['TPU:0'],
      1,
    ),
    { v: 'device', dd: '', st: '', an: '', op: 'dot.1', f: '' },
  );
});

test('ticks are at 1-2-5 steps from zero and never above the largest value', () => {
  assert.deepEqual(niceTicks(560), [0, 100, 200, 300, 400, 500]);
  assert.deepEqual(niceTicks(0.6), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
  assert.deepEqual(niceTicks(20), [0, 5, 10, 15, 20]);
  assert.deepEqual(niceTicks(0), [0]);
});

test('hosts in memory without steps are not a capture without steps', () => {
  assert.match(noStepsTexts(0)[0], /^This capture has no steps/);
  assert.deepEqual(noStepsTexts(12), ['The hosts in memory have no steps.', 'Choose others in the header.']);
});
