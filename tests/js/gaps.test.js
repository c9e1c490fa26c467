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
  const [gapRow, modules] = withGapRows([{ ...row('m0', 'vm/TPU:0'), share: 0.8 }], byDevice(ITEMS));
  assert.deepEqual([gapRow.share, modules.share], [null, 0.8]);
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

/** Gaps of two cores, of which the first is listed, with the chosen devices; texts are announced, selections kept. */
async function gapsOf(devices, items, count = items.length) {
  const query = { session: 'a', hosts: null };
  globalThis.fetch = async () => /** @type {any} */ ({ ok: true, json: async () => ({ items, count, strip: [] }) });
  const texts = [];
  const state = { selection: null, align: null, window: { start_ps: 0, end_ps: 1000 } };
  const model = { state, bringIntoView() {}, select: (selection) => { state.selection = selection; } };
  let gaps;
  const open = (arrived, failed) => {
    gaps = createGaps(/** @type {any} */ (model), /** @type {any} */ ({ reveal() {} }), {
      arrived,
      failed,
      session: () => ({ query, devices: ['TPU:0', 'TPU:1'], rows: [] }),
      devices: () => devices,
      announce: (text) => texts.push(text),
      deviceName: (device) => device,
    });
    gaps.open({ query, devices: ['TPU:0', 'TPU:1'] });
  };
  await new Promise(open);
  return { gaps, texts, state };
}
const onBothCores = (index, start_ps, duration_ps) => ({
  index,
  cause: 'tracing',
  by_class_ps: {},
  devices: ['TPU:0', 'TPU:1'],
  starts_ps: [start_ps, start_ps],
  durations_ps: [duration_ps, duration_ps],
  all_cores_idle_by_device_ps: [null, null],
});

test('the longest gaps are those of the shown devices; the same gap on several of them counts once', async () => {
  const longestOf = async (...devices) => {
    const { gaps, state } = await gapsOf(devices, [onBothCores(0, 100, 50), onBothCores(1, 500, 20)]);
    return [1, 2, 3].map(() => {
      gaps.longest();
      return [state.selection.device, state.selection.start_ps];
    });
  };
  assert.deepEqual(await longestOf('TPU:1', 'TPU:0'), [['TPU:0', 100], ['TPU:0', 500], ['TPU:0', 100]]);
  assert.deepEqual(await longestOf('TPU:1'), [['TPU:1', 100], ['TPU:1', 500], ['TPU:1', 100]]);
});

test('after the last loaded gap, the text says whether the device may have others', async () => {
  const textAfterLast = async (count) => {
    const { gaps, texts } = await gapsOf(['TPU:0'], [onBothCores(0, 100, 50)], count);
    gaps.showNeighbour(1);
    gaps.showNeighbour(1);
    return texts[1];
  };
  assert.equal(await textAfterLast(2), 'This device has no later gap.');
  assert.equal(await textAfterLast(2000), 'This device has no later gap among the 1 longest.');
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
