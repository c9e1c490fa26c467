import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvText } from '../../frontend/lib/csv.js';
import { escapeInvisible } from '../../frontend/lib/escapes.js';
import { filtersText, filtersValue } from '../../frontend/lib/filters.js';

test('a file has one head line, quotes where needed, and plain integers', () => {
  assert.equal(
    csvText(
      ['program', 'start_ps'],
      [
        ['a,b "c"', 715080172721],
        [null, 0],
      ],
    ),
    'program,start_ps\r\n"a,b ""c""",715080172721\r\n,0\r\n',
  );
});

test('no text becomes a formula', () => {
  assert.equal(csvText(['name'], [['=1+1'], ['@x'], [-5]]), "name\r\n'=1+1\r\n'@x\r\n-5\r\n");
});

test('filters are unchanged after a round trip through the link', () => {
  const filters = new Map([['cause', 'compile'], ['device', 'TPU:0'], ['step', 'a,b%'], ['kind', '']]);
  assert.equal(filtersText(filters), 'cause:compile,device:TPU:0,step:a%2Cb%25');
  assert.deepEqual(
    [...filtersValue(filtersText(filters))],
    [
      ['cause', 'compile'],
      ['device', 'TPU:0'],
      ['step', 'a,b%'],
    ],
  );
  assert.deepEqual([...filtersValue('nonsense,step:%')], [['step', '%']]);
});

test('invisible characters in names are escaped', () => {
  assert.equal(
    escapeInvisible('a\u202eb\x1b\u200b\u2028\u{e0041}\x9b'),
    'a\\u202eb\\x1b\\u200b\\u2028\\U000e0041\\x9b',
  );
  for (const text of ['forward/µ – 3\u202fms', 'two\n\tlines', '日本語 עברית 👩']) {
    assert.equal(escapeInvisible(text), text);
  }
});
