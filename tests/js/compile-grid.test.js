import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byCell, compiledFirst, columnsOf, compiledIn, hostsOfSteps } from '../../frontend/compiles/grid.js';

test('graphs that compiled come first, in the order they had', () => {
  const graphs = [['a', 0], ['b', 2], ['c', 0], ['d', 1]].map(([graph, compiles]) => ({ graph, compiles }));
  assert.deepEqual(compiledFirst(graphs).map(({ graph }) => graph), ['b', 'd', 'a', 'c']);
});

test('compiles stand in the cell of their graph and step; those outside of steps have a column', () => {
  const rows = [{ graph: 'a', step: 0 }, { graph: 'a', step: 0 }, { graph: 'a', step: null }, { graph: 'b', step: 0 }];
  assert.deepEqual(
    [...byCell(rows)].map(([key, own]) => [key.replace('\n', ' '), own.length]),
    [
      ['a 0', 2],
      ['a -1', 1],
      ['b 0', 1],
    ],
  );
});

test('of too many steps those are drawn in which something compiled, then the first ones, in their order', () => {
  const columns = [-1, 0, 1, 2, 3, 4].map((step) => [step]);
  assert.deepEqual(compiledIn(columns, [{ step: 4 }, { step: null }], 4).flat(), [-1, 0, 1, 4]);
  assert.deepEqual(compiledIn(columns, [{ step: 4 }], 6), columns);
});

test('each step has its host', () => {
  assert.deepEqual(hostsOfSteps([['w-0', 2], ['w-1', 1]]), ['w-0', 'w-0', 'w-1']);
});

test('a step of many hosts is one column, of few one for each', () => {
  const hosts = hostsOfSteps(['a', 'b', 'c', 'd', 'e'].map((host) => [host, 2]));
  const numbers = hosts.map((_, step) => 7 + (step % 2));
  assert.deepEqual(columnsOf([...hosts.keys()], numbers, hosts), [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]);
  assert.deepEqual(columnsOf([...hosts.keys()], numbers.map(() => null), hosts), [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]);
  assert.deepEqual(columnsOf([0, 1, 2], numbers, hosts), [[0], [1], [2]]);
});
