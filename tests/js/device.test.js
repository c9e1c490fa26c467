import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  csvRows,
  divisor,
  hasRates,
  isOf,
  opRows,
  passes,
  peaksOfLink,
  restRows,
  rounded,
  tonesOf,
  treeRows,
  treeTexts,
} from '../../frontend/device/rows.js';
import {
  BOTTOM,
  LEFT,
  RIGHT,
  TOP,
  axesOf,
  decade,
  dotAt,
  dotsOf,
  lineEnd,
  placed,
  placeLabels,
  scales,
} from '../../frontend/device/layout.js';
import { peaksText, precisionOf } from '../../frontend/device/peaks.js';
import { shortSource } from '../../frontend/device/table.js';
import { closedAtFirst, openRows } from '../../frontend/device/tree.js';
import { verdictParts } from '../../frontend/device/verdict.js';
import { deviceChoices, devicePlaces } from '../../frontend/device/filters.js';

const MS = 1e9;
const PATHS = ['step', 'step/layers', 'step/layers/mlp', 'step/layers/attention', 'step/loss'];
const OPS = [
  // op, path, ms, FLOPs, bytes, share of FLOP/s and of bytes/s, bound
  ['dot.1', 2, 30, 24e12, 2e10, 0.8, 0.4, 'compute'],
  ['fusion.2', 3, 25, 1e11, 1e10, 0.004, 0.4, 'neither'],
  ['fusion.2', 4, 20, 2e10, 1.4e10, 0.001, 0.7, 'memory'],
  ['custom-call.3', 3, 10, null, null, null, null, 'unknown'],
  ['all-reduce.4', 0, 8, null, null, null, null, 'link'],
  ['copy.5', -1, 4, 0, 3e9, 0, 0.75, 'memory'],
];

function answerWith(more = {}) {
  const column = (/** @type {number} */ at) => OPS.map((op) => op[at]);
  const nulls = PATHS.concat('').map(() => null);
  return {
    schema: 1,
    chosen: { cores: '0.0', steps: '1205', category: null },
    stale: false,
    steps: ['1204', '1205'],
    whole_steps: 2,
    cores: 1,
    core_steps: 1,
    hosts: { shown: [0], total: 1 },
    categories: ['fusion', 'dot'],
    category_ps: [67 * MS, 32 * MS],
    peaks: {
      flops_per_s: 1e15,
      bytes_per_s: 1e12,
      source: 'capture',
      devices: [{ kind: 'TPU v6 Lite', count: 1, flops_per_s: 1e15, bytes_per_s: 1e12, source: 'capture', cite: null }],
    },
    total: {
      self_ps: 99 * MS,
      flops_known_ps: 79 * MS,
      flops_unknown_ps: 10 * MS,
      other_ps: 10 * MS,
      flops_share: 0.24,
      mfu: 0.24,
      bytes_share: 0.47,
      bound_by: 'mixed',
      op_count: 6,
      executions: 60,
    },
    paths: PATHS,
    tree: {
      path: [0, 1, 2, 3, 4, -1],
      self_ps: [93, 65, 30, 35, 20, 4].map((ms) => ms * MS),
      own_ps: [8, 0, 30, 35, 20, 4].map((ms) => ms * MS),
      flops_share: [0.2, 0.2, 0.8, 0.003, 0.001, 0],
      bytes_share: nulls,
      bound_by: ['mixed', 'mixed', 'compute', 'neither', 'memory', 'memory'],
      own_flops_share: [null, null, 0.8, 0.003, 0.001, 0],
      own_bytes_share: nulls,
      own_bound_by: ['link', 'unknown', 'compute', 'neither', 'memory', 'memory'],
      first_ps: [0, 1, 2, 3, 4, 5],
      last_ps: [9, 9, 9, 9, 9, 9],
    },
    ops: {
      op: column(0),
      path: column(1),
      self_ps: column(2).map((ms) => ms * MS),
      flops: column(3),
      hbm_bytes: column(4),
      flops_share: column(5),
      bytes_share: column(6),
      bound_by: column(7),
      program: OPS.map(() => 0),
      category: OPS.map(([op]) => Number(op.startsWith('dot'))),
      shape: OPS.map(() => null),
      source: OPS.map((_, at) => (at ? -1 : 0)),
      executions: OPS.map(() => 10),
      kind: OPS.map(([op]) => (op.startsWith('all') ? 'collective' : 'work')),
      run: OPS.map((_, at) => (at ? null : [0, 5, 1, 7])),
    },
    programs: ['jit_f'],
    sources: ['/opt/model/mlp.py:40'],
    rows: ['h0.d0.ops'],
    rest: [{ path: 4, bound_by: 'memory', op_count: 3, executions: 30, self_ps: 2 * MS }],
    ops_without_flops: [{ op: 'custom-call.3', self_ps: 10 * MS }],
    verdict: { path: 3, roof_share: 0.6, known_ps: 79 * MS, below_ps: 15 * MS, op: 1 },
    ...more,
  };
}

const document_ = /** @type {any} */ (answerWith());
const rows = opRows(document_);
const tree = treeRows(document_);

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
    tree.map(({ key, depth, parent, ps }) => [key, depth, parent, ps / MS]),
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
  assert.deepEqual(tree.map(({ place }) => place?.[0]), [0, 1, 2, 3, 4, undefined, 5]);
  assert.deepEqual(
    openRows(tree, new Set(['step/layers'])).map(({ key }) => key),
    ['step', 'step/layers', 'step/loss', 'step/', '/'],
  );
  assert.deepEqual(openRows(tree, new Set(['step'])).map(({ key }) => key), ['step', '/']);
});

test('printed times and shares of the tree add up', () => {
  const thirds = { ...answerWith(), core_steps: 3 };
  const ordered = treeRows(/** @type {any} */ (thirds));
  const texts = treeTexts(ordered);
  const leaves = ordered.filter(({ parent }) => !parent);
  assert.equal(leaves.reduce((sum, row) => sum + texts.get(row).text, 0), Math.round((97 * MS) / 3 / 1e6));
  assert.equal(Math.round(1000 * leaves.reduce((sum, row) => sum + texts.get(row).share, 0)), 1000);
  const layers = ordered.find(({ key }) => key === 'step/layers');
  assert.equal(
    texts.get(layers).text,
    ordered.filter(({ depth }) => depth === 2).reduce((sum, row) => sum + texts.get(row).text, 0),
  );
  assert.deepEqual(rounded([1.4 * MS, 1.4 * MS, 0.2 * MS]).times, [1400, 1400, 200]);
});

test('an annotation includes its nested ones; with a slash it does not', () => {
  assert.deepEqual(
    rows.filter((row) => passes(row, { an: 'step/layers' })).map(({ id }) => id),
    ['dot.1', 'fusion.2', 'custom-call.3'],
  );
  assert.deepEqual(rows.filter((row) => passes(row, { an: 'step/' })).map(({ id }) => id), ['all-reduce.4']);
  assert.deepEqual(rows.filter((row) => passes(row, { an: '/' })).map(({ id }) => id), ['copy.5']);
  assert.ok(!isOf('step/loss2', 'step/loss'));
  assert.deepEqual(
    rows.filter((row) => passes(row, { bound: 'memory', text: 'FUSION' })).map(({ id }) => id),
    ['fusion.2~2', 'copy.5'],
  );
  assert.deepEqual(rows.filter((row) => passes(row, { text: 'mlp.py' })).map(({ id }) => id), ['dot.1']);
});

test('the largest annotations have tones, from light to dark in tree order', () => {
  assert.deepEqual(
    [...tonesOf(tree)],
    [
      ['step/layers/mlp', 0],
      ['step/layers/attention', 2],
      ['step/loss', 3],
      ['step', 5],
    ],
  );
  const many = Array.from({ length: 9 }, (_, at) => ({ ...tree[2], key: `a${at}`, path: `a${at}`, ps: 10 - at }));
  assert.deepEqual(
    [...tonesOf(many)].map(([path, tone]) => `${path} ${tone}`),
    ['a0 0', 'a1 1', 'a2 2', 'a3 3', 'a4 4', 'a5 5'],
  );
});

test('axes are whole decades around ops and ridge, and leave room above the roof', () => {
  const roof = { flops: 1e15, bytes: 1e12 };
  assert.deepEqual(placed(rows).map(({ id }) => id), ['dot.1', 'fusion.2', 'fusion.2~2']);
  const axes = axesOf(rows, roof);
  assert.deepEqual(axes.x, [0, 4]);
  // The slowest is at exactly 1 TFLOP/s, and does not lie on the axis.
  assert.equal(axes.y[0], -1);
  assert.ok(axes.y[1] > 3 && axes.y[1] < 3.5);
  assert.deepEqual(axesOf([], { flops: null, bytes: null }), { x: [0, 2], y: [0, 2] });
  const { x, y } = scales(axes, 500, 300);
  assert.deepEqual([x(1), x(1e4), y(1e11)].map(Math.round), [LEFT, 500 - RIGHT, 300 - BOTTOM]);
  // What takes a thousandth of the time does not stretch them.
  assert.deepEqual(axesOf([...rows, { ...rows[0], ps: MS / 1000, intensity: 1e-6 }], roof).x, [0, 4]);
});

test('areas of dots are proportional to time; smaller dots are drawn last', () => {
  const axes = axesOf(rows, { flops: 1e15, bytes: 1e12 });
  const dots = dotsOf(rows, axes, 500, 300);
  assert.ok(Math.abs(dots[0].r ** 2 / dots[1].r ** 2 - 30 / 25) < 1e-9);
  const [large, small] = [{ row: rows[0], x: 100, y: 100, r: 20 }, { row: rows[1], x: 105, y: 100, r: 4 }];
  assert.equal(dotAt([large, small], 106, 100), small);
  assert.equal(dotAt([large, small], 90, 100), large);
  assert.equal(dotAt([large, small], 200, 100), null);
  assert.ok(dotsOf(rows.map((row) => ({ ...row, ps: row.ps * 1e6 })), axes, 500, 300)[0].r <= 22);
  assert.equal(Math.round(dotsOf(rows.map((row) => ({ ...row, ps: row.ps / 1e6 })), axes, 500, 300)[0].r), 10);
});

test('labels are beside their dots and overlap neither dots nor each other', () => {
  const dots = Array.from({ length: 7 }, (_, at) => ({ row: rows[0], x: 150 + at * 9, y: 150, r: 12 - at }));
  const labels = placeLabels(dots, dots, () => 80, 600, 320, []);
  assert.equal(labels.length, 7);
  const touch = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  labels.forEach(({ box }, at) => {
    labels.slice(0, at).forEach((label) => assert.ok(!touch(box, label.box)));
    dots.forEach((dot) =>
      assert.ok(
        Math.hypot(
          Math.max(box.x - dot.x, 0, dot.x - box.x - box.w),
          Math.max(box.y - dot.y, 0, dot.y - box.y - box.h),
        ) >= dot.r,
      ),
    );
    assert.ok(box.x >= LEFT && box.y >= TOP && box.x + box.w <= 600 - RIGHT && box.y + box.h <= 320 - BOTTOM);
  });
  assert.ok(labels.some(({ line }) => line));
  const [alone] = placeLabels(dots.slice(0, 1), dots.slice(0, 1), () => 80, 600, 320, []);
  assert.ok(!alone.line);
});

test('the line to a label crosses no other label', () => {
  const dots = [
    { row: rows[0], x: 300, y: 100, r: 18 },
    { row: rows[1], x: 345, y: 101, r: 13 },
    { row: rows[2], x: 280, y: 103, r: 9 },
  ];
  const wall = [{ x: 46, y: 16, w: 544, h: 66 }];
  const labels = placeLabels(dots, dots, () => 80, 600, 320, wall);
  assert.equal(labels.length, 3);
  labels.forEach(({ dot, box, line }, at) => {
    const [ex, ey] = lineEnd(dot, box);
    const steps = line
      ? Array.from({ length: 101 }, (_, part) => [
          dot.x + ((ex - dot.x) * part) / 101,
          dot.y + ((ey - dot.y) * part) / 101,
        ])
      : [];
    labels
      .filter((_, index) => index !== at)
      .forEach((label) =>
        assert.ok(
          !steps.some(
            ([x, y]) =>
              x > label.box.x && x < label.box.x + label.box.w && y > label.box.y && y < label.box.y + label.box.h,
          ),
        ),
      );
  });
});

test('decades are written without exponents', () =>
  assert.deepEqual([-5, -1, 0, 3, 5, 6].map(decade), ['10⁻⁵', '0.1', '1', '1\u202f000', '100\u202f000', '10⁶']));

test('peaks are read from links and shown with their source', () => {
  assert.deepEqual(peaksOfLink('918e12,1638e9'), [918e12, 1638e9]);
  for (const text of [undefined, '', '1', '0,1', 'a,b', '1,2,3']) assert.equal(peaksOfLink(text), null);
  const { peaks } = document_;
  assert.equal(
    peaksText(peaks),
    'roof: 1\u202f000\u202fTFLOP/s bf16 · HBM 1\u202f000\u202fGB/s, from the capture (TPU v6 Lite)',
  );
  assert.equal(precisionOf({ ...peaks, source: 'user' }), '');
  assert.equal(
    peaksText({ ...peaks, flops_per_s: 61.5e12, source: 'user' }),
    'roof: 61.5\u202fTFLOP/s · HBM 1\u202f000\u202fGB/s, set by you',
  );
  assert.equal(
    peaksText({ flops_per_s: null, bytes_per_s: null, source: null, devices: [{ ...peaks.devices[0], kind: 'CPU' }] }),
    'roof: not known for CPU',
  );
});

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
    'The ops run at 83.0 % of what their kind allows; layers, with no single bound, is 67.0 % of the step’s op time.',
  );
  const { peaks } = answerWith();
  assert.match(
    verdictOf(answerWith({ verdict: null, peaks: { ...peaks, flops_per_s: null, bytes_per_s: null } })),
    /^layers takes 67\.0 %.* dot\.1 alone is 30\.000 ms, at 80\.0 % of peak .* peaks of this device are not known\.$/,
  );
  assert.match(verdictOf(answerWith({ verdict: null })), /no op has both FLOPs and bytes\.$/);
  const silent = answerWith({ verdict: null });
  silent.ops.flops = OPS.map(() => null);
  assert.match(verdictOf(silent), /the capture has no FLOP or byte counts\.$/);
  const moves = answerWith({ verdict: null, chosen: { cores: '0.0', steps: 'mean', category: 'copy' } });
  moves.tree.bound_by = moves.tree.bound_by.map(() => 'memory');
  moves.tree.bytes_share = moves.tree.bytes_share.map(() => 0.7);
  assert.equal(
    verdictOf(moves),
    'layers takes 67.0 % of a step’s time in copy at 70.0 % of HBM bandwidth: bound by memory.',
  );
  assert.equal(
    verdictOf({ ...moves, total: { ...moves.total, op_count: 0 } }),
    'No op of copy of this step ran on this device.',
  );
  const waits = answerWith();
  waits.ops.bound_by = OPS.map(() => 'wait');
  assert.equal(
    verdictOf(waits),
    '98.0 % of the step’s op time only waits for copies or other asynchronous ops; fusion.2 alone is 45.000 ms. The ' +
    'other ops run at 60.0 % of the roof for their kind.',
  );
});

test('an annotation with all of the work is replaced by its largest part', () => {
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
    'layers takes 67.0 % of the step’s op time. FLOPs and bytes are known for 30.3 % of that time; those ops run at ' +
    '90.0 % of the roof for their kind.',
  );
  assert.equal(
    few(0.5),
    'layers takes 67.0 % of the step’s op time. FLOPs and bytes are known for 30.3 % of that time; farthest ' +
    'from the roof is mlp, 30.9 % of the time at 80.0 % of peak FLOP/s.',
  );
});

test('of many rows, those with most time are expanded at first', () => {
  const layer = (/** @type {number} */ n) => [
    { key: `a/b/${n}`, depth: 2, parent: true, ps: 20 + n },
    { key: `a/b/${n}/x`, depth: 3, parent: false, ps: 11 + n },
    { key: `a/b/${n}/y`, depth: 3, parent: false, ps: 9 },
  ];
  const many = /** @type {any[]} */ ([
    { key: 'a', depth: 0, parent: true, ps: 500 },
    { key: 'a/b', depth: 1, parent: true, ps: 500 },
    ...Array.from({ length: 14 }, (_, n) => layer(n)).flat(),
  ]);
  const closed = closedAtFirst(many);
  assert.deepEqual([...closed].sort(), Array.from({ length: 12 }, (_, n) => `a/b/${n}`).sort());
  assert.equal(closedAtFirst(many.slice(0, 20)).size, 0);
});

test('a device is identified by the index of its host and its own index', () => {
  const devices = [
    ['a', 'TPU:0'],
    ['a', 'TPU:1'],
    ['b', 'TPU:0'],
  ].map(([host, name]) => ({ host, name, id: `${host}/${name}` }));
  const session = /** @type {any} */ ({
    session: { hosts: [{ name: 'w-a' }, { name: 'w-b' }] },
    devices: devices.map((device) => ({ ...device, host: `w-${device.host}` })),
  });
  assert.deepEqual(deviceChoices(session, '0.0', session.devices), [
    ['all', 'all 3'],
    ['0', 'a, 2 cores'],
    ['0.0', 'TPU:0 · a'],
    ['0.1', 'TPU:1 · a'],
    ['1.0', 'TPU:0 · b'],
  ]);
  assert.deepEqual(deviceChoices(session, '1.0', session.devices.slice(0, 1)), [
    ['all', 'all 3'],
    ['0.0', 'TPU:0 · a'],
    ['1.0', 'TPU:0 · b'],
  ]);
  const places = devicePlaces(/** @type {any} */ ({ session: { hosts: [{ name: 'a' }, { name: 'b' }] }, devices }));
  assert.deepEqual(
    [...places].map(([place, { id }]) => `${place} ${id}`),
    ['0.0 a/TPU:0', '0.1 a/TPU:1', '1.0 b/TPU:0'],
  );
});

test('a CSV row has every column', () => {
  const [first] = csvRows(rows);
  assert.deepEqual(
    [first.op, first.annotation, first.self_ps, first.flop_per_byte, first.bound_by],
    ['dot.1', 'step/layers/mlp', 30 * MS, 1200, 'compute'],
  );
  assert.equal(shortSource('/opt/model/mlp.py:40'), 'model/mlp.py:40');
});
