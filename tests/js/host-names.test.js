import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findHosts, hostsText, linkedHosts, shortNames } from '../../frontend/lib/host-names.js';

const POD = Array.from({ length: 64 }, (_, at) => `t1v-n-7f-w-${at}`);
const indices = (/** @type {number} */ count) => [...Array(count).keys()];

test('a short host name is the part that distinguishes it', () => {
  assert.deepEqual(shortNames(POD).slice(4, 6), ['w-4', 'w-5']);
  assert.deepEqual(shortNames(['gpu-a.cluster.local', 'gpu-b.cluster.local']), ['a', 'b']);
  assert.deepEqual(shortNames(['host_3', 'host_12']), ['host_3', 'host_12']);
  assert.deepEqual(shortNames(['vm']), ['vm']);
  assert.deepEqual(shortNames(['a', 'a-1']), ['a', 'a-1']);
});

test('hosts are found by number, range and part of a name', () => {
  assert.deepEqual(findHosts('', POD), indices(64));
  assert.deepEqual(findHosts('0-3, 41', POD), [0, 1, 2, 3, 41]);
  assert.deepEqual(findHosts('w-5', POD), [5, ...indices(10).map((at) => 50 + at)]);
  assert.deepEqual(findHosts('W-63, 7', POD), [7, 63]);
  assert.deepEqual(findHosts('99', POD), []);
  assert.deepEqual(findHosts('5-', POD), []);
});

test('chosen hosts are written as ranges, or by name where numbers are ambiguous', () => {
  assert.equal(hostsText([41, 1, 0, 2, 63], POD), '0-2,41,63');
  assert.equal(hostsText([0, 2], ['w-1', 'w-4', 'w-9']), '1,9');
  assert.equal(hostsText([0, 1], ['w-1', 'w-4', 'w-9']), '1-4');
  assert.equal(hostsText([0, 2], ['a-1', 'b-1', 'c']), 'a-1,c');
  assert.equal(hostsText([1], ['a-1', 'b-1']), 'b-1');
  const named = ['run 1, b', 'run 1, c'];
  assert.deepEqual(linkedHosts(hostsText([1], named), named, {}), ['run 1, c']);
  for (const chosen of [[3], [0, 5, 6, 7, 63], indices(64)]) {
    assert.deepEqual(
      linkedHosts(hostsText(chosen, POD), POD, {}),
      chosen.map((at) => POD[at]),
    );
  }
});

test('`slowest` and `median` in a link mean hosts of the open session', () => {
  assert.deepEqual(linkedHosts('slowest,median,0-1', POD, { slowest: POD[5], median: POD[31] }), [
    POD[0],
    POD[1],
    POD[5],
    POD[31],
  ]);
  assert.deepEqual(linkedHosts('slowest,median', POD, {}), []);
  assert.deepEqual(linkedHosts('t1v-n-7f-w-9,nobody', POD, {}), [POD[9]]);
  assert.deepEqual(linkedHosts(undefined, POD, {}), []);
});
