import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceChoices, devicesByKey, neighbourKey } from '../../frontend/device/filters.js';

test('a device is identified by the index of its host and its own index', () => {
  const devices = [
    ['a', 'TPU:0'],
    ['a', 'TPU:1'],
    ['b', 'TPU:0'],
  ].map(([host, name]) => ({ host, name, id: `${host}/${name}` }));
  const session = /** @type {any} */ ({
    session: { hosts: [{ name: 'w-a' }, { name: 'w-b' }] },
    devices: devices.map((device) => ({ ...device, host: `w-${device.host}` })),
  });
  assert.deepEqual(deviceChoices(session, '0.0', session.devices), [
    ['all', 'all 3'],
    ['0', 'a, 2\u00a0cores'],
    ['0.0', 'TPU:0 · a'],
    ['0.1', 'TPU:1 · a'],
    ['1.0', 'TPU:0 · b'],
  ]);
  assert.deepEqual(deviceChoices(session, '1.0', session.devices.slice(0, 1)), [
    ['all', 'all 3'],
    ['0.0', 'TPU:0 · a'],
    ['1.0', 'TPU:0 · b'],
  ]);
  // The sum of a host covers all its cores, and the current choice is listed, whichever devices are selected.
  assert.deepEqual(deviceChoices(session, '0', session.devices.slice(1)), [
    ['all', 'all 3'],
    ['0', 'a, 2\u00a0cores'],
    ['0.0', 'TPU:0 · a'],
    ['0.1', 'TPU:1 · a'],
    ['1.0', 'TPU:0 · b'],
  ]);
  assert.deepEqual(deviceChoices(session, '1', session.devices.slice(2))[0], ['1', 'b, 1\u00a0core']);
  const single = /** @type {any} */ ({ session: { hosts: [{ name: 'w-a' }] }, devices: session.devices.slice(0, 1) });
  assert.deepEqual(deviceChoices(single, 'all', single.devices).map(([key]) => key), ['all', '0.0']);
  assert.deepEqual(deviceChoices(single, '0.0', single.devices).map(([key]) => key), ['0.0']);
  const byKey = devicesByKey(/** @type {any} */ ({ session: { hosts: [{ name: 'a' }, { name: 'b' }] }, devices }));
  assert.deepEqual(
    [...byKey].map(([key, { id }]) => `${key} ${id}`),
    ['0.0 a/TPU:0', '0.1 a/TPU:1', '1.0 b/TPU:0'],
  );
});

test('the next choice after several devices is their first device; beyond the ends there is none', () => {
  const keys = ['0.0', '0.1', '1.0'];
  const neighbours = (/** @type {string} */ dd) => [neighbourKey(keys, dd, -1), neighbourKey(keys, dd, 1)];
  assert.deepEqual(neighbours('0.1'), ['0.0', '1.0']);
  assert.deepEqual(neighbours('1'), ['0.1', '1.0']);
  assert.deepEqual(neighbours('all'), [undefined, '0.0']);
  assert.deepEqual(neighbours('1.0'), ['0.1', undefined]);
});
