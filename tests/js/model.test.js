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

test('hits of the search stay when the link changes, and go with the session', () => {
  const model = createModel(/** @type {any} */ ({ state: {}, set() {} }), () => 1000);
  model.set({ hits: [5, 7] });
  model.open(5e9);
  assert.deepEqual(model.state.hits, [5, 7]);
  model.leave();
  assert.deepEqual(model.state.hits, []);
});

test('selections of other views are not called missing', () => {
  const messagesAbout = (/** @type {string} */ sel) =>
    createModel(/** @type {any} */ ({ state: { sel }, set() {} }), () => 1000).open(5e9);
  assert.deepEqual(messagesAbout('fin:early_sync'), []);
  assert.deepEqual(messagesAbout('pat:3'), []);
  assert.deepEqual(messagesAbout('win:1+2'), []);
  assert.deepEqual(messagesAbout('win:8+2'), ['The linked selection is not in this session.']);
  assert.deepEqual(messagesAbout('nonsense'), ['The linked selection is not in this session.']);
});
