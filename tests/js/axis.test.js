import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tickMarks } from '../../frontend/lib/axis.js';
import { UNITS } from '../../frontend/lib/format.js';

test('labels of ticks have as many decimals as they need', () => {
  class Text {
    children = [];
    style = { setProperty() {} };
    append(...nodes) { this.children.push(...nodes); }
  }
  globalThis.Node = /** @type {any} */ (Text);
  globalThis.document = /** @type {any} */ ({ createElement: () => new Text() });
  const labels = (/** @type {number} */ ps) =>
    tickMarks(ps, UNITS.ms).map((tick) => /** @type {any} */ (tick).children.join(''));
  assert.deepEqual(labels(300e6), ['0\u202fms', '0.05', '0.1', '0.15', '0.2', '0.25']);
  assert.deepEqual(labels(3e9), ['0\u202fms', '0.5', '1', '1.5', '2', '2.5']);
  assert.deepEqual(labels(72e9), ['0\u202fms', '20', '40', '60']);
});
