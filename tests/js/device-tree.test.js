import assert from 'node:assert/strict';
import { test } from 'node:test';
import { treeRows } from '../../frontend/device/rows.js';
import { shortSource } from '../../frontend/device/table.js';
import { collapsedAtFirst, visibleRows } from '../../frontend/device/tree.js';
import { answerWith } from './device-answer.js';

const tree = treeRows(/** @type {any} */ (answerWith()));

test('a collapsed row hides its nested rows, but not the work without an annotation', () => {
  assert.deepEqual(
    visibleRows(tree, new Set(['step/layers'])).map(({ key }) => key),
    ['step', 'step/layers', 'step/loss', 'step/', '/'],
  );
  assert.deepEqual(visibleRows(tree, new Set(['step'])).map(({ key }) => key), ['step', '/']);
});

test('of many rows, those with most time are expanded at first', () => {
  const layer = (/** @type {number} */ n) => [
    { key: `a/b/${n}`, depth: 2, hasNested: true, ps: 20 + n },
    { key: `a/b/${n}/x`, depth: 3, hasNested: false, ps: 11 + n },
    { key: `a/b/${n}/y`, depth: 3, hasNested: false, ps: 9 },
  ];
  const many = /** @type {any[]} */ ([
    { key: 'a', depth: 0, hasNested: true, ps: 500 },
    { key: 'a/b', depth: 1, hasNested: true, ps: 500 },
    ...Array.from({ length: 14 }, (_, n) => layer(n)).flat(),
  ]);
  const collapsed = collapsedAtFirst(many);
  assert.deepEqual([...collapsed].sort(), Array.from({ length: 12 }, (_, n) => `a/b/${n}`).sort());
  assert.equal(collapsedAtFirst(many.slice(0, 20)).size, 0);
});

test('a source is shown as the last two parts of its path', () => {
  assert.equal(shortSource('/opt/model/mlp.py:40'), 'model/mlp.py:40');
});
