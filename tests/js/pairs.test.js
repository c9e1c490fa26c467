import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPairs } from '../../frontend/compare/pairs.js';

const noComparison = () => assert.fail('no session is compared');

test('columns of speed-ups have exact arithmetic means', async () => {
  const { columns, rows, means, counts } = await readPairs(
    '\ufeffmodel,first,second\r\na,0.758,1.1\r\nb,0.66,–\r\n\r\nc,1.441×,1.3\r\n',
    noComparison,
  );
  assert.deepEqual(columns, ['first', 'second']);
  assert.deepEqual(rows[1], { model: 'b', speedups: [0.66, null], verdicts: [null, null] });
  assert.deepEqual([means[0].toFixed(6), means[1], counts], ['0.953000', 1.2, [3, 2]]);
});

test('models and columns without speed-ups are listed', async () => {
  const { columns, rows, means, counts } = await readPairs('model,first,second\na,,\nb,2,', noComparison);
  assert.deepEqual(columns, ['first', 'second']);
  assert.deepEqual(rows.map(({ model, speedups }) => [model, speedups]), [
    ['a', [null, null]],
    ['b', [2, null]],
  ]);
  assert.deepEqual([means, counts], [[2, null], [1, 0]]);
});

test('a pair is two step times or two sessions', async () => {
  const requests = [];
  const { columns, rows, means } = await readPairs(
    'model,column,a,b\nx,now,40,50\nx,before,run/a,run/b\n',
    async (...names) => {
      requests.push(names);
      return { times: [3e9, 2e9], verdict: 'better' };
    },
  );
  assert.deepEqual(columns, ['now', 'before']);
  assert.deepEqual(rows, [{ model: 'x', speedups: [0.8, 1.5], verdicts: [null, 'better'] }]);
  assert.deepEqual([means, requests], [[0.8, 1.5], [['run/a', 'run/b']]]);
});

test('without a column of names a pair is named by its sessions', async () => {
  const { columns, rows } = await readPairs('a,b\n30,20', noComparison);
  assert.deepEqual([columns, rows], [['speed-up'], [{ model: '30 / 20', speedups: [1.5], verdicts: [null] }]]);
});

test('quoted cells hold commas, quotes and line breaks', async () => {
  const { rows } = await readPairs('model,"a","b"\r\n"a ""small"" one, 8 cores",3,2\r\n"two\nlines",4,2', noComparison);
  assert.deepEqual(rows, [
    { model: 'a "small" one, 8 cores', speedups: [1.5], verdicts: [null] },
    { model: 'two\nlines', speedups: [2], verdicts: [null] },
  ]);
  await assert.rejects(readPairs('model,first\n"x\ny",1\nz,fast', noComparison), /^Error: Line 4 .* not a number/);
  await assert.rejects(readPairs('model,first\nx,1\n"y,2\n', noComparison), /^Error: Line 3 .* quote/);
});

test('a pair can be a step time and a session', async () => {
  const requests = [];
  const { rows } = await readPairs('model,a,b\nx,run/a,4\ny,6,run/a', async (...names) => {
    requests.push(names);
    return { times: [2e9, 2e9], verdict: 'same' };
  });
  assert.deepEqual(rows.map(({ verdicts }) => verdicts), [[null], [null]]);
  assert.deepEqual(rows.map(({ speedups }) => speedups), [[0.5], [3]]);
  assert.deepEqual(requests, [['run/a', 'run/a'], ['run/a', 'run/a']]);
});

test('an error names the line that cannot be read', async () => {
  await assert.rejects(readPairs('model,first\na,1\nb,fast', noComparison), /^Error: Line 3 .* not a number/);
  await assert.rejects(readPairs('model,first\na,0,758', noComparison), /^Error: Line 2 .* 3 cells under 2 headings/);
  await assert.rejects(readPairs('model,a,b\na,0,5', noComparison), /Line 2/);
  await assert.rejects(readPairs('model,first\na,0x10', noComparison), /^Error: Line 2 .* not a number/);
  await assert.rejects(readPairs('model,first\na,1\na,2', noComparison), /^Error: Line 3 .* occurs twice in/);
  await assert.rejects(readPairs('model,a,b\na,-1,-5', noComparison), /Line 2/);
  await assert.rejects(readPairs('model,first\ra,1\rb,fast\r', noComparison), /^Error: Line 3 /);
  await assert.rejects(readPairs('model,first', noComparison), /empty/);
  await assert.rejects(
    readPairs('model,a,b\nx,run/a,run/b', async () => ({ times: [2e9, 0], verdict: null })),
    /^Error: Line 2 of the pairs: run\/b has no steps/,
  );
  for (const head of ['a,x', 'column,a', 'model;first', 'model']) {
    await assert.rejects(readPairs(`${head}\n1,2`, noComparison), /^Error: Line 1 /);
  }
  await assert.rejects(
    readPairs('model,a,b\na,one,two', async () => {
      throw new Error('no such session');
    }),
    /no such session/,
  );
});
