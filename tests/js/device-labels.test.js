import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineEnd, placeLabels } from '../../frontend/device/labels.js';
import { BOTTOM, LEFT, RIGHT, TOP } from '../../frontend/device/layout.js';
import { opRows } from '../../frontend/device/rows.js';
import { answerWith } from './device-answer.js';

const rows = opRows(/** @type {any} */ (answerWith()));

test('labels are beside their dots and overlap neither dots nor each other', () => {
  const dots = Array.from({ length: 7 }, (_, at) => ({ row: rows[0], x: 150 + at * 9, y: 150, r: 12 - at }));
  const labels = placeLabels(dots, dots, () => 80, 600, 320, []);
  assert.equal(labels.length, 7);
  const touch = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  labels.forEach(({ box }, at) => {
    labels.slice(0, at).forEach((label) => assert.ok(!touch(box, label.box)));
    dots.forEach((dot) =>
      assert.ok(
        Math.hypot(
          Math.max(box.x - dot.x, 0, dot.x - box.x - box.w),
          Math.max(box.y - dot.y, 0, dot.y - box.y - box.h),
        ) >= dot.r,
      ),
    );
    assert.ok(box.x >= LEFT && box.y >= TOP && box.x + box.w <= 600 - RIGHT && box.y + box.h <= 320 - BOTTOM);
  });
  assert.ok(labels.some(({ hasLine }) => hasLine));
  const [alone] = placeLabels(dots.slice(0, 1), dots.slice(0, 1), () => 80, 600, 320, []);
  assert.ok(!alone.hasLine);
});

test('the line to a label crosses no other label', () => {
  // Without the cost of crossings, the line to the label of the smallest dot crosses the label of the second one.
  const dots = [
    { row: rows[0], x: 380, y: 125, r: 22 },
    { row: rows[1], x: 390, y: 145, r: 10 },
    { row: rows[2], x: 390, y: 130, r: 8 },
  ];
  const labels = placeLabels(dots, dots, () => 80, 600, 320, []);
  assert.equal(labels.length, 3);
  assert.ok(labels.some(({ hasLine }) => hasLine));
  labels.forEach(({ dot, box, hasLine }, at) => {
    const [ex, ey] = lineEnd(dot, box);
    const points = hasLine
      ? Array.from({ length: 101 }, (_, part) => [
          dot.x + ((ex - dot.x) * part) / 101,
          dot.y + ((ey - dot.y) * part) / 101,
        ])
      : [];
    labels
      .filter((_, index) => index !== at)
      .forEach((label) =>
        assert.ok(
          !points.some(
            ([x, y]) =>
              x > label.box.x && x < label.box.x + label.box.w && y > label.box.y && y < label.box.y + label.box.h,
          ),
        ),
      );
  });
});
