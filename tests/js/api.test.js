import assert from 'node:assert/strict';
import { test } from 'node:test';

globalThis.document ??= /** @type {any} */ ({ documentElement: { dataset: {} }, body: { dataset: {} } });
const { get, setFingerprint, onSessionReread } = await import('../../frontend/lib/api.js');

/** @param {number} status */
function serve(status, requests = /** @type {string[]} */ ([])) {
  globalThis.fetch = async (url) => {
    requests.push(String(url));
    return /** @type {any} */ ({
      ok: status === 200,
      status,
      json: async () => (status === 200 ? {} : { error: 'read again' }),
    });
  };
  return requests;
}

test('requests about an open session have the fingerprint of its files', async () => {
  setFingerprint('a', 'f00');
  const requests = serve(200);
  await get('window', { session: 'a', start_ps: 5 });
  await get('window', { session: 'b', start_ps: null });
  await get('session', { session: 'a' });
  await get('sessions');
  assert.deepEqual(requests, [
    'data/window?session=a&start_ps=5&fingerprint=f00',
    'data/window?session=b',
    'data/session?session=a',
    'data/sessions?',
  ]);
});

test('an answer that breaks off is reported as an unreachable server, one that is not JSON by its status', async () => {
  const failWith = async (/** @type {Error} */ error) => {
    globalThis.fetch = async () => /** @type {any} */ ({ ok: true, status: 200, json: () => Promise.reject(error) });
    return get('counts', { session: 'c' }).catch(({ message, status }) => [status, message]);
  };
  assert.deepEqual(await failWith(new SyntaxError('Unexpected token <')), [
    200,
    'The server answered 200 to data/counts.',
  ]);
  const [status, message] = await failWith(new TypeError('network error'));
  assert.equal(status, 0);
  assert.match(message, /cannot be reached/);
});

test('a session whose changed files were read is reported once', async () => {
  /** @type {string[]} */
  const rereadSessions = [];
  onSessionReread((name) => rereadSessions.push(name));
  setFingerprint('a', 'f00');
  serve(409);
  const answers = await Promise.allSettled([get('gaps', { session: 'a' }), get('counts', { session: 'a' })]);
  assert.deepEqual(answers.map(({ status }) => status), ['rejected', 'rejected']);
  assert.deepEqual(rereadSessions, ['a']);
});
