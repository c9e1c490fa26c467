import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { csvText } from '../../frontend/lib/csv.js';
import { stepKey } from '../../frontend/lib/link.js';
import {
  CSV_HEADS,
  csvRows,
  hostRows,
  largestLateness,
  meanOf,
  stepsOfLink,
} from '../../frontend/hosts/rows.js';
import {
  HEAD,
  LEFT,
  RIGHT,
  columnAt,
  columnX,
  columnsThatFit,
  heatRows,
  labelEvery,
  mergeNeighbours,
  onScale,
  percentile,
  rowAt,
} from '../../frontend/hosts/layout.js';
import { rangeName } from '../../frontend/hosts/verdict.js';
import { shownHost } from '../../frontend/hosts/heat.js';
import { stepTimeEnds } from '../../frontend/hosts/heat-card.js';
import { dutyOf, lastShares, stepCounts } from '../../frontend/hosts/table.js';

const EXAMPLE = JSON.parse(readFileSync(new URL('../recorded/hosts_view.json', import.meta.url)));
const indices = (/** @type {number} */ count) => [...Array(count).keys()];

test('the duty cycle of several hosts is weighted by the spans of their devices', () => {
  const plain = (/** @type {string} */ text) => text.replace('\u202f', ' ');
  assert.equal(
    plain(
      dutyOf([
        { duty: 0.9, span_us: 300 },
        { duty: 0.5, span_us: 100 },
        { duty: null, span_us: 0 },
      ]),
    ),
    '80.0 %',
  );
  assert.equal(dutyOf([{ duty: null, span_us: 0 }]), '–');
});

test('shares of last arrivals add up if hosts share all collectives; else each is of the own collectives', () => {
  const sharesOf = (/** @type {[number|null, number|null][]} */ ...hosts) => {
    const rows = /** @type {any[]} */ (hosts.map(([last_count, share]) => ({ last_count, share })));
    const { addUp, shareOf } = lastShares(rows);
    return [addUp, ...rows.map(shareOf)];
  };
  assert.deepEqual(sharesOf([1, 1 / 3], [1, 1 / 3], [1, 1 / 3], [null, null]), [true, 0.334, 0.333, 0.333, null]);
  assert.deepEqual(sharesOf([13, 13 / 24], [11, 11 / 24], [24, 1], [0, 0]), [false, 13 / 24, 11 / 24, 1, 0]);
  assert.deepEqual(sharesOf([null, null]), [false, null]);
});

test('named hosts have tall rows; all others share 90 px, with several hosts per row if needed', () => {
  const { rows, bottom } = heatRows([5, 41], indices(62));
  assert.deepEqual(rows.slice(0, 2).map(({ hosts, y, h }) => [hosts, y, h]), [[[5], HEAD, 33], [[41], HEAD + 36, 33]]);
  assert.equal(rows.length, 64);
  const thinRows = rows.slice(2);
  thinRows.slice(1).forEach((row, index) =>
    assert.equal(row.y, thinRows[index].y + thinRows[index].h, 'no holes, no overlap'),
  );
  assert.equal(bottom - thinRows[0].y, 90);
  const many = heatRows([], indices(1000));
  assert.equal(many.hostsPerRow, 12);
  assert.deepEqual(many.rows.flatMap(({ hosts }) => hosts), indices(1000));
  assert.deepEqual(heatRows([1], []).rows.length, 1);
});

test('the scale of step times is in the unit of the longest step', () => {
  const plain = (/** @type {string[]} */ texts) => texts.map((text) => text.replaceAll('\u202f', ' '));
  assert.deepEqual(plain(stepTimeEnds(41_160, 43_520)), ['41.2', '43.5 ms']);
  assert.deepEqual(plain(stepTimeEnds(31, 44)), ['31.0', '44.0 µs']);
  assert.deepEqual(plain(stepTimeEnds(0, 12_000_000)), ['0.0', '12.0 s']);
});

test('up to 120 steps are visible, each at least 6 px wide', () => {
  assert.equal(columnsThatFit(800, 40), 40);
  assert.equal(columnsThatFit(800, 150), 120);
  assert.equal(columnsThatFit(600, 110), 100);
  assert.equal(columnsThatFit(2, 7), 1);
});

test('columnAt inverts columnX', () => {
  const width = 907;
  for (const columnCount of [1, 7, 40, 111]) {
    assert.equal(columnX(0, columnCount, width), LEFT);
    assert.equal(columnX(columnCount, columnCount, width), width - RIGHT);
    for (const column of [0, columnCount >> 1, columnCount - 1]) {
      const middle = (columnX(column, columnCount, width) + columnX(column + 1, columnCount, width)) / 2;
      assert.equal(columnAt(middle, columnCount, width), column);
    }
    assert.equal(columnAt(LEFT - 1, columnCount, width), -1);
    assert.equal(columnAt(width - RIGHT + 1, columnCount, width), -1);
  }
});

test('a row is found by a position in it, or in the space below it', () => {
  const { rows } = heatRows([3], [1, 2]);
  assert.deepEqual([HEAD - 1, HEAD, HEAD + 35, rows[1].y, rows[2].y].map((y) => rowAt(rows, y)), [-1, 0, 0, 1, 2]);
});

test('a scale ends at the 95th percentile and clamps values beyond it', () => {
  assert.equal(percentile([...Array(39).fill(20), 84]), 20);
  assert.equal(percentile([]), 0);
  assert.equal(percentile([3, 1], 0), 1);
  assert.deepEqual([onScale(-1, 0, 10), onScale(5, 0, 10), onScale(84, 0, 10), onScale(5, 5, 5)], [0, 0.5, 1, 0]);
});

test('labels are at round distances at which they do not touch', () => {
  assert.equal(labelEvery(18, 40), 4);
});

test('neighbours with equal keys are merged', () => {
  assert.deepEqual(mergeNeighbours(['a', 'a', 'b', 'a']), [[0, 1, 'a'], [2, 2, 'b'], [3, 3, 'a']]);
});

test('rows of all steps equal the document; rows of two ranges add up to them', () => {
  const whole = hostRows(EXAMPLE, null);
  assert.deepEqual(whole.map(({ last_count }) => last_count), EXAMPLE.hosts.last_count);
  const all = hostRows(EXAMPLE, [0, 11]);
  assert.deepEqual(all.map(({ last_count }) => last_count), EXAMPLE.hosts.last_count);
  const [firstRange, secondRange] = [hostRows(EXAMPLE, [0, 4]), hostRows(EXAMPLE, [5, 11])];
  assert.deepEqual(
    firstRange.map(({ last_count, others_wait_us }, index) => [
      last_count + secondRange[index].last_count,
      others_wait_us + secondRange[index].others_wait_us,
    ]),
    all.map(({ last_count, others_wait_us }) => [last_count, others_wait_us]),
  );
  assert.equal(firstRange.reduce((sum, row) => sum + row.share, 0).toFixed(9), '1.000000000');
  const input = EXAMPLE.classes.indexOf('input');
  assert.equal(
    whole[5].differences.find(({ name }) => name === 'input').us,
    EXAMPLE.class_us[5][input] - EXAMPLE.class_us[EXAMPLE.median_host][input],
  );
  assert.ok(!whole[5].differences.some(({ name }) => name === 'device'), 'device work runs in parallel with the host');
});

test('a range of steps has the names of its ends', () => {
  assert.equal(rangeName(EXAMPLE.steps, [3, 3]), 'step 1207');
  assert.equal(rangeName(EXAMPLE.steps, [2, 5]), 'steps 1206 – 1209');
});

test('mean times are those of the steps that the host has', () => {
  assert.deepEqual(meanOf([[1, 4], null, [3, 4]], null), [2, 4]);
  assert.equal(meanOf([[1], null], [1, 1]), null);
});

test('the largest lateness of hosts is that in the steps in which one of them was last', () => {
  const document = { steps: { number: [1, 2, 3], last_host: [0, 1, 0] }, late_us: [[5, 90, 40], [0, 7, 0], [8, 8, 8]] };
  assert.equal(largestLateness(document, [0, 2], null), 40);
  assert.equal(largestLateness(document, [0, 1], [0, 1]), 7);
  assert.equal(largestLateness(document, [2], null), 0);
});

test('steps in a link are numbers, with an index where numbers repeat', () => {
  const steps = { number: [7, 8, 8, null] };
  assert.deepEqual([0, 1, 2, 3].map((step) => stepKey(steps.number, step)), ['7', '8.1', '8.2', '3']);
  assert.deepEqual(
    ['7', '7-8.2', '8.2-7', '3'].map((text) => stepsOfLink(steps, text)),
    [
      [0, 0],
      [0, 2],
      [0, 2],
      [3, 3],
    ],
  );
  assert.deepEqual(
    ['9', '', '7-', '7-8.1-3', undefined].map((text) => stepsOfLink(steps, text)),
    [null, null, null, null, null],
  );
});

test('the export has every host and step, and its waits add up', () => {
  const rows = csvRows(EXAMPLE);
  assert.equal(rows.length, 16 * 12);
  assert.equal(rows.reduce((sum, row) => sum + row.last_count, 0), EXAMPLE.collectives);
  assert.equal(
    rows.reduce((sum, row) => sum + row.others_wait_us, 0),
    EXAMPLE.charges.others_wait_us.reduce((sum, us) => sum + us, 0),
  );
  const text = csvText(CSV_HEADS, rows.map((row) => CSV_HEADS.map((head) => row[head])));
  assert.ok(text.split('\r\n')[1].startsWith('t1v-n-7f-w-0,1204,'));
  assert.equal(csvRows({ ...EXAMPLE, state: 'no_collectives', late_us: [] })[0].others_wait_us, null);
});

test('a cell of several hosts is that of the host with the largest value', () => {
  const values = [[null, 3], [5, 1], [2, 3]];
  const valueOf = (/** @type {number} */ host, /** @type {number} */ step) => values[host][step];
  assert.deepEqual([0, 1].map((step) => shownHost({ hosts: [0, 1, 2] }, step, valueOf)), [1, 0]);
});

test('the numbers of steps of some hosts are a range if they differ', () => {
  assert.deepEqual([[12, 12], [12, 11, 14]].map((counts) => stepCounts(counts.map((steps) => ({ steps })))), [
    '12',
    '11 – 14',
  ]);
});
