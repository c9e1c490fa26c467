import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FADED, filterText, filterValue, strengthOf, toggled } from '../../frontend/timeline/legend.js';

test('a filter is written to links and read from them', () => {
  const filter = { only: '/a,b', hidden: new Set(['wait', '/-c']) };
  assert.equal(filterText(filter), '/a%2Cb,-wait,-/-c');
  assert.deepEqual(filterValue(filterText(filter)), filter);
  assert.deepEqual(filterValue(undefined), { only: '', hidden: new Set() });
});

test('a click shows an item alone, a second one all; Ctrl+click hides it, and a click shows it again', () => {
  const all = filterValue('');
  const alone = toggled(all, 'wait');
  assert.equal(filterText(alone), 'wait');
  assert.deepEqual(toggled(alone, 'wait'), all);
  assert.equal(filterText(toggled(alone, 'input')), 'input');
  const hidden = toggled(alone, 'wait', true);
  assert.equal(filterText(hidden), '-wait');
  assert.deepEqual(toggled(hidden, 'wait'), all);
  assert.deepEqual(toggled(hidden, 'wait', true), all);
});

test('slices outside of the legend keep their strength', () => {
  const filter = filterValue('tracing,-wait');
  assert.deepEqual(['tracing', 'input', 'wait', ''].map((key) => strengthOf(filter, key)), [1, FADED, 0, 1]);
});
