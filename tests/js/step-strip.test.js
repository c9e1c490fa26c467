import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitText } from '../../frontend/compare/step-strip.js';

test('a step of which the server may have left out rows has a note', () => {
  const step = (runs) => ({ phases: [], runs: Array(runs), gaps: [] });
  assert.equal(limitText([step(199), null]), '');
  assert.match(limitText([null, step(200)]), /^Of more than 200/);
});
