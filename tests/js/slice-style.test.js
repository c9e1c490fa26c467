import assert from 'node:assert/strict';
import { test } from 'node:test';
import { laneText, sliceTexts, annotationOf } from '../../frontend/timeline/slice-style.js';

test('a scope belongs to the innermost annotation with a tone on its path', () => {
  const tones = new Map([['forward', 0], ['backward', 1]]);
  assert.equal(annotationOf('Training_Step/forward/dot.1', tones), 'forward');
  assert.equal(annotationOf('encoder', tones), undefined);
  const tonesOfPaths = new Map([['forward', 0], ['train/forward', 1], ['loss', 2]]);
  assert.equal(annotationOf('Training_Step/train/forward/dot.1', tonesOfPaths), 'train/forward');
  assert.equal(annotationOf('train/forward/loss/exp', tonesOfPaths), 'loss');
});

test('a slice is described by name, class, duration, start and row, without repetition', () => {
  const lane = { row: { kind: 'thread', label: 'python' } };
  const slice = {
    lane,
    name: 'StepMarker',
    classIndex: 1,
    count: 1,
    busy_ps: 0,
    real_ps: 739_896_000_000,
    length_ps: 9_742_000_000,
  };
  const text = (drawnSlice) => sliceTexts(drawnSlice).join(', ').replaceAll('\u202f', ' ');
  assert.equal(text(slice), 'StepMarker, step marker, 9.742 ms, at 739.896 ms, python');
  assert.equal(text({ ...slice, name: 'step marker' }), 'step marker, 9.742 ms, at 739.896 ms, python');
  assert.equal(
    text({ ...slice, count: 531, busy_ps: 4_118_000_000 }),
    '531 events, 42.3 % covered, 4.118 ms busy of 9.742 ms, most: StepMarker, at 739.896 ms, python',
  );
});

test('a lane is busy for the share of its own row, and of several devices or a host for none', () => {
  const [first, second] = ['TPU:0', 'TPU:1'].map((device) => ({ label: 'modules', device, share: 0.5, events: 3 }));
  const text = (lane) => laneText({ row: first, depth: 0, ...lane }).replace(/\s/g, ' ');
  assert.equal(text({ kind: 'slices', rows: [first] }), 'modules, 50.0 % busy, 3 events');
  assert.equal(text({ kind: 'device', rows: [first], label: 'TPU:0' }), 'TPU:0, 50.0 % busy, 3 events');
  assert.equal(text({ kind: 'device', rows: [first, second], label: '2 devices' }), '2 devices, 6 events');
  assert.equal(text({ kind: 'head', rows: [], label: 'w-3' }), 'w-3');
});
