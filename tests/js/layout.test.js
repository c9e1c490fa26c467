import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedHeight, foldedThreads, layoutRows } from '../../frontend/timeline/layout.js';

const row = (id, kind, more = {}) => ({
  id,
  kind,
  label: id,
  host: 'vm',
  device: null,
  role: null,
  lanes: 1,
  events: 1,
  unfolded: true,
  share: 0.5,
  ...more,
});
const thread = (id, label, more = {}) => row(id, 'thread', { label, role: 'executor', ...more });
const device = (id) => ({
  id,
  name: id,
  kind: 'tpu',
  host: 'vm',
  span_ps: 1,
  busy_ps: 1,
  idle_ps: 0,
  stall_ps: 0,
  duty_cycle: 0.622,
  modules: 1,
  ops: 1,
});
const ROWS = [
  row('h0.steps', 'steps'), row('h0.ann', 'annotations', { lanes: 3 }), row('h0.classes', 'classes'),
  thread('h0.t0', 'python (driving)', { role: 'driving', lanes: 3 }), thread('h0.t1', 'tf_Compute 1', { lanes: 2 }),
  thread('h0.t2', 'pool 1', { unfolded: false }), thread('h0.t3', 'pool 2', { unfolded: false }),
  row('h0.d0.modules', 'modules', { device: 'TPU:0' }), row('h0.d0.ops', 'ops', { device: 'TPU:0' }),
  row('h0.d1.modules', 'modules', { device: 'TPU:1' }), row('h0.d1.ops', 'ops', { device: 'TPU:1' }),
];
const OPTIONS = {
  hosts: ['vm'],
  devices: ['TPU:0', 'TPU:1'],
  open: new Map(),
  requiredDepths: new Map(),
  allDevices: [device('TPU:0'), device('TPU:1')],
  fontScale: 1,
  shiftText: () => '',
};
const layOut = (options = {}, rows = ROWS) => layoutRows(rows, { ...OPTIONS, ...options });
const ids = (result) => result.lanes.map(({ id }) => id);
/** The lanes of threads in ROWS. */
const THREADS = ['h0.t0/0', 'h0.t0/1', 'h0.t0/2', 'h0.t1/0', 'h0.t1/1', 'more.vm'];

test('steps, annotations, classes, devices, threads, folded threads: in this order', () => {
  assert.deepEqual(ids(layOut()), [
    'h0.steps/0',
    'h0.ann/0',
    'h0.ann/1',
    'h0.ann/2',
    'h0.classes/0',
    'h0.d0.modules/0',
    'h0.d0.ops/0',
    'TPU:1',
    ...THREADS,
  ]);
});

test('the rows above the threads stay in view, as far as they leave room for others', () => {
  const result = layOut();
  const top = (id) => result.lanes.find((lane) => lane.id === id).y;
  assert.equal(fixedHeight(result, result.height), result.blockEnd);
  assert.ok(top('TPU:1') < result.blockEnd && result.blockEnd < top('h0.t0/0'));
  // Whole rows only: the annotations with their three depths would take too much.
  assert.equal(fixedHeight(result, 60), top('h0.ann/0') - 1);
  assert.equal(fixedHeight(layOut({}, ROWS.slice(3, 5)), 1000), 0);
});

test('pinned rows follow the devices, hidden ones are left out unless they are selected', () => {
  const options = { hiddenRows: new Set(['h0.ann', 'TPU:0', 'h0.t0']), pinnedRows: new Set(['h0.t2', 'TPU:1']) };
  assert.deepEqual(ids(layOut({ ...options, requiredDepths: new Map([['h0.t0', 0]]) })), [
    'h0.steps/0',
    'h0.classes/0',
    'h0.d1.modules/0',
    'h0.d1.ops/0',
    'h0.t2/0',
    ...THREADS,
  ]);
});

test('threads with room are open unless the user folded them', () => {
  const deep = ROWS.map((each) => (each.id === 'h0.t0' ? { ...each, lanes: 6 } : each));
  assert.ok(!ids(layOut({}, deep)).includes('h0.t0/4'));
  const unfolded = ids(layOut({ unfolded: ['h0.t0', 'more.vm'] }, deep));
  assert.deepEqual(unfolded.filter((id) => id.startsWith('h0.t0/')).length, 6);
  assert.equal(unfolded[unfolded.indexOf('more.vm') + 1], 'h0.t2/0');
  const open = new Map([['h0.t0', false], ['more.vm', false]]);
  assert.deepEqual(ids(layOut({ unfolded: ['h0.t0', 'more.vm'], open }, deep)), ids(layOut({}, deep)));
});

test('lanes have the height of their kind and do not overlap', () => {
  const { lanes, height } = layOut();
  const heights = Object.fromEntries(lanes.map(({ id, h }) => [id, h]));
  assert.deepEqual(
    [
      heights['h0.steps/0'],
      heights['h0.ann/0'],
      heights['h0.ann/1'],
      heights['h0.ann/2'],
      heights['h0.classes/0'],
      heights['h0.t0/0'],
      heights['more.vm'],
      heights['h0.d0.modules/0'],
      heights['TPU:1'],
    ],
    [17, 17, 18, 16, 22, 15, 11, 17, 11],
  );
  lanes.slice(1).forEach((lane, index) => assert.ok(lane.y >= lanes[index].y + lanes[index].h));
  assert.ok(height >= lanes.at(-1).y + lanes.at(-1).h);
});

test('a closed thread of up to four depths shows one, an open device all its rows', () => {
  const result = ids(layOut({ open: new Map([['h0.t0', false], ['TPU:1', true], ['TPU:0', false]]) }));
  assert.ok(!result.includes('h0.t0/1') && result.includes('TPU:0') && result.includes('h0.d1.ops/0'));
});

test('annotations show five depths until they are unfolded', () => {
  const rows = [row('h0.ann', 'annotations', { lanes: 7 })];
  assert.equal(layOut({}, rows).lanes.length, 5);
  assert.equal(layOut({ open: new Map([['h0.ann', true]]) }, rows).lanes.length, 7);
});

test('hosts and devices that are not chosen have no lanes', () => {
  assert.ok(!ids(layOut({ devices: ['TPU:1'] })).some((id) => id.includes('d0')));
  assert.deepEqual(ids(layOut({ hosts: ['other'], devices: [] })), []);
});

test('of similar threads only the busiest is shown', () => {
  const rows = [
    thread('a', 'python 1 (driving)', { role: 'driving' }),
    thread('b', 'pool 1', { share: 0.1 }),
    thread('c', 'pool 2', { share: 0.9 }),
    thread('d', 'python 2'),
  ];
  assert.deepEqual(foldedThreads(rows, new Map()).map(({ id }) => id), ['b', 'd']);
});

test('a thread of the selection is never folded', () => {
  const result = layOut({ requiredDepths: new Map([['h0.t2', 0]]) });
  assert.ok(ids(result).includes('h0.t2/0'));
  assert.equal(result.lanes.find(({ id }) => id === 'more.vm').label, '1\u00a0more thread');
});

test('a closed row shows as many depths as the selection needs', () => {
  const rows = [thread('h0.t0', 'python (driving)', { role: 'driving', lanes: 9 })];
  assert.equal(layOut({}, rows).lanes.length, 4);
  assert.equal(layOut({ requiredDepths: new Map([['h0.t0', 6]]) }, rows).lanes.length, 7);
});

test('aligned devices show their shift instead of their duty cycle', () => {
  const rightTexts = (options) =>
    layOut(options).lanes.filter(({ right }) => right).map(({ id, right }) => [id, right]);
  assert.deepEqual(rightTexts({}), [['h0.d0.modules/0', '62.2\u202f%'], ['TPU:1', '62.2\u202f%']]);
  assert.deepEqual(rightTexts({ shiftText: (id) => `shifted by ${id}` }), [
    ['h0.d0.modules/0', 'shifted by h0.d0.ops'],
    ['TPU:1', 'shifted by h0.d1.ops'],
  ]);
});
