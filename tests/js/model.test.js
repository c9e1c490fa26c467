import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModel } from '../../frontend/timeline/model.js';

test('a fold that is opened twice stays open, and one that is closed again has its initial state', () => {
  const model = createModel(/** @type {any} */ ({ state: {}, set() {} }), () => 1000);
  const fold = (...changes) => {
    changes.forEach((open) => model.fold('h0', open));
    return model.state.open.get('h0');
  };
  assert.equal(fold(true, true), true);
  assert.equal(fold(false), undefined);
  assert.equal(fold(false), false);
});
