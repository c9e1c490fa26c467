/** Which tone, sign and text a slice has, by the kind of its row. */

import { CLASSES, LABELS } from '../lib/classes.js';
import { timeText } from '../lib/format.js';
import { firstAfter } from './columns.js';

/** @typedef {import('../lib/theme.js').Palette} Palette */
/** @typedef {import('./slices.js').Sign} Sign */
/** @typedef {{tone: import('../lib/theme.js').Tone, sign: Sign}} Look */

/** Ranks of phases spread over the six tones. @param {string[]} phases in host order @returns {Map<string, number>} name → 0..5 */
export function phaseTones(phases) {
  const many = phases.length > 6;
  return new Map(phases.map((name, rank) => [name, many ? Math.floor((rank * 6) / phases.length) : rank]));
}

/**
 * The tone of an annotation or scope: of the phase it is, or of the innermost phase on its path, or else none.
 * @param {string} name may be a path with slashes @param {Map<string, number>} tones
 */
export function phaseOf(name, tones) {
  const own = tones.get(name);
  if (own !== undefined) return own;
  for (const part of name.split('/').reverse()) {
    const rank = tones.get(part);
    if (rank !== undefined) return rank;
  }
  return undefined;
}

/**
 * @param {Palette} palette @param {Map<string, number>} tones
 * @param {import('../lib/types').RowKind} kind @param {number} depth
 * @param {import('./columns.js').Columns} columns @param {number} i @param {string[]} names
 * @param {import('./columns.js').Columns[]} [depths] of the whole row, to find the phase around an inner annotation
 * @returns {Look}
 */
export function lookOf(palette, tones, kind, depth, columns, i, names, depths) {
  const plain = { fill: palette.surface2, on: palette.ink, edge: palette.line2 };
  const name = names[columns.name[i]] ?? '';
  switch (kind) {
    case 'steps': return { tone: plain, sign: null };
    case 'annotations': {
      if (depth === 0) return { tone: plain, sign: null };
      const rank = phaseOf(name, tones) ?? phaseAround(tones, columns.start[i], names, depths, depth);
      return { tone: rank === undefined ? plain : palette.phases[rank], sign: null };
    }
    case 'scopes': {
      if (!name) return { tone: { fill: palette.surface, on: palette.ink2, edge: palette.hatch }, sign: 'light' };
      const rank = phaseOf(name, tones);
      return { tone: rank === undefined ? plain : palette.phases[rank], sign: null };
    }
    case 'modules': return { tone: palette.dev, sign: null };
    case 'ops': case 'async': case 'stream':
      if (columns.kind[i] === 2) return { tone: palette.dev2, sign: 'hatch' };
      return { tone: columns.kind[i] === 1 ? palette.devColl : palette.dev2, sign: null };
    default: {
      const at = columns.kind[i];
      const own = CLASSES[at] ? at : CLASSES.indexOf('other');
      return { tone: palette.classes[own], sign: CLASSES[own] === 'wait' ? 'hatch' : CLASSES[own] === 'unrecorded' ? 'dots' : null };
    }
  }
}

/** @param {Map<string, number>} tones @param {number} start @param {string[]} names @param {import('./columns.js').Columns[]|undefined} depths @param {number} depth */
function phaseAround(tones, start, names, depths, depth) {
  for (let outer = depth - 1; depths && outer > 0; outer -= 1) {
    const columns = depths[outer];
    const i = columns ? firstAfter(columns, start) : 0;
    if (!columns || i >= columns.length || columns.start[i] > start) continue;
    const rank = phaseOf(names[columns.name[i]] ?? '', tones);
    if (rank !== undefined) return rank;
  }
  return undefined;
}

/** What stands in a slice. @param {import('../lib/types').RowKind} kind @param {import('./columns.js').Columns} columns @param {number} i @param {string[]} names */
export function textOf(kind, columns, i, names) {
  const name = names[columns.name[i]] ?? '';
  if (kind === 'steps') return `${name} · ${timeText(columns.end[i] - columns.start[i])}`;
  if (kind === 'classes') return LABELS[CLASSES[columns.kind[i]]] ?? '';
  if (kind === 'gaps') return `${timeText(columns.end[i] - columns.start[i])} gap`;
  if (kind === 'scopes') return name || 'no scope';
  return name;
}
