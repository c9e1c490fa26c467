import assert from 'node:assert/strict';
import { test } from 'node:test';
import { positionText, hitsNote } from '../../frontend/timeline/toolbar.js';

const N = '\u202f';
const answer = (count, listed) => ({ count, truncated: listed < count, hits: { s: Array(listed).fill(0) } });

test('a position is one among all events found; a note says how many of them can be reached', () => {
  assert.equal(positionText(-1, 60), '60');
  assert.equal(positionText(2, 60), '3 of 60');
  assert.equal(positionText(-1, 0), 'none');
  assert.equal(hitsNote(answer(60, 60)), '');
  assert.equal(
    hitsNote(answer(5000, 1000)),
    `Only the first 1${N}000 of 5${N}000 events can be reached; search for a longer text for the others.`,
  );
});
