/** Tone, sign and text of slices by the kind of their row, and their texts for screen readers. */

import { CLASSES, LABELS } from '../lib/classes.js';
import { count, headline, instantText, plural, share, timeText } from '../lib/format.js';
import { sliceOf } from './columns.js';

/** @typedef {import('./columns.js').Columns} Columns */
/** @typedef {{tone: import('../lib/theme.js').Tone, sign: import('./draw.js').Sign}} Look */

/**
 * Ranks of phases spread over the six tones.
 * @param {string[]} phases in host order
 * @returns {Map<string, number>} name → 0..5
 */
export function phaseTones(phases) {
  const spread = Math.max(6, phases.length);
  return new Map(phases.map((name, rank) => [name, Math.floor((rank * 6) / spread)]));
}

/**
 * The tone of an annotation or scope: of the phase it is, or of the innermost phase on its path, or else none.
 * @param {string} name may be a path with slashes @param {Map<string, number>} tones
 */
export const phaseOf = (name, tones) =>
  [name, ...name.split('/').reverse()].map((part) => tones.get(part)).find((rank) => rank !== undefined);

/**
 * @param {import('../lib/theme.js').Palette} palette @param {Map<string, number>} tones
 * @param {import('./layout.js').Lane} lane @param {number} i @param {import('./columns.js').Slices} slices
 * @returns {Look}
 */
export function lookOf(palette, tones, { row: { id, kind }, depth }, i, { names, rows }) {
  const depths = rows.get(id) ?? [];
  const { name, classIndex, start } = depths[depth];
  if (kind === 'scopes' && !names[name[i]]) {
    return { tone: { fill: palette.surface, on: palette.ink2, edge: palette.hatch }, sign: 'light' };
  }
  if (kind === 'steps' || kind === 'annotations' || kind === 'scopes') {
    let rank;
    // An inner annotation has the tone of its phase; the outermost one is no phase.
    for (let at = depth; rank === undefined && at >= (kind === 'annotations' ? 1 : 0); at -= 1) {
      const around = depths[at] ? sliceOf(depths[at], start[i]) : -1;
      rank = around < 0 ? undefined : phaseOf(names[depths[at].name[around]] ?? '', tones);
    }
    return {
      tone:
        rank === undefined || kind === 'steps'
          ? { fill: palette.surface2, on: palette.ink, edge: palette.line2 }
          : palette.phases[rank],
      sign: null,
    };
  }
  if (kind === 'modules') return { tone: palette.dev, sign: null };
  if (kind === 'ops' || kind === 'async' || kind === 'stream') {
    return { tone: classIndex[i] === 1 ? palette.devColl : palette.dev2, sign: classIndex[i] === 2 ? 'hatch' : null };
  }
  const className = CLASSES[classIndex[i]] ?? 'other';
  return {
    tone: palette.classes[CLASSES.indexOf(className)],
    sign: className === 'wait' ? 'hatch' : className === 'unrecorded' ? 'dots' : null,
  };
}

/**
 * What may stand in a slice, the longest first: the last may be cut where it does not fit, as a name, but no number is.
 * @param {import('../lib/types').RowKind} kind
 * @param {Columns} columns
 * @param {number} i
 * @param {string[]} names
 */
export function textsOf(kind, { start, end, name: ids, classIndex }, i, names) {
  const name = names[ids[i]] ?? '';
  const length = end[i] - start[i];
  if (kind === 'steps') return [`${name} · ${timeText(length)}`, `${name} · ${headline(length)}`, name];
  if (kind === 'gaps') return [`${timeText(length)} gap`, timeText(length), headline(length), ''];
  return [kind === 'classes' ? LABELS[CLASSES[classIndex[i]]] ?? '' : kind === 'scopes' ? name || 'no scope' : name];
}

/** Whether the class index of a slice in this lane is one of the thirteen. @param {import('./layout.js').Lane} lane */
export const hasClass = ({ row: { kind } }) => kind === 'thread' || kind === 'classes' || kind === 'gaps';

const KIND_WORDS = {
  steps: 'step',
  annotations: 'annotation',
  modules: 'module',
  scopes: 'scope',
  async: 'asynchronous op',
  stream: 'stream',
};

/**
 * The label of a slice: its class on host lanes, otherwise the kind of its row.
 * @param {import('./scene.js').DrawnSlice} slice
 */
function kindLabel({ lane, classIndex }) {
  const label = LABELS[CLASSES[classIndex]] ?? '';
  if (hasClass(lane)) return lane.row.kind === 'gaps' ? `gap, mostly ${label}` : label;
  return lane.row.kind === 'ops'
    ? (['op', 'collective', 'stall'][classIndex] ?? 'op')
    : (KIND_WORDS[/** @type {'steps'} */ (lane.row.kind)] ?? '');
}

/** @param {import('./layout.js').Lane} lane */
export const laneId = ({ id }) => `lane-${id}`;

/** `python (driving), depth 2, 62.2 % busy, 11 520 events` @param {import('./layout.js').Lane} lane */
export function laneText({ row, rows, kind, depth, label, right = '' }) {
  return [
    kind === 'slices' ? row.label : label,
    depth ? `depth ${depth + 1}` : '',
    row.share == null || kind === 'more' ? '' : `${share(row.share)} busy`,
    plural(
      rows.reduce((sum, counted) => sum + counted.events, 0),
      'event',
    ),
    right.startsWith('shifted') ? right : '',
  ]
    .filter(Boolean)
    .join(', ');
}

/** `StepMarker`, `step marker`, `9.742 ms`, `at 739.896 ms`, `python` @param {import('./scene.js').DrawnSlice} slice */
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
