import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as format from '../../frontend/lib/format.js';
import { columnUnit } from '../../frontend/lib/totals.js';

const N = '\u202f';

test('a time in text has the unit that fits it, and three decimals', () => {
  assert.equal(format.timeText(72_143_000_000), `72.143${N}ms`);
  assert.equal(format.timeText(4_118_000), `4.118${N}µs`);
  assert.equal(format.timeText(99_999), `99.999${N}ns`);
  assert.equal(format.timeText(100_000), `0.100${N}µs`);
  assert.equal(format.timeText(100_000_000), `0.100${N}ms`);
  assert.equal(format.timeText(9_999_999_000_000), `9${N}999.999${N}ms`);
  assert.equal(format.timeText(10_000_000_000_000), `10.000${N}s`);
  assert.equal(format.timeText(0), `0.000${N}ms`);
  assert.equal(format.timeText(null), '–');
});

test('a column has one unit, from its largest value', () => {
  assert.equal(columnUnit([5, 72_143_000_000], Number).name, 'ms');
  assert.equal(columnUnit([4_118_000], Number).name, 'µs');
  assert.equal(format.timeCell(412_000_000, format.UNITS.ms), '0.412');
  assert.equal(format.timeCell(0, format.UNITS.ms), '0.000');
});

test('device times below 0.1 ms have five decimals in ms columns', () => {
  assert.equal(format.deviceTimeCell(83_470_000, format.UNITS.ms), '0.08347');
  assert.equal(format.deviceTimeCell(118_000_000, format.UNITS.ms), '0.118');
  assert.equal(format.deviceTimeCell(83_470_000, format.UNITS.us), '83.470');
});

test('a headline has one decimal, and none from 1 000 on', () => {
  assert.equal(format.headlineTime(242_600_000_000), `242.6${N}ms`);
  assert.equal(format.headlineTime(1_163_300_000_000), `1${N}163${N}ms`);
});

test('a share is 100.0 % or 0.0 % only if it is exactly that', () => {
  assert.equal(format.share(0.6218), `62.2${N}%`);
  assert.equal(format.share(0.9999), `99.9${N}%`);
  assert.equal(format.share(1), `100.0${N}%`);
  assert.equal(format.share(0.0002), `<${N}0.1${N}%`);
  assert.equal(format.share(0), `0.0${N}%`);
});

test('digits are grouped from a thousand on, with a true minus', () => {
  assert.equal(format.count(999), '999');
  assert.equal(format.count(1204), `1${N}204`);
  assert.equal(format.digits(-1234567.5, 1), `−1${N}234${N}567.5`);
  assert.equal(format.digits(-0.0001, 1), '0.0');
});

test('a difference has a sign unless it is 0', () => {
  assert.equal(format.difference(20.8), '+20.8');
  assert.equal(format.difference(-58.2), '−58.2');
  assert.equal(format.difference(0), '0.0');
  assert.equal(format.ratio(1.222), '1.22×');
});

test('sizes in bytes have powers of 1000', () => {
  assert.equal(format.bytes(318_400_000), `318.4${N}MB`);
  assert.equal(format.bytes(512), `512${N}B`);
  assert.equal(format.bytes(0.4), `<${N}1${N}B`);
  assert.equal(format.bytes(0), `0${N}B`);
  assert.equal(format.bytes(999_960), `1.0${N}MB`);
});

test('a range has enough digits to distinguish its ends', () => {
  assert.equal(format.rangeText(715_080_172_721, 787_223_000_000), `715.080 – 787.223${N}ms`);
  const [from, to] = format.rangeText(715_080_172_721, 715_080_172_900).split(' – ');
  assert.notEqual(from, to.slice(0, from.length));
});

test('long names are cut in the middle', () => {
  const cut = format.cutMiddle('SyncTensorsGraph.41937', 16);
  assert.equal(cut.length, 16);
  assert.ok(cut.startsWith('SyncTensor') && cut.endsWith('41937'));
  assert.equal(format.cutMiddle('forward', 16), 'forward');
  assert.equal(format.cutMiddle('😀'.repeat(10), 11), '😀😀😀…😀');
});
