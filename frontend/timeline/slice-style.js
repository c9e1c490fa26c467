/** Tone, texture and texts of slices by the kind of their row, and texts for screen readers. */

import { CLASSES, LABELS } from '../lib/classes.js';
import { total } from '../lib/totals.js';
import { count, headlineTime, instantText, plural, share, timeText } from '../lib/format.js';
import { COLLECTIVE, OP_CLASSES, STALL, sliceOf } from './columns.js';

/** @typedef {import('./columns.js').Columns} Columns */
/** @typedef {{tone: import('../lib/theme.js').Tone, texture: import('./draw.js').Texture, key: string}} Look */

/**
 * The annotation to which an annotation or scope belongs: the innermost one with a tone on its path, which may be
 * itself; undefined without one.
 * @param {string} name may be a path with slashes; an annotation's name may contain slashes, too
 * @param {Map<string, number>} tones
 */
export function annotationOf(name, tones) {
  const parts = name.split('/');
  for (let end = parts.length; end > 0; end -= 1) {
    for (let start = 0; start < end; start += 1) {
      const annotation = parts.slice(start, end).join('/');
      if (tones.has(annotation)) return annotation;
    }
  }
  return undefined;
}

/**
 * The key of a slice in the legend: its class, or its annotation after a slash; empty without one.
 * @param {Map<string, number>} tones of annotations
 * @param {import('./layout.js').Lane} lane @param {number} i @param {import('./columns.js').Slices} slices
 */
export function keyOf(tones, lane, i, { names, rows }) {
  const { row: { id, kind }, depth } = lane;
  const depths = rows.get(id) ?? [];
  if (hasClass(lane)) return CLASSES[depths[depth].classIndex[i]] ?? 'other';
  if (kind !== 'annotations' && kind !== 'scopes') return '';
  // An annotation without a tone has the key of the one around it; the outermost one is the step.
  for (let at = depth; at >= (kind === 'annotations' ? 1 : 0); at -= 1) {
    const enclosing = depths[at] ? sliceOf(depths[at], depths[depth].start[i]) : -1;
    const name = enclosing < 0 ? '' : (names[depths[at].name[enclosing]] ?? '');
    const annotation = annotationOf(name, tones);
    if (annotation !== undefined) return `/${annotation}`;
  }
  return '';
}

/**
 * Tone and texture of a slice, and its key in the legend.
 * @param {import('../lib/theme.js').Palette} palette @param {Map<string, number>} tones of annotations
 * @param {import('./layout.js').Lane} lane @param {number} i @param {import('./columns.js').Slices} slices
 * @returns {Look}
 */
export function lookOf(palette, tones, lane, i, slices) {
  const { row: { id, kind }, depth } = lane;
  const { name, classIndex } = (slices.rows.get(id) ?? [])[depth];
  const key = keyOf(tones, lane, i, slices);
  /** @param {Look['tone']} tone @param {Look['texture']} [texture] */
  const look = (tone, texture = null) => ({ tone, texture, key });
  if (kind === 'scopes' && !slices.names[name[i]]) {
    return look({ fill: palette.surface, on: palette.ink2, edge: palette.hatch }, 'light');
  }
  if (kind === 'steps' || kind === 'annotations' || kind === 'scopes') {
    const outlined = { fill: palette.surface2, on: palette.ink, edge: palette.line2 };
    return look(key ? palette.annotations[tones.get(key.slice(1)) ?? 0] : outlined);
  }
  if (kind === 'modules') return look(palette.run);
  if (kind === 'ops' || kind === 'async' || kind === 'stream' || kind === 'sparse_core') {
    const tone = classIndex[i] === COLLECTIVE ? palette.collective : palette.op;
    return look(tone, classIndex[i] === STALL ? 'hatch' : null);
  }
  const tone = palette.classes[CLASSES.indexOf(/** @type {import('../lib/routes').ClassName} */ (key))];
  return look(tone, key === 'wait' ? 'hatch' : key === 'unrecorded' ? 'dots' : null);
}

/**
 * Candidates for the text in a slice, the longest first. If none fits, the last one is cut: a name, never a number.
 * @param {import('../lib/types').RowKind} kind
 * @param {Columns} columns
 * @param {number} i
 * @param {string[]} names
 */
export function textsOf(kind, { start, end, name: ids, classIndex }, i, names) {
  const name = names[ids[i]] ?? '';
  const length = end[i] - start[i];
  if (kind === 'steps') return [`${name} · ${timeText(length)}`, `${name} · ${headlineTime(length)}`, name];
  if (kind === 'gaps') return [`${timeText(length)} gap`, timeText(length), headlineTime(length), ''];
  return [kind === 'classes' ? LABELS[CLASSES[classIndex[i]]] ?? '' : kind === 'scopes' ? name || 'no scope' : name];
}

/** Whether the class index of a slice in this lane is a class of the host. @param {import('./layout.js').Lane} lane */
export const hasClass = ({ row: { kind } }) => kind === 'thread' || kind === 'classes' || kind === 'gaps';

const KIND_WORDS = {
  steps: 'step',
  annotations: 'annotation',
  modules: 'module',
  scopes: 'scope',
  async: 'asynchronous op',
  stream: 'stream',
  sparse_core: 'SparseCore work',
};

/**
 * The label of a slice: its class in rows of threads, classes, gaps and ops, otherwise the kind of its row.
 * @param {import('./scene.js').DrawnSlice} slice
 */
function kindLabel({ lane, classIndex }) {
  const label = LABELS[CLASSES[classIndex]] ?? '';
  if (hasClass(lane)) return lane.row.kind === 'gaps' ? `gap, mostly ${label}` : label;
  return lane.row.kind === 'ops'
    ? (OP_CLASSES[classIndex] ?? 'op')
    : (KIND_WORDS[/** @type {'steps'} */ (lane.row.kind)] ?? '');
}

/** The id of a lane's element. @param {import('./layout.js').Lane} lane */
export const laneId = ({ id }) => `lane-${id}`;

/**
 * A lane for screen readers: `python (driving), depth 2, 62.2 % busy, 11 520 events`. Rows folded into
 * one lane have no share unless they are of one device; the head of a host has neither share nor events.
 * @param {import('./layout.js').Lane} lane
 */
export function laneText({ row, rows, kind, depth, label, right = '' }) {
  const [first] = rows;
  const isOneDevice = rows.every(({ device }) => device === first.device);
  return [
    kind === 'slices' ? row.label : label,
    depth ? `depth ${depth + 1}` : '',
    first?.share == null || kind === 'more' || !isOneDevice ? '' : `${share(first.share)} busy`,
    first ? plural(total(rows, 'events'), 'event') : '',
    right.startsWith('shifted') ? right : '',
  ]
    .filter(Boolean)
    .join(', ');
}

/**
 * The texts of a slice: `StepMarker`, `step marker`, `9.742 ms`, `at 739.896 ms`, `python`.
 * @param {import('./scene.js').DrawnSlice} slice
 */
export function sliceTexts(slice) {
  const { name, lane, length_ps, real_ps, busy_ps } = slice;
  const [kindText, length] = [kindLabel(slice), timeText(length_ps)];
  return [
    ...(slice.count > 1
      ? [
          `${count(slice.count)} events`,
          `${share(length_ps && busy_ps / length_ps)} covered`,
          `${timeText(busy_ps)} busy of ${length}`,
          `most: ${name}`,
        ]
      : [...new Set([name || kindText, kindText]), length]),
    `at ${instantText(real_ps)}`,
    lane.row.label,
  ];
}
