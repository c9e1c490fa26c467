import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScale } from '../../frontend/timeline/scale.js';
import { barsOf, createWaits, opsOfWaits, waitArrows, waitTexts } from '../../frontend/timeline/waits.js';
import { delayText } from '../../frontend/timeline/panel-collective.js';

const N = '\u202f';
const MS = 1e9;
const lane = (host, core, kind, depth = 0) => ({
  kind: 'slices',
  depth,
  row: { id: `h${host}.d${core}.${kind}`, kind, device: `w-${host}/TPU:${core}`, host: `w-${host}` },
});
const op = (host, core, wait, more = {}) => ({
  device: `w-${host}/TPU:${core}`,
  depth: 0,
  start_ps: 10 * MS,
  until_ps: (10 + wait) * MS,
  end_ps: 40 * MS,
  name: 'all-reduce.1',
  last_host: 'w-5',
  ...more,
});
const short = (host) => host.replace('w-', '#');

test('columns become ops, which wait until the last host arrives', () => {
  const wire = {
    count: 9,
    names: ['w-5', 'all-reduce.1'],
    device: ['w-3/TPU:0'],
    depth: [0],
    name: [1],
    last_host: [0],
    start_ps: [10 * MS],
    last_arrival_ps: [30 * MS],
    end_ps: [40 * MS],
    waits_ps: [20 * MS],
  };
  assert.deepEqual(opsOfWaits(wire), [op(3, 0, 20)]);
});

test('a wait is drawn in the row of ops at its depth, or in the row of runs if that is the only one', () => {
  const lanes = [
    lane(3, 0, 'modules'),
    lane(3, 0, 'ops'),
    lane(3, 0, 'ops', 1),
    lane(4, 0, 'modules'),
    { ...lane(3, 1, 'modules'), kind: 'device' },
  ];
  const bars = barsOf(
    [op(3, 0, 20), op(3, 0, 2, { depth: 1 }), op(3, 0, 2, { depth: 2 }), op(4, 0, 1.25), op(3, 1, 20)],
    lanes,
    short,
  );
  assert.deepEqual(bars.map((bar) => lanes.indexOf(bar.lane)), [1, 2, 3]);
  assert.deepEqual(waitTexts(bars[2]), [`waits 1.3${N}ms for #5`, `waits 1.3${N}ms`]);
});

test('one arrow per host leads from the arrival of the late host to the end of the wait for it', () => {
  const lanes = [
    lane(5, 0, 'ops'),
    lane(5, 2, 'ops'),
    lane(3, 2, 'modules'),
    lane(3, 0, 'modules'),
    lane(4, 0, 'modules'),
    lane(6, 0, 'modules'),
  ];
  const bars = barsOf([op(5, 0, 0), op(5, 2, 0), op(3, 2, 20), op(3, 0, 21), op(4, 0, 19), op(6, 0, 0)], lanes, short);
  const arrows = waitArrows(bars, 'w-5/TPU:2');
  assert.deepEqual(
    arrows.map(({ from, to }) => [from.row, to.row, to.start_ps / MS]),
    [
      ['h5.d2.ops', 'h3.d2.modules', 30],
      ['h5.d2.ops', 'h4.d0.modules', 29],
    ],
  );
  assert.equal(waitArrows(bars, 'w-5/TPU:1')[0].from.row, 'h5.d0.ops');
  assert.deepEqual(waitArrows(bars.slice(2), 'w-5/TPU:2'), []);
});

test('a gap that delays nothing has no sentence on delays', () => {
  assert.deepEqual(delayText(null, 'w-5/TPU:0', {}), []);
});

test('a wait is found where it is drawn, not in the row of runs above the ops', async () => {
  const answer = {
    names: ['w-5', 'all-reduce.1'],
    device: ['w-3/TPU:0'],
    depth: [0],
    name: [1],
    last_host: [0],
    start_ps: [10 * MS],
    end_ps: [40 * MS],
    waits_ps: [20 * MS],
  };
  globalThis.fetch = async () => /** @type {any} */ ({ ok: true, json: async () => answer });
  const session = { query: { session: 's' }, session: { hosts: [{}, {}] }, rows: [{}] };
  const scale = createScale({ start_ps: 0, end_ps: 100 * MS }, 0, 100);
  const lanes = [
    { ...lane(3, 0, 'modules'), y: 0, h: 10 },
    { ...lane(3, 0, 'ops'), y: 20, h: 10 },
  ];
  const nameAt = await new Promise((resolve) => {
    const waits = createWaits(/** @type {any} */ ({ state: { align: null }, duration: 100 * MS }), {
      session: () => session,
      shortName: short,
      arrived: () =>
        resolve((y) => waits.waitAt({ scale, lanes, top: 0, scroll: 0, fixed: 0, height: 100 }, 20, y)?.name ?? null),
      failed: assert.fail,
      open: assert.fail,
    });
    waits.ensure(scale);
  });
  assert.deepEqual([nameAt(5), nameAt(25)], [null, 'all-reduce.1']);
});
