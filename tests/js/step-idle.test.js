import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idleParts } from '../../frontend/overview/step-idle.js';

const device = (host, steps, tracing, small_ps = 0) => ({
  id: `${host}/${tracing}`,
  host,
  steps,
  by_class_ps: { tracing },
  small_ps,
});

test('idle time is per step and core, and of all cores', () => {
  assert.deepEqual(idleParts([device('a', 5, 400, 20), device('a', 5, 200)]),
    [{ name: 'tracing', ps: 60, all_ps: 600 }, { name: null, ps: 2, all_ps: 20 }]);
});

test('hosts are divided by their own cores, and every step counts the same', () => {
  const [{ ps, all_ps }] = idleParts([device('a', 3, 240), device('a', 3, 120), device('b', 1, 20)]);
  assert.equal(ps, ((240 + 120) / 2 + 20) / 4);
  assert.equal(all_ps, 380);
});

test('without steps, idle time is per core', () => {
  assert.deepEqual(idleParts([device('a', 0, 40), device('a', 0, 20)]), [{ name: 'tracing', ps: 30, all_ps: 60 }]);
  assert.deepEqual(idleParts([]), []);
});
