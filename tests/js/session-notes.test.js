import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFileWatch, sessionNotes } from '../../frontend/frame/session-notes.js';

const listed = (modified_unix_ns, ...bytes) => ({
  name: 's',
  modified_unix_ns,
  hosts: bytes.map((size, index) => ({ name: `w-${index}`, bytes: size })),
});

/** The answers of a new watch about the session `s` in these lists, one after the other. */
function answers(...lists) {
  const hasNewFiles = createFileWatch();
  return lists.map((sessions) => hasNewFiles('s', { sessions }));
}

test('a session has new files if a host is added, or a file has another time or size', () => {
  const before = [listed('5', 1, 2)];
  assert.deepEqual(answers(before, before), [false, false]);
  for (const after of [listed('5', 1, 2, 2), listed('6', 1, 2), listed('5', 3, 2)]) {
    assert.deepEqual(answers(before, [after]), [false, true]);
  }
});

test('a session that is missing in between is compared with its last files', () => {
  const before = [listed('5', 1)];
  assert.deepEqual(answers(before, [], before, before), [false, false, false, false]);
  assert.deepEqual(answers(before, [], [listed('6', 1)], [listed('6', 1)]), [false, false, true, false]);
});

test('changed files are the first note of a session', () => {
  const notes = sessionNotes({ changed: true, session: { hosts: [{}] } }, 2, () => {}, () => {});
  assert.deepEqual(notes.map(({ id, severity }) => [id, severity]), [['changed', 'warning'], ['partial', 'warning']]);
});
