import assert from 'node:assert/strict';
import { test } from 'node:test';
import { phaseOf, phaseTones } from '../../frontend/timeline/tones.js';

test('up to six phases have a tone each, in host order', () => {
  assert.deepEqual([...phaseTones(['data', 'forward', 'loss']).values()], [0, 1, 2]);
});

test('more phases are spread over the six tones', () => {
  const tones = [...phaseTones(Array.from({ length: 12 }, (_, index) => `p${index}`)).values()];
  assert.deepEqual(tones, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
});

test('a scope has the tone of the innermost phase on its path', () => {
  const tones = phaseTones(['forward', 'backward']);
  assert.equal(phaseOf('Training_Step/forward/dot.1', tones), 0);
  assert.equal(phaseOf('encoder', tones), undefined);
});
