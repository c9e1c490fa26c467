import assert from 'node:assert/strict';
import { test } from 'node:test';

globalThis.document ??= /** @type {any} */ ({ documentElement: { dataset: {} }, body: { dataset: {} } });
const { get, setFingerprint } = await import('../../frontend/lib/api.js');
const { createLoader } = await import('../../frontend/frame/loader.js');

test('requests for the first hosts of a session that is read again lack its former fingerprint', async () => {
  const devices = { unit_ps: 1, host: [], name: [], kind: [], modules: [], ops: [] };
  const head = { session: { name: 'pod', hosts: [{ name: 'a' }] }, devices };
  /** @type {string[]} */
  const requests = [];
  globalThis.fetch = async (url) => {
    requests.push(String(url));
    const reloading = { state: 'loading', partial: { hosts_read: 1 }, head };
    const answer = url === 'data/reload' ? reloading : { state: 'error', message: 'the end of the test' };
    return /** @type {any} */ ({ ok: true, status: 200, json: async () => answer });
  };
  setFingerprint('pod', 'f00');
  await new Promise((resolve) => {
    const ignore = () => {};
    const loader = createLoader({ ready: resolve, progress: ignore, error: ignore, refused: ignore });
    void loader.load('pod', null, true);
  });
  await get('overview', { session: 'pod' });
  assert.deepEqual(requests, ['data/reload', 'data/overview?session=pod']);
});
