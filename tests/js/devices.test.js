import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosenDevices, deviceRows } from '../../frontend/lib/devices.js';
import { dutyRows, idleRows } from '../../frontend/overview/devices.js';

const columns = {
  unit_ps: 1e6,
  name: ['TPU:0', 'TPU:0'],
  host: ['a', 'b'],
  span: [10, 20],
  busy: [5, 6],
  stall: [0, 1],
  steps: [3, null],
  small: [2, 0],
  edges: [1, 0],
  idle: { wait: [7, 0] },
};

test('all devices of a host are requested as one item', () => {
  const devices = ['a/0', 'a/1', 'b/0', 'b/1', 'c/0'].map((id) => ({ id, host: id[0] }));
  assert.deepEqual(chosenDevices(['a/0', 'b/0', 'b/1'], devices), ['a/0', 'b/*']);
  assert.deepEqual(chosenDevices([], devices), []);
});

test('columns of devices become rows, with times in picoseconds', () => {
  assert.deepEqual(dutyRows(columns)[1], {
    id: 'b/TPU:0',
    name: 'TPU:0',
    host: 'b',
    span_ps: 20e6,
    busy_ps: 6e6,
    stall_ps: 1e6,
  });
});

test('devices without whole steps have no idle time there', () => {
  assert.deepEqual(idleRows(columns), [
    { id: 'a/TPU:0', host: 'a', steps: 3, small_ps: 2e6, edges_ps: 1e6, by_class_ps: { wait: 7e6 } },
  ]);
});

test('devices of a session become rows, with their ids', () => {
  const heads = {
    unit_ps: 1e3,
    host: ['a'],
    name: ['TPU:1'],
    kind: ['tpu'],
    modules: [2],
    ops: [3],
    duty_cycle: [null],
    busy: [4],
    idle: [5],
    stall: [1],
  };
  assert.deepEqual(deviceRows(heads), [
    {
      id: 'a/TPU:1',
      host: 'a',
      name: 'TPU:1',
      kind: 'tpu',
      modules: 2,
      ops: 3,
      duty_cycle: null,
      busy_ps: 4e3,
      idle_ps: 5e3,
      stall_ps: 1e3,
    },
  ]);
});
