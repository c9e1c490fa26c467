/** Tone, texture and texts of slices by the kind of their row, and texts for screen readers. */

import { CLASSES, LABELS } from '../lib/classes.js';
import { total } from '../lib/totals.js';
import { count, headlineTime, instantText, plural, share, timeText } from '../lib/format.js';
import { COLLECTIVE, OP_CLASSES, STALL, sliceOf } from './columns.js';

/** @typedef {import('./columns.js').Columns} Columns */
/** @typedef {{tone: import('../lib/theme.js').Tone, texture: import('./draw.js').Texture}} Look */

/** Number of tones for phases, as in the palette. */
const PHASE_TONES = 6;

/**
 * The tones of phases: up to six phases have a tone each; of more, consecutive ones share a tone.
 * @param {string[]} phases in host order
 * @returns {Map<string, number>} from names to indices of tones
 */
export function phaseTones(phases) {
  const spread = Math.max(PHASE_TONES, phases.length);
  return new Map(phases.map((name, rank) => [name, Math.floor((rank * PHASE_TONES) / spread)]));
}

/**
 * The index of the tone of an annotation or scope: that of its phase or of the innermost phase on its path; undefined
 * without a phase.
 * @param {string} name may be a path with slashes; a phase's name may contain slashes, too
 * @param {Map<string, number>} tones
 */
export function phaseTone(name, tones) {
  const parts = name.split('/');
  for (let end = parts.length; end > 0; end -= 1) {
    for (let start = 0; start < end; start += 1) {
      const tone = tones.get(parts.slice(start, end).join('/'));
      if (tone !== undefined) return tone;
    }
  }
  return undefined;
}

/**
 * Tone and texture of a slice.
 * @param {import('../lib/theme.js').Palette} palette @param {Map<string, number>} tones of phases
 * @param {import('./layout.js').Lane} lane @param {number} i @param {import('./columns.js').Slices} slices
 * @returns {Look}
 */
export function lookOf(palette, tones, { row: { id, kind }, depth }, i, { names, rows }) {
  const depths = rows.get(id) ?? [];
  const { name, classIndex, start } = depths[depth];
  if (kind === 'scopes' && !names[name[i]]) {
    return { tone: { fill: palette.surface, on: palette.ink2, edge: palette.hatch }, texture: 'light' };
  }
  if (kind === 'steps' || kind === 'annotations' || kind === 'scopes') {
    let toneIndex;
    // An inner annotation has the tone of its phase; the outermost one is the step, not a phase.
    for (let at = depth; toneIndex === undefined && at >= (kind === 'annotations' ? 1 : 0); at -= 1) {
      const enclosing = depths[at] ? sliceOf(depths[at], start[i]) : -1;
      toneIndex = enclosing < 0 ? undefined : phaseTone(names[depths[at].name[enclosing]] ?? '', tones);
    }
    return {
      tone:
        toneIndex === undefined || kind === 'steps'
          ? { fill: palette.surface2, on: palette.ink, edge: palette.line2 }
          : palette.phases[toneIndex],
      texture: null,
    };
  }
  if (kind === 'modules') return { tone: palette.run, texture: null };
  if (kind === 'ops' || kind === 'async' || kind === 'stream') {
    return {
      tone: classIndex[i] === COLLECTIVE ? palette.collective : palette.op,
      texture: classIndex[i] === STALL ? 'hatch' : null,
    };
  }
  const className = CLASSES[classIndex[i]] ?? 'other';
  return {
    tone: palette.classes[CLASSES.indexOf(className)],
    texture: className === 'wait' ? 'hatch' : className === 'unrecorded' ? 'dots' : null,
  };
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
