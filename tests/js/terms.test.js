import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASSES, LABELS } from '../../frontend/lib/classes.js';
import { TERMS, termOf } from '../../frontend/lib/terms.js';

test('a word is known whatever its case, its unit and the sign of its order', () => {
  assert.equal(termOf('stall, ms'), 'Stall');
  assert.equal(termOf('Mostly▾'), 'Mostly');
  assert.equal(termOf('duty cycle'), 'Duty cycle');
  assert.equal(termOf('Compute a step, ms'), 'Compute');
  assert.equal(termOf('Before'), null);
});

test('every class of host time has a meaning, and no meaning is long', () => {
  assert.deepEqual(CLASSES.filter((name) => !termOf(LABELS[name])), []);
  assert.deepEqual(Object.values(TERMS).filter((meaning) => meaning.length > 130 || !meaning.endsWith('.')), []);
});
