import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  alignedSlices,
  alignmentOf,
  realSpan,
  shiftAt,
  shiftColumns,
  shiftText,
} from '../../frontend/timeline/align.js';

const row = (id, device, kind = 'ops') => ({ id, device, kind, host: 'vm' });
const ROWS = [
  row('t0', null, 'thread'),
  row('gaps.a', 'a', 'gaps'),
  row('a.ops', 'a'),
  row('b.ops', 'b'),
  row('c.ops', 'c'),
];
const STEPS = {
  source: 'annotation',
  count: 3,
  columns: { index: [0, 1, 2], start_ps: [100, 200, 300], duration_ps: [100, 100, 100] },
  work: [
    { device: 'a', steps: [0, 3], step: [0, 1, 2], start_ps: [210, 290, 420], end_ps: [280, 410, 500] },
    { device: 'b', steps: [0, 3], step: [0, 2], start_ps: [205, 425], end_ps: [285, 510] },
  ],
};
const columns = (...spans) => ({
  length: spans.length,
  start: spans.map(([start]) => start),
  end: spans.map(([, end]) => end),
  name: spans.map((_, i) => i),
  classIndex: spans.map(() => 0),
  count: spans.map(() => 1),
  busy: spans.map(() => 0),
  event: spans.map((_, i) => 10 + i),
});
const slicesOf = ({ start, end, event }) => event.map((id, i) => [id, start[i], end[i]]);
const align = alignmentOf(STEPS, ROWS);

test('all cores of a host shift by the first device work of the step', () => {
  assert.deepEqual(align.rows.get('a.ops').map(({ shift }) => shift), [105, 90, 120]);
  assert.deepEqual(align.rows.get('b.ops').map(({ shift }) => shift), [105, 120]);
  assert.deepEqual(align.edges.get('vm'), [100, 200, 200, 300, 300, 400]);
});

test('host rows are not shifted; gaps and work outside of steps are not drawn', () => {
  assert.equal(shiftAt(align, 't0', 250), 0);
  assert.equal(shiftAt(align, 'a.ops', 250), 105);
  assert.equal(shiftAt(align, 'a.ops', 285), null);
  assert.equal(shiftAt(align, 'gaps.a', 250), null);
  assert.equal(shiftAt(align, 'c.ops', 250), null);
  assert.equal(shiftAt(null, 'a.ops', 250), 0);
});

test('slices move with their step and keep their recorded times', () => {
  const moved = shiftColumns(
    columns([210, 220], [230, 280], [282, 288], [290, 380], [425, 500]),
    align.rows.get('a.ops'),
  );
  assert.deepEqual(slicesOf(moved), [[10, 105, 115], [11, 125, 175], [13, 200, 290], [14, 305, 380]]);
  assert.deepEqual(moved.real, { start: [210, 230, 290, 425], end: [220, 280, 380, 500] });
});

test('a slice that reaches into the next step is cut at its edge', () => {
  assert.deepEqual(slicesOf(shiftColumns(columns([290, 380], [380, 405], [405, 410]), align.rows.get('a.ops'))), [
    [10, 200, 290],
    [11, 290, 300],
  ]);
});

test('a merged slice of several steps moves with the step at its start, otherwise at its middle', () => {
  assert.deepEqual(slicesOf(shiftColumns(columns([220, 340]), align.rows.get('a.ops'))), [[10, 115, 175]]);
  assert.deepEqual(slicesOf(shiftColumns(columns([200, 300]), align.rows.get('a.ops'))), [[10, 105, 175]]);
});

test('if runs of two steps overlap, a slice moves with the step that began last', () => {
  const segments = [
    { start_ps: 0, end_ps: 100, shift: 0, until: 100 },
    { start_ps: 40, end_ps: 60, shift: -200, until: Infinity },
  ];
  assert.deepEqual(slicesOf(shiftColumns(columns([0, 30], [45, 50], [70, 90]), segments)), [
    [10, 0, 30],
    [12, 70, 90],
    [11, 245, 250],
  ]);
});

test('each host has its own steps', () => {
  const alignment = alignmentOf(
    {
      source: 'step_marker',
      columns: { index: [0, 1], start_ps: [0, 150], duration_ps: [100, 100] },
      work: [
        { device: 'a', steps: [0, 1], step: [0], start_ps: [50], end_ps: [300] },
        { device: 'b', steps: [1, 2], step: [1], start_ps: [160], end_ps: [170] },
      ],
    },
    [row('a.ops', 'a'), { ...row('b.ops', 'b'), host: 'other' }],
  );
  assert.deepEqual([...alignment.edges], [['vm', [0, 100]], ['other', [150, 250]]]);
  assert.deepEqual(
    [...alignment.rows.values()].map(([{ shift, until }]) => [shift, until]),
    [
      [50, Infinity],
      [10, Infinity],
    ],
  );
});

test('slices are in order and do not overlap even if steps alternate', () => {
  const segments = [
    { start_ps: 0, end_ps: 10, shift: 0, until: 100 },
    { start_ps: 10, end_ps: 20, shift: -30, until: 100 },
    { start_ps: 20, end_ps: 50, shift: 5, until: 100 },
  ];
  const moved = shiftColumns(columns([0, 10], [10, 20], [20, 50]), segments);
  assert.deepEqual(slicesOf(moved), [[10, 0, 10], [12, 15, 40], [11, 40, 50]]);
});

test('the label shows the shift of the step in the middle of the window', () => {
  const [ms, rows] = [1e9, [row('a.ops', 'a'), row('c.ops', 'c')]];
  const alignment = alignmentOf(
    {
      ...STEPS,
      columns: { index: [0, 1], start_ps: [100 * ms, 200 * ms], duration_ps: [100 * ms, 100 * ms] },
      work: [
        { device: 'a', steps: [0, 2], step: [0, 1], start_ps: [270.5 * ms, 300 * ms], end_ps: [280 * ms, 400 * ms] },
      ],
    },
    rows,
  );
  assert.equal(shiftText(alignment, 'a.ops', 0), 'shifted +170.5\u202fms');
  assert.equal(shiftText(alignment, 'a.ops', 150 * ms), 'shifted +170.5\u202fms');
  assert.equal(shiftText(alignment, 'a.ops', 250 * ms), 'shifted +100.0\u202fms');
  assert.equal(shiftText(alignment, 'c.ops', 250 * ms), 'no step');
});

test('the requested span covers the recorded times that the window shows', () => {
  assert.deepEqual(realSpan(align, ['a.ops'], { start_ps: 110, end_ps: 150 }), { start_ps: 215, end_ps: 255 });
  assert.deepEqual(realSpan(align, ['a.ops', 'b.ops'], { start_ps: 150, end_ps: 320 }), { start_ps: 255, end_ps: 440 });
  assert.equal(realSpan(align, ['a.ops', 't0'], { start_ps: 0, end_ps: 90 }), null);
});

test('device rows come from a separate answer, with its names', () => {
  const host = { start_ps: 0, end_ps: 9, names: ['x', 'y'], rows: new Map([['t0', [columns([0, 5])]], ['a.ops', []]]) };
  const device = { start_ps: 200, end_ps: 300, names: ['op'], rows: new Map([['a.ops', [columns([210, 220])]]]) };
  const { names, rows } = alignedSlices(host, device, align);
  assert.equal(names[rows.get('a.ops')[0].name[0]], 'op');
  assert.equal(names[rows.get('t0')[0].name[0]], 'x');
  assert.deepEqual(rows.get('b.ops'), []);
});

test('a session whose device work belongs to no step of the host has nothing to align', () => {
  assert.equal(alignmentOf({ ...STEPS, source: 'modules' }, ROWS), null);
  assert.equal(
    alignmentOf({ ...STEPS, work: [{ device: 'a', steps: [0, 3], step: [], start_ps: [], end_ps: [] }] }, ROWS),
    null,
  );
});
