import assert from 'node:assert/strict';
import { test } from 'node:test';
import { penOn } from '../../frontend/timeline/draw.js';

test('the width of a text is that of its escapes, which are drawn', () => {
  globalThis.devicePixelRatio = 1;
  const context = { setTransform() {}, measureText: (/** @type {string} */ text) => ({ width: 6 * text.length }) };
  const canvas = /** @type {any} */ ({ style: {}, getContext: () => context });
  const pen = penOn(canvas, 100, 20, /** @type {any} */ ({ fontScale: 1, font: 'sans-serif' }));
  assert.equal(pen.textWidth('a\u202eb'), 6 * 'a\\u202eb'.length);
  assert.equal(pen.fitText('\u202e\u202e\u202e', 30), '');
  assert.equal(pen.fitText('forward', 30), 'forw…');
});
