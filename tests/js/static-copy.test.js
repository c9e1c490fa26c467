import assert from 'node:assert/strict';
import { test } from 'node:test';

globalThis.document ??= /** @type {any} */ ({ documentElement: { dataset: {} }, body: { dataset: {} } });
const { NOT_RECORDED } = await import('../../frontend/lib/api.js');
const { createAnswers } = await import('../../frontend/static-copy/answers.js');

/** @param {Record<string, any>} recorded answers by request */
const answers = (recorded) =>
  createAnswers(Object.entries(recorded).flat().map((part) => `${JSON.stringify(part)}\n`).join(''));

test('a request is answered whatever its order of arguments, and without those of the server', async () => {
  const answer = answers({ 'gap?device=h/TPU:0 é&start_ps=5': { chain: [] } });
  const found = answer('data/gap?session=s&start_ps=5&device=h%2FTPU%3A0+%C3%A9&other_host=3&fingerprint=f&hosts=1');
  assert.equal(found.ok, true);
  assert.deepEqual(await found.json(), { chain: [] });
});

test('other requests say that they are not recorded', async () => {
  for (const url of ['gap?session=s&device=a&start_ps=6', 'search?q=a', 'timeline?start_ps=0&end_ps=1&px=1']) {
    const found = answers({})(`data/${url}`);
    assert.equal(found.status, NOT_RECORDED);
    assert.match((await found.json()).error, /^Not in this static copy/);
  }
});

test('a span of the timeline comes from the coarsest answer that is fine enough, else from the finest', async () => {
  const rows = { a: [], b: [] };
  const answer = answers({
    'timeline?end_ps=1000&px=10&start_ps=0': { name: 'whole', rows },
    'timeline?end_ps=500&px=50&start_ps=0': { name: 'half', rows },
    'timeline?end_ps=200&px=200&start_ps=0': { name: 'fifth', rows },
  });
  /** @param {number} start @param {number} end @param {number} px */
  const name = async (start, end, px) =>
    (await answer(`data/timeline?session=s&start_ps=${start}&end_ps=${end}&px=${px}&rows=a`).json()).name;
  assert.equal(await name(0, 1000, 10), 'whole');
  assert.equal(await name(0, 400, 4), 'whole');
  assert.equal(await name(0, 400, 40), 'half');
  assert.equal(await name(100, 200, 10), 'half');
  assert.equal(await name(100, 200, 1000), 'fifth');
  assert.equal(await name(400, 600, 1000), 'whole');
  const { rows: shown } = await answer('data/timeline?start_ps=0&end_ps=9&px=9&rows=b,c').json();
  assert.deepEqual(Object.keys(shown), ['b']);
});

test('the annotations of an event are those of its step', async () => {
  const columns = { start_ps: [0, 100], duration_ps: [100, 100], number: [7, 8] };
  const event = { start_ps: 130, on_device: { path: 'step/forward' } };
  const answer = answers({
    'overview?': { steps: { columns } },
    'event?depth=1&row=h0.ann&start_ps=130': event,
    'event?depth=0&row=h0.ann&start_ps=300': { start_ps: 300, on_device: null },
    'propagation?': { step: 'usual', requested_path: null },
    'propagation?step_number=8': { step: 8, requested_path: null },
  });
  /** @param {string} query */
  const around = async (query) => answer(`data/propagation?session=s&row=h0.ann&${query}`).json();
  assert.deepEqual(await around('start_ps=130&depth=1'), { step: 8, requested_path: 'step/forward' });
  assert.deepEqual(await around('start_ps=300&depth=0&step_number=9'), { step: 'usual', requested_path: null });
  assert.match((await around('start_ps=131&depth=1')).error, /^Not in this static copy/);
});

test('neighbours are the events of a lane around an instant', async () => {
  const events = [{ start_ps: 10 }, { start_ps: 20 }, { start_ps: 30 }];
  const answer = answers({ 'neighbor?depth=0&row=0/steps': { events } });
  /** @param {number} start @param {string} direction */
  const neighbor = async (start, direction) =>
    (await answer(`data/neighbor?session=s&row=0/steps&depth=0&start_ps=${start}&direction=${direction}`).json()).event;
  assert.deepEqual(await neighbor(20, 'next'), { start_ps: 30 });
  assert.deepEqual(await neighbor(20, 'previous'), { start_ps: 10 });
  assert.equal(await neighbor(30, 'next'), null);
  assert.equal(answer('data/neighbor?row=0/steps&depth=1&start_ps=1&direction=next').ok, false);
});
