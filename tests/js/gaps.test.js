import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byDevice, createGaps, gapColumns, neighbour, withGapRows, withGaps } from '../../frontend/timeline/gaps.js';
import { gapSelection, selectionText, selectionValue } from '../../frontend/timeline/selection.js';
import { sliceAt } from '../../frontend/timeline/columns.js';

const gap = (device, start_ps, duration_ps, cause = 'tracing') => ({ device, start_ps, duration_ps, cause });
const ITEMS = [gap('vm/TPU:0', 500, 50), gap('vm/TPU:1', 90, 20), gap('vm/TPU:0', 100, 10, 'compile')];

test('gaps are grouped by device and sorted by start', () => {
  const all = byDevice(ITEMS);
  assert.deepEqual(all.get('vm/TPU:0').map(({ start_ps }) => start_ps), [100, 500]);
  assert.equal(all.get('vm/TPU:1').length, 1);
});

test('slices of gaps have the class of their cause and are never merged', () => {
  const columns = gapColumns(byDevice(ITEMS).get('vm/TPU:0'));
  assert.deepEqual(
    [[...columns.start], [...columns.end], [...columns.classIndex], [...columns.count]],
    [
      [100, 500],
      [110, 550],
      [3, 0],
      [1, 1],
    ],
  );
  assert.equal(sliceAt(columns, 105, 0), 0);
  assert.equal(sliceAt(columns, 300, 0), -1);
});

test('adding gaps leaves the received slices unchanged', () => {
  const received = { start_ps: 0, end_ps: 600, names: ['a'], rows: new Map([['h0.t0', []]]) };
  const slices = withGaps(received, new Map([['gaps.vm/TPU:0', [gapColumns(ITEMS)]]]));
  assert.deepEqual([...slices.rows.keys()], ['h0.t0', 'gaps.vm/TPU:0']);
  assert.deepEqual([...received.rows.keys()], ['h0.t0']);
  assert.deepEqual([slices.start_ps, slices.end_ps, slices.names], [0, 600, ['a']]);
});

test('the neighbours of an instant are the gaps that begin before and after it; -1 beyond the ends', () => {
  const gaps = byDevice(ITEMS).get('vm/TPU:0');
  assert.deepEqual([neighbour(gaps, 0, 1), neighbour(gaps, 100, 1), neighbour(gaps, 500, 1)], [0, 1, -1]);
  assert.deepEqual([neighbour(gaps, 501, -1), neighbour(gaps, 500, -1), neighbour(gaps, 100, -1)], [1, 0, -1]);
});

test('the row of gaps is the first row of its device', () => {
  const row = (id, device) => ({
    id,
    kind: 'modules',
    device,
    host: 'vm',
    label: id,
    lanes: 1,
    events: 9,
    unfolded: true,
    role: null,
    share: null,
  });
  const rows = withGapRows(
    [row('h0.t0', null), row('m0', 'vm/TPU:0'), row('o0', 'vm/TPU:0'), row('m2', 'vm/TPU:2')],
    byDevice(ITEMS),
  );
  assert.deepEqual(
    rows.map(({ id, kind }) => [id, kind === 'gaps']),
    [
      ['h0.t0', false],
      ['gaps.vm/TPU:0', true],
      ['m0', false],
      ['o0', false],
      ['m2', false],
    ],
  );
});

test('a gap in the link has its exact start; its end comes with the answer', () => {
  const text = selectionText(gapSelection('vm/TPU:0', 715080172721, 787223000000));
  assert.equal(text, 'gap:vm/TPU:0@715.080172721');
  const value = selectionValue(text);
  assert.deepEqual(
    [value.kind, value.device, value.start_ps, value.row, value.end_ps],
    ['gap', 'vm/TPU:0', 715080172721, 'gaps.vm/TPU:0', 715080172721],
  );
  assert.equal(selectionValue('gap:nothing'), null);
});

test('before the gaps are loaded, a request for one does not say that there are none', () => {
  const textWith = (devices) => {
    let text = '';
    const gaps = createGaps({ state: { selection: null, align: null } }, {}, {
      devices: () => [],
      session: () => ({ devices }),
      announce: (announced) => { text = announced; },
    });
    gaps.longest();
    return text;
  };
  assert.equal(textWith([{ id: 'vm/TPU:0' }]), 'The gaps are not loaded yet.');
  assert.match(textWith([]), /^No gap of 10/);
});
