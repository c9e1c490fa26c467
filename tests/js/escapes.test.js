import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapeInvisible } from '../../frontend/lib/escapes.js';

test('invisible characters in names are escaped', () => {
  assert.equal(
    escapeInvisible('a\u202eb\x1b\u200b\u2028\u{e0041}\x9b'),
    'a\\u202eb\\x1b\\u200b\\u2028\\U000e0041\\x9b',
  );
  for (const text of ['forward/µ – 3\u202fms', 'two\n\tlines', '日本語 עברית 👩']) {
    assert.equal(escapeInvisible(text), text);
  }
});
