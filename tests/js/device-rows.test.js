import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CSV_HEADS,
  csvRows,
  divisor,
  hasRates,
  isInRow,
  opRows,
  passes,
  peaksOfLink,
  restRows,
  roundTimesAndShares,
  roundTree,
  tonesOf,
  treeRows,
} from '../../frontend/device/rows.js';
import { annotationTones } from '../../frontend/lib/annotation-tones.js';
import { outerPath } from '../../frontend/lib/path-names.js';
import { MS, answerWith } from './device-answer.js';

const answer = /** @type {any} */ (answerWith());
const rows = opRows(answer);
const tree = treeRows(answer);

test('ops with equal names have distinct ids, and rates if they compute', () => {
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['dot.1', 'fusion.2', 'fusion.2~2', 'custom-call.3', 'all-reduce.4', 'copy.5'],
  );
  assert.equal(rows[0].intensity, 1200);
  assert.equal(rows[0].flops_per_s, 8e14);
  assert.deepEqual([rows[3].intensity, rows[4].flops_per_s, rows[5].path], [null, null, null]);
  assert.deepEqual(rows[0].run, { row: 'h0.d0.ops', start_ps: 5, depth: 1, duration_ps: 7 });
  assert.ok(hasRates(rows));
  assert.ok(!hasRates(rows.slice(3, 5)));
});

test('the outer path of a row is its parent’s path, and an outermost row has none', () => {
  const paths = new Set(['a', 'a/b', 'x/y']);
  assert.deepEqual(
    ['a/b', 'a/b/', 'ab', '/', 'x/y', 'x/y/v/w'].map((path) => outerPath(path, paths)),
    ['a', 'a/b', '', '', '', 'x/y'],
  );
});

test('slashes in names divide no annotation', () => {
  const paths = ['step/layers', 'step/layers/mlp', 'step/layers/net/attention', 'step/layers/net/attention/a/b'];
  const self = [65, 20, 40, 10];
  const slashes = treeRows(/** @type {any} */ ({
    core_steps: 1,
    paths,
    tree: {
      ...Object.fromEntries(Object.keys(answer.tree).map((column) => [column, self.map(() => null)])),
      path: [0, 1, 2, 3],
      self_ps: self,
      own_ps: [5, 20, 30, 10],
    },
  }));
  assert.deepEqual(
    slashes.map(({ name, depth, ps }) => [name, depth, ps]),
    [
      ['step/layers', 0, 65],
      ['mlp', 1, 20],
      ['net/attention', 1, 40],
      ['a/b', 2, 10],
      ['in none of these', 2, 30],
      ['in none of these', 1, 5],
    ],
  );
});

test('times are per core and step; rates are not divided', () => {
  const several = answerWith({ core_steps: 20 });
  assert.equal(divisor(several), 20);
  assert.equal(opRows(several)[0].ps, 1.5 * MS);
  assert.equal(opRows(several)[0].flops_per_s, 8e14);
  assert.equal(restRows(several)[0].executions, 1.5);
  assert.equal(divisor(answerWith({ core_steps: 0 })), 1);
});

test('an annotation is followed by its nested annotations, then by its own time', () => {
  assert.deepEqual(
    tree.map(({ key, depth, hasNested, ps }) => [key, depth, hasNested, ps / MS]),
    [
      ['step', 0, true, 93],
      ['step/layers', 1, true, 65],
      ['step/layers/mlp', 2, false, 30],
      ['step/layers/attention', 2, false, 35],
      ['step/loss', 1, false, 20],
      ['step/', 1, false, 8],
      ['/', 0, false, 4],
    ],
  );
  assert.deepEqual(tree.map(({ interval }) => interval?.[0]), [0, 1, 2, 3, 4, undefined, 5]);
});

test('printed times and shares of the tree add up', () => {
  const thirdRows = treeRows(/** @type {any} */ (answerWith({ core_steps: 3 })));
  const rounded = roundTree(thirdRows);
  const leaves = thirdRows.filter(({ hasNested }) => !hasNested);
  assert.equal(leaves.reduce((sum, row) => sum + rounded.get(row).thousandths, 0), Math.round((97 * MS) / 3 / 1e6));
  assert.equal(Math.round(1000 * leaves.reduce((sum, row) => sum + rounded.get(row).share, 0)), 1000);
  const layers = thirdRows.find(({ key }) => key === 'step/layers');
  assert.equal(
    rounded.get(layers).thousandths,
    thirdRows.filter(({ depth }) => depth === 2).reduce((sum, row) => sum + rounded.get(row).thousandths, 0),
  );
  assert.deepEqual(roundTimesAndShares([1.4 * MS, 1.4 * MS, 0.2 * MS]).times, [1400, 1400, 200]);
});

test('a path selects an annotation with its nested ones; with a slash at the end, without them', () => {
  assert.deepEqual(
    rows.filter((row) => passes(row, { an: 'step/layers' })).map(({ id }) => id),
    ['dot.1', 'fusion.2', 'custom-call.3'],
  );
  assert.deepEqual(rows.filter((row) => passes(row, { an: 'step/' })).map(({ id }) => id), ['all-reduce.4']);
  assert.deepEqual(rows.filter((row) => passes(row, { an: '/' })).map(({ id }) => id), ['copy.5']);
  assert.ok(!isInRow('step/loss2', 'step/loss'));
  assert.deepEqual(
    rows.filter((row) => passes(row, { bound: 'memory', text: 'FUSION' })).map(({ id }) => id),
    ['fusion.2~2', 'copy.5'],
  );
  assert.deepEqual(rows.filter((row) => passes(row, { text: 'mlp.py' })).map(({ id }) => id), ['dot.1']);
});

test('the eight largest annotations have the tones of their names', () => {
  const tones = tonesOf(tree, { step: ['loss'] });
  assert.deepEqual([...tones.keys()], ['step/layers/mlp', 'step/layers/attention', 'step/loss', 'step']);
  assert.equal(tones.get('step/loss'), annotationTones({ step: ['loss'] }).get('loss'));
  const many = Array.from({ length: 9 }, (_, at) => ({ ...tree[2], key: `a${at}`, path: `a${at}`, ps: 10 - at }));
  assert.deepEqual([...tonesOf(many, {}).keys()], ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7']);
});

test('peaks are read from links', () => {
  assert.deepEqual(peaksOfLink('918e12,1638e9'), [918e12, 1638e9]);
  const malformed = [undefined, '', '1', '0,1', 'a,b', '1,2,3'];
  for (const text of [...malformed, '918,1638', '1e-300,1e9', '1e12,1e300']) assert.equal(peaksOfLink(text), null);
});

test('a CSV row has every column, with amounts per core and step', () => {
  const [first] = csvRows(rows);
  assert.deepEqual(Object.keys(first), CSV_HEADS);
  assert.deepEqual(
    [first.op, first.annotation, first.self_ps, first.flop_per_byte, first.bound_by],
    ['dot.1', 'step/layers/mlp', 30 * MS, 1200, 'compute'],
  );
  const [mean] = csvRows(opRows(answerWith({ core_steps: 20 })));
  assert.deepEqual([mean.self_ps, mean.flops, mean.hbm_bytes], [1.5 * MS, 1.2e12, 1e9]);
});
