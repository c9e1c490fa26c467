import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGaps } from '../../frontend/timeline/gaps.js';
import { gapSelection, selectionText, selectionValue } from '../../frontend/timeline/selection.js';

test('a gap in the link has its exact start; its end comes with the answer', () => {
  const text = selectionText(gapSelection('vm/TPU:0', 715080172721, 787223000000));
  assert.equal(text, 'gap:vm/TPU:0@715.080172721');
  const value = selectionValue(text);
  assert.deepEqual(
    [value.kind, value.device, value.start_ps, value.end_ps],
    ['gap', 'vm/TPU:0', 715080172721, 715080172721],
  );
  assert.equal(selectionValue('gap:nothing'), null);
});

const GAP_ROWS = ['TPU:0', 'TPU:1'].map((device, index) => ({
  id: `h0.d${index}.gaps`,
  kind: 'gaps',
  device,
  events: 6886,
}));

/**
 * The gaps of two cores, of which the first is listed, with the chosen devices. Announced texts, selections, positions
 * and questions for a neighbour are kept.
 */
async function gapsOf(devices, items, rows = GAP_ROWS) {
  const query = { session: 'a', hosts: null };
  globalThis.fetch = async () => /** @type {any} */ ({ ok: true, json: async () => ({ items, strip: [] }) });
  const kept = { texts: [], positions: [], questions: [] };
  const state = { selection: null, align: null, window: { start_ps: 0, end_ps: 1000 } };
  const model = { state, bringGapIntoView() {}, select: (selection) => { state.selection = selection; } };
  let gaps;
  const open = (arrived, failed) => {
    gaps = createGaps(/** @type {any} */ (model), /** @type {any} */ ({ revealGap() {} }), {
      arrived,
      failed,
      session: () => ({ query, devices: ['TPU:0', 'TPU:1'], rows }),
      devices: () => devices,
      announce: (text) => kept.texts.push(text),
      deviceName: (device) => device,
      position: (...position) => kept.positions.push(position),
      selectNeighbour: (...question) => kept.questions.push(question),
    });
    gaps.open({ query, devices: ['TPU:0', 'TPU:1'] });
  };
  await new Promise(open);
  return { gaps, state, ...kept };
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

test('the next gap is that of the selected device, else of the first chosen one, after the selection', async () => {
  const { gaps, state, questions } = await gapsOf(['TPU:0', 'TPU:1'], []);
  gaps.showNeighbour(1);
  gaps.showNeighbour(-1);
  state.selection = gapSelection('TPU:1', 500, 550);
  gaps.showNeighbour(1);
  const asked = { depth: 0, skip_short: 1 };
  assert.deepEqual(questions, [
    [{ ...asked, row: 'h0.d0.gaps', start_ps: 0, direction: 'next' }, 'This device has no later gap.'],
    [{ ...asked, row: 'h0.d0.gaps', start_ps: 1000, direction: 'previous' }, 'This device has no earlier gap.'],
    [{ ...asked, row: 'h0.d1.gaps', start_ps: 500, direction: 'next' }, 'This device has no later gap.'],
  ]);
});

test('the position of a gap says among which gaps it is; without a gap there is their number', async () => {
  const { gaps, positions, texts } = await gapsOf(['TPU:0'], []);
  gaps.reportPosition();
  gaps.show({ device: 'TPU:0', start_ps: 100, duration_ps: 25e9 });
  const place = { device: 'TPU:0', start_ps: 100, duration_ps: 25e9, counted: 1839, counted_from_ps: 1e9 };
  gaps.loaded({ ...place, number: 412 });
  gaps.loaded({ ...place, number: null });
  const [all, counted] = ['6\u202f886\u00a0gaps', '1\u202f839\u00a0gaps of 1\u202fms or more'];
  const details = `${counted}, ${all} from 10\u202fµs`;
  assert.deepEqual(positions, [
    ['TPU:0', all, all],
    ['TPU:0', 'gap 412 of 1\u202f839', details],
    ['TPU:0', all, details],
  ]);
  assert.deepEqual(texts, ['Gap of 25.000\u202fms on TPU:0, 412 of 1\u202f839.']);
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
