import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPref, writePref } from '../../frontend/lib/preferences.js';

test('a preference that the full storage does not take replaces the stored one until the page is closed', () => {
  globalThis.localStorage = /** @type {any} */ ({
    getItem: () => '200',
    setItem: () => { throw new Error('full'); },
  });
  assert.equal(readPref('panel'), '200');
  writePref('panel', '300');
  assert.equal(readPref('panel'), '300');
});
