import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dutyRows, idleRows } from '../../frontend/overview/devices.js';

const columns = {
  unit_ps: 1e6, id: ['a/TPU:0', 'b/TPU:0'], name: ['TPU:0', 'TPU:0'], host: ['a', 'b'],
  duty: { span: { ops: [10, 20] }, busy: { ops: [5, 6] }, stall: { ops: [0, 1] } }, steps: [3, null], small: [2, 0], idle: { wait: [7, 0] },
};

test('columns of devices become rows, with times in picoseconds', () => {
  assert.deepEqual(dutyRows(columns)[1], { id: 'b/TPU:0', name: 'TPU:0', host: 'b', duty: { ops: { span_ps: 20e6, busy_ps: 6e6, stall_ps: 1e6 } } });
});

test('devices without whole steps have no idle time there', () => {
  assert.deepEqual(idleRows(columns), [{ id: 'a/TPU:0', host: 'a', steps: 3, small_ps: 2e6, by_class_ps: { wait: 7e6 } }]);
});
