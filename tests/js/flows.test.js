import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrowTimes, arrowsOf } from '../../frontend/timeline/paint.js';

const eventAt = (start_ps, length) => ({ row: 'h0.t0', depth: 0, start_ps, end_ps: start_ps + length });

test('an arrow runs from the end of its source to the start of its target', () => {
  assert.deepEqual(arrowTimes({ from: eventAt(0, 10), to: eventAt(30, 5) }), { start_ps: 10, end_ps: 30 });
});

test('an arrow to a target that begins before its source ends begins within the source', () => {
  assert.deepEqual(arrowTimes({ from: eventAt(0, 100), to: eventAt(30, 5) }), { start_ps: 30, end_ps: 30 });
});

test('an arrow to a target that begins before its source begins at the start of the source', () => {
  assert.deepEqual(arrowTimes({ from: eventAt(50, 10), to: eventAt(30, 5) }), { start_ps: 50, end_ps: 30 });
});

test('arrows lead from earlier partners to the event, and from the event to later ones', () => {
  const [event, before, after] = [eventAt(10, 1), eventAt(0, 1), eventAt(20, 1)];
  assert.deepEqual(arrowsOf(event, { from: [before], to: [after] }), [
    { from: before, to: event },
    { from: event, to: after },
  ]);
});
