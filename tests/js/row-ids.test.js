import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRowId, showsAnnotations } from '../../frontend/lib/row-ids.js';

test('an id of a row names its host, its device and what it shows', () => {
  assert.deepEqual(parseRowId('h12.t3'), { host: 12, device: null, name: 't3' });
  assert.deepEqual(parseRowId('h0.d1.scopes'), { host: 0, device: 1, name: 'scopes' });
  assert.deepEqual(['', 'TPU:0', 'h1', 'host1.t0', 'h1.t0/2'].map(parseRowId), Array(5).fill(null));
});

test('rows of annotations and scopes are distinguished from others', () => {
  const ids = ['h0.ann', 'h0.d1.scopes', 'h0.t3', 'h0.d1.ops', 'TPU:0'];
  assert.deepEqual(ids.filter(showsAnnotations), ['h0.ann', 'h0.d1.scopes']);
});
