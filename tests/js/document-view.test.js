import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDocumentView } from '../../frontend/frame/document-view.js';
import { fill } from '../../frontend/lib/dom.js';
import { idle } from '../../frontend/lib/activity.js';

/** A view of a document from a server that answers with the given status codes, one after another. */
function viewOf(...statusCodes) {
  const drawings = [];
  globalThis.document = { activeElement: null };
  globalThis.fetch = async () => new Response('{}', { status: statusCodes.shift() });
  const app = { setState() {}, live: { announceError() {} } };
  const element = { replaceChildren() {}, append() {}, hasChildNodes: () => true, contains: () => false };
  const draw = () => { drawings.push('document'); return 'ready'; };
  const view = createDocumentView(app, 'device', element, draw, () => ({}), () => []);
  return { view, drawings };
}

test('an action on the document does not run over an error; it requests the document again', async () => {
  const { view, drawings } = viewOf(200, 500, 200);
  const redraw = view.whenDrawn(() => drawings.push('redrawn'));
  view.open({ query: { session: 'a', hosts: null } });
  view.show(true);
  await idle();
  redraw();
  assert.deepEqual(drawings, ['document', 'redrawn']);
  view.reload();
  await idle();
  assert.equal(view.isDrawn(), false);
  redraw();
  await idle();
  assert.deepEqual(drawings, ['document', 'redrawn', 'document']);
});

/** A page without a browser: elements remember their children and how their text reads. */
class FakeNode {
  children = [];
  style = { setProperty() {} };
  setAttribute() {}
  addEventListener() {}
  contains() { return false; }
  parentNode = null;
  replaceChildren() {
    this.children.forEach((child) => { if (child instanceof FakeNode) child.parentNode = null; });
    this.children = [];
  }
  append(...nodes) {
    this.children.push(...nodes);
    nodes.forEach((node) => { if (node instanceof FakeNode) node.parentNode = this; });
  }
  get text() { return this.children.map((child) => child.text ?? child).join(' '); }
}

/**
 * A shown view whose requests stay open until they are answered: `answer('a')` answers the first one for the session.
 * @param {() => object} [moreArguments]
 */
function pendingView(t, moreArguments = () => ({})) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  /** @type {[string, (response: Response) => void][]} */
  const pending = [];
  globalThis.Node = /** @type {any} */ (FakeNode);
  globalThis.document = /** @type {any} */ ({ activeElement: null, createElement: () => new FakeNode() });
  globalThis.fetch = (url) => new Promise((resolve) => { pending.push([String(url).split('?')[1], resolve]); });
  const app = { setState() {}, open() {}, live: { announceError() {} } };
  const element = new FakeNode();
  const draw = (answer) => { fill(element, `drawing of ${answer.name}`); return 'ready'; };
  const view = createDocumentView(app, 'device', element, draw, moreArguments);
  const answer = async (query, body, status = 200) => {
    const at = pending.findIndex(([requested]) => requested === query);
    pending.splice(at, 1)[0][1](new Response(JSON.stringify(body), { status }));
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  };
  const open = (name, events) => view.open({ session: { name, hosts: [{ events }] }, query: { session: name } });
  view.show(true);
  return { view, element, answer, open, wait: () => t.mock.timers.tick(300), pending };
}

test('the analysis card replaces the card or the drawing of another session, also an error', async (t) => {
  const { element, answer, open, wait } = pendingView(t);
  open('a', 11);
  wait();
  assert.match(element.text, /Analysing 11.events/);
  open('b', 22);
  wait();
  assert.match(element.text, /Analysing 22.events/);
  await answer('session=b', { error: 'b.xplane.pb is cut' }, 500);
  assert.match(element.text, /b.xplane.pb is cut/);
  open('c', 33);
  wait();
  assert.match(element.text, /Analysing 33.events/);
  await answer('session=c', { name: 'c' });
  assert.equal(element.text, 'drawing of c');
  open('d', 44);
  assert.equal(element.text, 'drawing of c');
  wait();
  assert.match(element.text, /Analysing 44.events/);
});

test('the drawing stays while the same session is read again', async (t) => {
  const { view, element, answer, open, wait } = pendingView(t);
  open('a', 11);
  await answer('session=a', { name: 'a' });
  open('a', 12);
  wait();
  assert.equal(element.text, 'drawing of a');
  await answer('session=a', { error: 'a.xplane.pb is cut' }, 500);
  view.whenDrawn(() => {})();
  wait();
  assert.match(element.text, /Analysing 12.events/);
});

test('the bar of the analysis card goes on after the view was left and is back, and ends with the card', async (t) => {
  const { answer, open, wait } = pendingView(t);
  open('a', 11);
  wait();
  const redraw = t.mock.method(FakeNode.prototype, 'replaceChildren');
  wait();
  assert.equal(redraw.mock.callCount(), 1);
  await answer('session=a', { name: 'a' });
  redraw.mock.resetCalls();
  wait();
  assert.equal(redraw.mock.callCount(), 0);
});

test('an answer for arguments that have changed meanwhile is not drawn; the current ones are requested', async (t) => {
  let steps = 1;
  const { element, answer, open, pending } = pendingView(t, () => ({ steps }));
  open('a', 11);
  steps = 2;
  await answer('session=a&steps=1', { name: 'step 1' });
  assert.equal(element.text, '');
  assert.deepEqual(pending.map(([query]) => query), ['session=a&steps=2']);
  await answer('session=a&steps=2', { name: 'step 2' });
  assert.equal(element.text, 'drawing of step 2');
});
