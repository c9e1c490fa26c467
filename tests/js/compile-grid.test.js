import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  columnsOf, compiledFirst, countColumns, groupByCell, hostsOfSteps, limitColumns,
} from '../../frontend/compiles/grid.js';

test('graphs with compilations come first, otherwise in their order', () => {
  const graphs = [['a', 0], ['b', 2], ['c', 0], ['d', 1]].map(([graph, compiles]) => ({ graph, compiles }));
  assert.deepEqual(compiledFirst(graphs).map(({ graph }) => graph), ['b', 'd', 'a', 'c']);
});

test('compilations are grouped by graph and step, those outside steps under -1', () => {
  const rows = [{ graph: 'a', step: 0 }, { graph: 'a', step: 0 }, { graph: 'a', step: null }, { graph: 'b', step: 0 }];
  assert.deepEqual(
    [...groupByCell(rows)].map(([key, rowsOfCell]) => [key.replace('\n', ' '), rowsOfCell.length]),
    [
      ['a 0', 2],
      ['a -1', 1],
      ['b 0', 1],
    ],
  );
});

test('a limit of columns keeps those with compilations, then the first ones', () => {
  const columns = [-1, 0, 1, 2, 3, 4].map((step) => [step]);
  assert.deepEqual(limitColumns(columns, [{ step: 4 }, { step: null }], 4).flat(), [-1, 0, 1, 4]);
  assert.deepEqual(limitColumns(columns, [{ step: 4 }], 6), columns);
});

test('every step has its host', () => {
  assert.deepEqual(hostsOfSteps([['w-0', 2], ['w-1', 1]]), ['w-0', 'w-0', 'w-1']);
});

test('many hosts share a column per step, few hosts have their own', () => {
  const hosts = hostsOfSteps(['a', 'b', 'c', 'd', 'e'].map((host) => [host, 2]));
  const numbers = hosts.map((_, step) => 7 + (step % 2));
  assert.deepEqual(columnsOf([...hosts.keys()], numbers, hosts), [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]);
  assert.deepEqual(columnsOf([...hosts.keys()], [...hosts.keys()], hosts), [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]);
  assert.deepEqual(columnsOf([0, 1, 2], numbers, hosts), [[0], [1], [2]]);
  numbers[0] = 9;
  assert.deepEqual(columnsOf([...hosts.keys()], numbers, hosts), [[2, 4, 6, 8], [1, 3, 5, 7, 9], [0]]);
});

test('the steps of a graph are those of the shown hosts', () => {
  const graph = { steps: { 0: 'compiled', 1: 'run', 4: 'run' } };
  assert.equal(countColumns(graph, [[-1], [0], [1], [2]]), 2);
  assert.equal(countColumns(graph, [[0, 4], [1, 5]]), 2);
});
