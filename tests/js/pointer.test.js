import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wheelZoomFactor } from '../../frontend/timeline/pointer.js';

test('a notch of the wheel zooms by the full factor, an event of a pinch by a part of it', () => {
  assert.equal(wheelZoomFactor(-100), 1.5);
  assert.equal(wheelZoomFactor(100), 1 / 1.5);
  assert.ok(wheelZoomFactor(-3) > 1 && wheelZoomFactor(-3) < 1.05);
  assert.equal(wheelZoomFactor(0), 1);
});
