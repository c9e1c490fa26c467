import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostsToList, loadingText, noSessionsCard, partialText } from '../../frontend/frame/state-cards.js';

const MB = 1e6;
const plain = (text) => text.replaceAll('\u202f', ' ').replaceAll('\u00a0', ' ');
const reading = (partial, bytes_read, bytes, seconds_left) => ({
  partial,
  bytes_read: bytes_read * MB,
  bytes: bytes && bytes * MB,
  seconds_left,
  stage: 'reading',
  hosts: [{ name: 'w-0' }, { name: 'w-1' }],
});

test('while hosts are being read, the text says how many, how much, and how long it takes', () => {
  const text = (...more) =>
    plain(partialText(reading({ hosts_read: 41, hosts_total: 64, hosts_covered: 41 }, 103, ...more)));
  assert.equal(
    text(269, 252),
    '41 of 64 hosts read; the slowest may be among the rest. 103 of 269 MB read, about 4 min left.',
  );
  assert.equal(
    text(269, 12.4),
    '41 of 64 hosts read; the slowest may be among the rest. 103 of 269 MB read, about 12 s left.',
  );
  assert.equal(text(269, null), '41 of 64 hosts read; the slowest may be among the rest. 103 of 269 MB read.');
  assert.equal(text(null, null), '41 of 64 hosts read; the slowest may be among the rest. 103.0 MB read so far.');
});

test('if numbers cover fewer hosts than are read, the text says how many', () => {
  assert.match(
    partialText(reading({ hosts_read: 41, hosts_total: 64, hosts_covered: 1 }, 103, 269, null)),
    /The numbers cover 1.host\.$/,
  );
});

test('once all hosts are read, their report is being built', () => {
  assert.equal(
    plain(partialText(reading({ hosts_read: 64, hosts_total: 64, hosts_covered: 60 }, 269, 269, null))),
    '64 of 64 hosts read. Building their report.',
  );
});

test('times up to 90 s are given in seconds', () => {
  const timeLeft = (seconds) => plain(loadingText(reading(null, 412, 1204, seconds))).split(' · ')[2];
  assert.deepEqual([0.2, 90, 91, 1910].map(timeLeft), [
    'about 1 s left',
    'about 90 s left',
    'about 2 min left',
    'about 32 min left',
  ]);
});

test('the stage after the last byte has a name, and the time left', () => {
  const text = (stage) => plain(loadingText({ ...reading(null, 760, 760, 4.2), stage }));
  assert.equal(text('building'), 'Assigning the events of 2 hosts to threads and devices · about 4 s left');
  assert.equal(text('drawing'), 'Preparing the timeline · about 4 s left');
});

test('of many hosts, those in progress or with errors are listed', () => {
  const hosts = ['ready', 'waiting', 'reading', 'building', 'error'].map((state) => ({ state }));
  const ready = Array(40).fill({ state: 'ready' });
  assert.deepEqual(hostsToList([...ready, ...hosts]).map(({ state }) => state), ['reading', 'building', 'error']);
  assert.equal(hostsToList(hosts).length, 5);
});

test('without sessions, the page offers to capture only where it may', () => {
  class FakeNode {
    text = '';
    setAttribute() {}
    addEventListener() {}
    append(...nodes) { this.text += nodes.map((node) => node.text ?? node).join(''); }
  }
  globalThis.Node = /** @type {any} */ (FakeNode);
  globalThis.document = /** @type {any} */ ({ createElement: () => new FakeNode() });
  const textIf = (capture) => noSessionsCard({ capture, message: '', note: null }, () => {}, () => {}).text;
  assert.match(textIf(true), /from another process or from this page:.*Capture…/s);
  assert.match(textIf(false), /from another process:/);
  assert.doesNotMatch(textIf(false), /Capture…/);
});
