import assert from 'node:assert/strict';
import { test } from 'node:test';
import { annotationTones } from '../../frontend/lib/annotation-tones.js';

test('a name has the same tone wherever it is', () => {
  const tones = annotationTones({ step: ['forward', 'backward'], forward: ['attention', 'backward'] });
  assert.equal(tones.get('forward'), annotationTones({ '': ['forward'] }).get('forward'));
  assert.deepEqual([...tones.keys()], ['forward', 'backward', 'attention']);
});

test('up to eight names below an annotation have different tones; more share them', () => {
  const names = Array.from({ length: 11 }, (_, at) => `layer ${at}`);
  const tones = [...annotationTones({ step: names }).values()];
  assert.deepEqual(tones.slice(0, 8).sort(), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.ok(tones.every((tone) => tone >= 0 && tone < 8));
});
