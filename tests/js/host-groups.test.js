import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestedHosts } from '../../frontend/frame/requested-hosts.js';
import { devicesLabel } from '../../frontend/timeline/host-groups.js';
import { layoutRows } from '../../frontend/timeline/layout.js';

const HOSTS = ['w-0', 'w-1', 'w-2'];
const row = (host, id, kind, more = {}) => ({
  id: `h${host}.${id}`,
  kind,
  label: id.replace(/^d\d\./, ''),
  host: HOSTS[host],
  device: null,
  role: null,
  lanes: 1,
  events: 1,
  unfolded: true,
  share: 0.5,
  ...more,
});
const rowsOf = (host) => [
  row(host, 'steps', 'steps'),
  row(host, 'ann', 'annotations'),
  row(host, 'classes', 'classes'),
  row(host, 't0', 'thread', { role: 'driving' }),
  ...[0, 1, 2].flatMap((core) => [
    row(host, `d${core}.modules`, 'modules', { device: `w-${host}/TPU:${core}` }),
    row(host, `d${core}.ops`, 'ops', { device: `w-${host}/TPU:${core}` }),
  ]),
];
const all = HOSTS.flatMap((host) =>
  [0, 1, 2].map((core) => ({
    id: `${host}/TPU:${core}`,
    name: `TPU:${core}`,
    kind: 'tpu',
    host,
    busy_ps: 1,
    duty_cycle: 0.5,
  })),
);
const OPTIONS = {
  hosts: HOSTS,
  devices: all.map(({ id }) => id),
  open: new Map(),
  requiredDepths: new Map(),
  allDevices: all,
  fontScale: 1,
  shiftText: () => '',
  severalHosts: true,
};
const layOut = (options = {}, rows = HOSTS.flatMap((_, host) => rowsOf(host))) =>
  layoutRows(rows, { ...OPTIONS, ...options }).lanes;
const labels = (lanes) => lanes.map(({ label }) => label);
const FIRST = ['w-0', 'Annotations', 'Host, by class', 'TPU:0', 'ops', 'TPU:1, 2', 't0'];
const OTHER = (name) => [name, 'Host, by class', 'TPU:0', 'TPU:1, 2'];

test('pinned rows of any host are above all groups, with the name of their host', () => {
  const options = { pinnedRows: new Set(['h2.t0', 'w-1/TPU:1']), shortNames: new Map([['w-2', '2']]) };
  const { lanes, blockEnd } = layoutRows(HOSTS.flatMap((_, host) => rowsOf(host)), { ...OPTIONS, ...options });
  assert.deepEqual(labels(lanes), [
    'w-1: TPU:1', 'ops', '2: t0', ...FIRST, 'w-1', 'Host, by class', 'TPU:0', 'TPU:2', ...OTHER('w-2'),
  ]);
  assert.ok(lanes[2].y < blockEnd && blockEnd <= lanes[3].y);
});

test('each host has a head, rows and devices; only those of the first host are complete', () => {
  assert.deepEqual(labels(layOut()), [...FIRST, ...OTHER('w-1'), ...OTHER('w-2')]);
});

test('the slowest host comes first, the median one last, others in their order', () => {
  const rankLabels = new Map([['w-2', 'slowest'], ['w-0', 'median']]);
  const lanes = layOut({ firstHosts: ['w-2'], lastHosts: ['w-0'], rankLabels });
  const heads = lanes.filter(({ row: { kind } }) => kind === 'steps').map(({ label, right }) => [label, right]);
  assert.deepEqual(heads, [['w-2', 'slowest'], ['w-1', ''], ['w-0', 'median']]);
});

test('the host of the selected gap is shown in full, with that device; other hosts show the device of its name', () => {
  const lanes = layOut({ focusDevice: 'w-1/TPU:1' });
  assert.deepEqual(labels(lanes), [
    'w-0',
    'Host, by class',
    'TPU:1',
    'TPU:0, 2',
    'w-1',
    'Annotations',
    'Host, by class',
    'TPU:1',
    'ops',
    'TPU:0, 2',
    't0',
    'w-2',
    'Host, by class',
    'TPU:1',
    'TPU:0, 2',
  ]);
  assert.equal(lanes.find(({ label }) => label === 'TPU:0, 2').h, 10);
});

test('a host can be folded; its rows, its other devices, and one of these can be opened', () => {
  const open = (...entries) => labels(layOut({ open: new Map(entries) }, [...rowsOf(0), ...rowsOf(1)]));
  assert.deepEqual(open(['h0', false]), ['w-0', ...OTHER('w-1')]);
  assert.deepEqual(open(['h1.rows', true]), [
    ...FIRST,
    'w-1',
    'Annotations',
    'Host, by class',
    'TPU:0',
    'TPU:1, 2',
    't0',
  ]);
  assert.deepEqual(open(['h1.rest', true]), [...FIRST, 'w-1', 'Host, by class', 'TPU:0', 'TPU:1', 'TPU:2', 'TPU:1, 2']);
  assert.deepEqual(open(['w-1/TPU:2', true]), [...FIRST, 'w-1', 'Host, by class', 'TPU:0', 'TPU:2', 'ops', 'TPU:1']);
});

test('rows of the selection are shown on every host', () => {
  const requiredDepths = new Map([['h1.t0', 0], ['h1.d2.ops', 0]]);
  const lanes = labels(layOut({ requiredDepths }, [...rowsOf(0), ...rowsOf(1)]));
  assert.deepEqual(lanes, [...FIRST, 'w-1', 'Host, by class', 'TPU:0', 'TPU:2', 'ops', 'TPU:1', 't0']);
});

test('hosts of which only devices were recorded have ids of their own', () => {
  const gapsRow = (host) => row(host, 'modules', 'gaps', { id: `h${host}.d0.gaps`, device: `w-${host}/TPU:0` });
  const rows = [0, 1].flatMap((host) => [gapsRow(host), ...rowsOf(host).filter(({ device }) => device)]);
  const heads = layOut({}, rows).filter(({ kind }) => kind === 'head').map(({ id, fold }) => [id, fold.id]);
  assert.deepEqual(heads, [['h0.head', 'h0'], ['h1.head', 'h1']]);
});

test('beyond 16 hosts all but one are folded', () => {
  const rows = Array.from({ length: 17 }, (_, at) => ({
    ...row(0, 'steps', 'steps'),
    id: `h${at}.steps`,
    host: `w-${at}`,
  })).flatMap((steps) => [steps, { ...steps, id: steps.id.replace('steps', 'classes'), kind: 'classes' }]);
  const lanes = layOut({ hosts: rows.map(({ host }) => host) }, rows);
  assert.equal(lanes.filter(({ row: { kind } }) => kind === 'steps').length, 17);
  assert.equal(lanes.filter(({ row: { kind } }) => kind === 'classes').length, 1);
});

test('the label of several devices has their common prefix once', () => {
  assert.equal(devicesLabel(['TPU:0', 'TPU:1', 'TPU:3']), 'TPU:0, 1, 3');
  assert.equal(devicesLabel(['GPU:0', 'CPU']), 'GPU:0, CPU');
});

test('a request has the words of the link, and other hosts by index', () => {
  const names = ['w-0', 'w-2', 'w-5'];
  assert.equal(requestedHosts('', names, []), null);
  assert.equal(requestedHosts('slowest,5', names, []), 'slowest,2');
  assert.equal(requestedHosts('2-5,w-0', names, [1]), '1,2,0');
  assert.equal(requestedHosts(undefined, names, [2]), 'slowest,median,2');
  assert.equal(requestedHosts('elsewhere', names, []), null);
});
