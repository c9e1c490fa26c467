import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainDigits } from '../../frontend/lib/plain-digits.js';
import { count, difference, digits, timeText } from '../../frontend/lib/format.js';

test('printed numbers are copied in a form that programs read', () => {
  assert.equal(plainDigits(digits(1234567.25, 2)), '1234567.25');
  assert.equal(plainDigits(timeText(1_163_250_000_000)), '1163.250 ms');
  assert.equal(plainDigits(difference(-58.2)), '-58.2');
  assert.equal(plainDigits(`${count(11520)}\t${count(7)}`), '11520\t7');
});

test('other text is copied unchanged', () => {
  assert.equal(plainDigits('SyncTensorsGraph.41937 – forward'), 'SyncTensorsGraph.41937 – forward');
});
