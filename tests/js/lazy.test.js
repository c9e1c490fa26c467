import assert from 'node:assert/strict';
import { test } from 'node:test';
import { betweenTitle } from '../../frontend/compare/lazy.js';

test('the title of the times between executions says if the server may have left some out', () => {
  assert.equal(betweenTitle(Array(49)), 'between executions');
  assert.equal(betweenTitle(Array(50)), 'between executions, the 50 pairs with most time');
});
