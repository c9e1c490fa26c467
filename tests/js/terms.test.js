import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASSES, LABELS } from '../../frontend/lib/classes.js';
import { TERMS, termOf } from '../../frontend/lib/terms.js';

test('a term is found whatever its case, unit and sort arrow', () => {
  assert.equal(termOf('stall, ms'), 'Stall');
  assert.equal(termOf('Mostly▾'), 'Mostly');
  assert.equal(termOf('duty cycle'), 'Duty cycle');
  assert.equal(termOf('Compute a step, ms'), 'Compute');
  assert.equal(termOf('Before'), null);
});

test('a word of a column with other meanings is not taken for a term', () => {
  assert.equal(termOf('wait', 'Bound by'), null);
  assert.equal(termOf('compute', 'Bound by▾'), null);
  assert.equal(termOf('backward', 'Scope'), 'backward');
  assert.equal(termOf('backward', 'Annotation'), null);
});

test('every class of host time has an explanation, and all explanations are short', () => {
  assert.deepEqual(CLASSES.filter((name) => !termOf(LABELS[name])), []);
  assert.deepEqual(Object.values(TERMS).filter((meaning) => meaning.length > 130 || !meaning.endsWith('.')), []);
});
