import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStaleNote, staleStepText } from '../../frontend/frame/stale-note.js';

test('a note of a view has the texts that apply, and no message once none does', () => {
  const notes = [];
  const noteStale = createStaleNote({ keepNote: (note) => notes.push(note) }, 'overview', 'steps');
  noteStale(false, 'One.', undefined, 'Two.');
  noteStale(false);
  assert.deepEqual(notes, [
    { id: 'stale-steps', view: 'overview', message: 'One. Two.' },
    { id: 'stale-steps', view: 'overview', message: '' },
  ]);
});

test('a text on a step says what lacks it; ranges and means are not steps', () => {
  assert.equal(staleStepText('9', 'step 1 is'), 'The linked step 9 is not in this session; step 1 is shown.');
  assert.equal(staleStepText('9', '', 'on w-0'), 'The linked step 9 is not on w-0.');
  assert.deepEqual(['1-9', 'mean', undefined].map((st) => staleStepText(st)), ['', '', '']);
});
