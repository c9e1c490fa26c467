import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choiceNote, createFileWatch, sessionNotes } from '../../frontend/frame/session-notes.js';

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

test('a note names the linked host and device that the session lacks', () => {
  const ready = { session: { hosts: [{ name: 'w-0' }] }, devices: [{ id: 'w-0/TPU:0' }], chosen_hosts: null };
  const message = (linked, isPartial = false, session = ready) => choiceNote(session, isPartial, linked).message;
  assert.equal(message({}), '');
  assert.equal(message({ h: 'w-0', d: 'w-1/TPU:0,w-0/TPU:0' }), '');
  assert.equal(message({ h: 'slowest' }), '');
  assert.equal(message({ d: 'a%2Cb' }), 'The linked device a,b is not in this session.');
  assert.equal(
    message({ h: 'w-1,w-2', d: 'x,y,z' }),
    'None of the linked hosts is in this session. None of the linked devices is in this session.',
  );
  assert.equal(message({ h: 'w-1', d: 'x' }, true), '');
  assert.equal(message({ d: 'x' }, false, { ...ready, chosen_hosts: [0] }), '');
});
