import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvText } from '../../frontend/lib/csv.js';

test('a CSV file has one header line, quotes where needed, and plain integers', () => {
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

test('spreadsheets do not read a text as a formula', () => {
  assert.equal(csvText(['name'], [['=1+1'], ['@x'], [-5]]), "name\r\n'=1+1\r\n'@x\r\n-5\r\n");
  assert.equal(csvText(['name'], [['\n=1']]), 'name\r\n"\'\n=1"\r\n');
});

test('numbers written as text are the same as in the files of the export command', () => {
  assert.equal(csvText(['name'], [['-1'], ['+2.5e3'], ['-']]), "name\r\n-1\r\n+2.5e3\r\n'-\r\n");
});
