import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDocumentView } from '../../frontend/frame/document-view.js';
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
