import assert from 'node:assert/strict';
import { test } from 'node:test';
import { opRows, restRows, treeRows } from '../../frontend/device/rows.js';
import { verdictParts } from '../../frontend/device/verdict.js';
import { MS, OPS, answerWith } from './device-answer.js';

/** @param {any} answer */
const verdictOf = (answer) =>
  verdictParts(answer, treeRows(answer), opRows(answer), restRows(answer))
    .flat()
    .join('')
    .replace(/\u202f/g, ' ');

test('the verdict names the annotation that is farthest below the roof', () => {
  assert.equal(
    verdictOf(answerWith()),
    'attention takes 36.1 % of the step’s op time at 0.3 % of peak FLOP/s: below half of both roofs. fusion.2 alone ' +
    'is 25.000 ms, at 40.0 % of HBM bandwidth.',
  );
  assert.equal(
    verdictOf(answerWith({ verdict: { path: 3, roof_share: 0.83, known_ps: 79 * MS, below_ps: 1, op: 1 } })),
    'The ops run at 83.0 % of the roofline; layers, with no single bound, takes 67.0 % of the step’s op time.',
  );
  const { peaks } = answerWith();
  assert.match(
    verdictOf(answerWith({ verdict: null, peaks: { ...peaks, flops_per_s: null, bytes_per_s: null } })),
    /^layers takes 67\.0 %.* dot\.1 alone is 30\.000 ms, at 80\.0 % of peak .* peaks of this device are not known\.$/,
  );
  assert.match(verdictOf(answerWith({ verdict: null })), /no op has both FLOPs and bytes\.$/);
  const silent = answerWith({ verdict: null });
  silent.ops.flops = OPS.map(() => null);
  assert.match(verdictOf(silent), /the capture has no FLOP counts\.$/);
  silent.ops.hbm_bytes = OPS.map(() => null);
  assert.match(verdictOf(silent), /the capture has no FLOP or byte counts\.$/);
  const slices = answerWith({ verdict: null });
  slices.ops.flops_share = OPS.map(() => 0);
  slices.ops.bytes_share = OPS.map(() => null);
  assert.match(verdictOf(slices), / dot\.1 alone is 30\.000 ms\. How near/);
  silent.chosen.category = 'infeed';
  assert.match(verdictOf(silent), /: these ops have no FLOP or byte counts\.$/);
  const [device] = peaks.devices;
  const apart = { ...peaks, flops_per_s: null, devices: [device, { ...device, flops_per_s: 2e15 }] };
  assert.match(verdictOf(answerWith({ verdict: null, peaks: apart })), /: the devices have different peaks\.$/);
  const oneKnown = { ...peaks, bytes_per_s: null, devices: [{ ...device, bytes_per_s: null }] };
  assert.match(verdictOf(answerWith({ verdict: null, peaks: oneKnown })), /: the HBM bandwidth of this device is not/);
  const moves = answerWith({ verdict: null, chosen: { cores: '0.0', steps: 'mean', category: 'copy' } });
  moves.tree.bound_by = moves.tree.bound_by.map(() => 'memory');
  moves.tree.bytes_share = moves.tree.bytes_share.map(() => 0.7);
  assert.equal(
    verdictOf(moves),
    'layers takes 67.0 % of a step’s time in copy at 70.0 % of HBM bandwidth: bound by memory.',
  );
  assert.equal(
    verdictOf({ ...moves, total: { ...moves.total, op_count: 0 } }),
    'No op of copy of a whole step was recorded on this device.',
  );
  const waits = answerWith();
  waits.ops.bound_by = OPS.map(() => 'wait');
  assert.equal(
    verdictOf(waits),
    '98.0 % of the step’s op time only waits for copies or other asynchronous ops; fusion.2 alone is 45.000 ms. The ' +
    'other ops run at 60.0 % of the roofline.',
  );
  waits.ops.kind = OPS.map(() => 'callback');
  assert.match(verdictOf(waits), /op time only waits for callbacks or asynchronous ops; fusion\.2 alone/);
});

test('ops that repeat are named as one', () => {
  const answer = answerWith();
  answer.repeated = [{ name: '64 × fusion', self_ps: 40 * MS, flops_share: 0.1, bytes_share: 0.5 }];
  answer.ops.repeated[1] = 0;
  assert.match(verdictOf(answer), / 64 × fusion take 40\.000 ms, at 50\.0 % of HBM bandwidth\.$/);
});

test('an annotation is named by the shortest ending of its path that no other has', () => {
  const { paths } = answerWith();
  const ambiguous = paths.map((path) => path.replace('step/loss', 'step/attention'));
  assert.match(verdictOf(answerWith({ paths: ambiguous })), /^layers\/attention takes 36\.1/);
});

test('a name with a slash is named whole', () => {
  const { paths } = answerWith();
  const slashes = paths.map((path) => path.replace('layers/attention', 'layers/self/attention'));
  assert.match(verdictOf(answerWith({ paths: slashes })), /^self\/attention takes 36\.1/);
});

test('in place of an annotation with all of the work the largest one without nested ones is named', () => {
  const answer = answerWith({ verdict: null });
  answer.tree.self_ps[0] = 99 * MS;
  answer.tree.self_ps[1] = 91 * MS;
  assert.match(verdictOf(answer), /^attention takes 36\.1 % of the step’s op time\. fusion\.2 alone is 25\.000 ms/);
});

test('the verdict names the category of work without annotations', () => {
  const work = { ...answerWith().tree, path: [-1], self_ps: [99 * MS], own_ps: [99 * MS] };
  const text = verdictOf(answerWith({ verdict: null, tree: work }));
  assert.match(text, /^fusion ops take 67\.7 % of the step’s op time, which has no annotation\./);
});

test('with few known FLOPs the verdict says for which share of the time they are known', () => {
  const few = (/** @type {number} */ roof_share) =>
    verdictOf(answerWith({ verdict: { path: 2, roof_share, known_ps: 30 * MS, below_ps: 5 * MS, op: 0 } }));
  assert.equal(
    few(0.9),
    'layers takes 67.0 % of the step’s op time. FLOPs and bytes are known for 30.3 % of all op time; those ops run ' +
    'at 90.0 % of the roofline.',
  );
  assert.equal(
    few(0.5),
    'layers takes 67.0 % of the step’s op time. FLOPs and bytes are known for 30.3 % of all op time; most time ' +
    'beyond the roofline is in mlp: 30.9 % of the op time, at 80.0 % of peak FLOP/s.',
  );
});
