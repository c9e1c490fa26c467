/** Converts the device document into rows, and filters and rounds them so that printed values add up. */

import { unitFor } from '../lib/format.js';
import { total } from '../lib/totals.js';
import { roundParts, roundShares } from '../lib/rounded-parts.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').RestRow} RestRow */
/** @typedef {import('./types').TreeRow} TreeRow */
/** @typedef {import('../lib/routes').BoundBy} BoundBy */

/** Suffix of a link's `an` for an annotation's own time, without nested ones; alone: no annotation. */
const OWN_TIME_SUFFIX = '/';

/** @type {Record<BoundBy, string>} */
export const BOUND_WORDS = {
  memory: 'memory',
  compute: 'compute',
  link: 'link',
  wait: 'wait',
  neither: 'neither',
  mixed: 'mixed',
  unknown: 'not known',
};

/**
 * The divisor of sums: chosen cores, times steps unless the whole session is shown.
 * @param {DeviceAnswer} document
 */
export const divisor = ({ core_steps }) => Math.max(1, core_steps);

/** Share of the attainable rate from which on ops count as efficient. */
const REACHED_SHARE = 0.8;

/** Whether the ops run near the roof. @param {DeviceAnswer} document */
export const isReached = ({ verdict }) => verdict !== null && verdict.roof_share >= REACHED_SHARE;

/** @param {DeviceAnswer} document @returns {OpRow[]} in the document's order */
export function opRows(document) {
  const { ops, programs, categories, paths, sources, rows } = document;
  const divideBy = divisor(document);
  /** @type {Map<string, number>} */
  const occurrences = new Map();
  return ops.op.map((op, at) => {
    const occurrence = (occurrences.get(op) ?? 0) + 1;
    occurrences.set(op, occurrence);
    const [flops, bytes, run] = [ops.flops[at], ops.hbm_bytes[at], ops.run[at]];
    return {
      id: occurrence > 1 ? `${op}~${occurrence}` : op,
      op,
      program: programs[ops.program[at]],
      category: categories[ops.category[at]],
      path: paths[ops.path[at]] ?? null,
      shape: ops.shape[at] ?? '',
      source: sources[ops.source[at]] ?? '',
      kind: ops.kind[at],
      executions: ops.executions[at] / divideBy,
      ps: ops.self_ps[at] / divideBy,
      flops,
      hbm_bytes: bytes,
      flops_share: ops.flops_share[at],
      bytes_share: ops.bytes_share[at],
      bound_by: ops.bound_by[at],
      intensity: flops === null || !bytes || ops.kind[at] !== 'work' ? null : flops / bytes,
      flops_per_s:
        flops === null || !ops.self_ps[at] || ops.kind[at] !== 'work' ? null : flops / (ops.self_ps[at] * 1e-12),
      run: run && { row: rows[run[0]], start_ps: run[1], depth: run[2], duration_ps: run[3] },
    };
  });
}

/** @param {DeviceAnswer} document @returns {RestRow[]} */
export const restRows = (document) =>
  document.rest.map(({ path, bound_by, op_count, executions, self_ps }) => ({
    path: document.paths[path] ?? null,
    bound_by,
    op_count,
    executions: executions / divisor(document),
    ps: self_ps / divisor(document),
  }));

/**
 * The tree's rows, each before its nested ones. An annotation's own time, if any, is a row after its nested
 * annotations.
 * @param {DeviceAnswer} document
 * @returns {TreeRow[]}
 */
export function treeRows(document) {
  const { tree, paths } = document;
  const divideBy = divisor(document);
  /** @type {Map<string, number[]>} */
  const inside = new Map();
  const annotated = new Set(tree.path.map((at) => paths[at]));
  tree.path.forEach((pathIndex, at) => {
    if (pathIndex < 0) return;
    const around = paths[pathIndex].slice(0, Math.max(0, paths[pathIndex].lastIndexOf('/')));
    const parent = annotated.has(around) ? around : '';
    inside.set(parent, [...inside.get(parent) ?? [], at]);
  });
  /** @param {number} at @param {number} depth @param {boolean} ownTime @returns {TreeRow} */
  function row(at, depth, ownTime) {
    const path = paths[tree.path[at]] ?? null;
    const [first, last] = [tree.first_ps[at], tree.last_ps[at]];
    const key = path === null ? OWN_TIME_SUFFIX : ownTime ? path + OWN_TIME_SUFFIX : path;
    const name = path === null ? 'no annotation' : ownTime ? 'in none of these' : path.slice(path.lastIndexOf('/') + 1);
    return {
      key,
      name,
      path,
      depth,
      own: ownTime || path === null,
      parent: !ownTime && path !== null && inside.has(path),
      ps: (ownTime ? tree.own_ps : tree.self_ps)[at] / divideBy,
      flops_share: (ownTime ? tree.own_flops_share : tree.flops_share)[at],
      bytes_share: (ownTime ? tree.own_bytes_share : tree.bytes_share)[at],
      bound_by: (ownTime ? tree.own_bound_by : tree.bound_by)[at],
      place: ownTime || first === null || last === null ? null : [first, last],
    };
  }
  /** @param {string} around @param {number} depth @returns {TreeRow[]} */
  function below(around, depth) {
    return (inside.get(around) ?? []).flatMap((at) => {
      const path = paths[tree.path[at]];
      const hasNested = inside.has(path);
      return [
        row(at, depth, false),
        ...below(path, depth + 1),
        ...(hasNested && tree.own_ps[at] ? [row(at, depth + 1, true)] : []),
      ];
    });
  }
  const bareIndex = tree.path.indexOf(-1);
  return [...below('', 0), ...(bareIndex < 0 ? [] : [row(bareIndex, 0, false)])];
}

/**
 * Whether a path belongs to the annotation that a link's `an` names.
 * @param {string|null} path
 * @param {string|undefined} an
 */
export function isOf(path, an) {
  if (!an) return true;
  if (an === OWN_TIME_SUFFIX) return path === null;
  if (an.endsWith(OWN_TIME_SUFFIX)) return path === an.slice(0, -1);
  return path !== null && (path === an || path.startsWith(`${an}/`));
}

/**
 * Printed times and shares: those of leaves are rounded to add up, other rows are sums of their leaves.
 * @param {TreeRow[]} rows
 * @returns {Map<TreeRow, {text: number, share: number}>} times in thousandths of the unit
 */
export function treeTexts(rows) {
  const leaves = rows.filter(({ parent }) => !parent);
  const { times, shares } = rounded(leaves.map(({ ps }) => ps));
  return new Map(rows.map((row) => {
    const leafIndices = leaves.flatMap((leaf, at) =>
      leaf === row || (row.parent && isOf(leaf.path, row.path ?? '')) ? [at] : [],
    );
    return [
      row,
      {
        text: total(leafIndices, (/** @type {number} */ at) => times[at]),
        share: Math.round(total(leafIndices, (/** @type {number} */ at) => shares[at]) * 1000) / 1000,
      },
    ];
  }));
}

/** Parts in thousandths of their sum's unit, and their shares; both add up. @param {number[]} parts */
export function rounded(parts) {
  const unit = unitFor(total(parts, Number));
  return { unit, times: roundParts(parts, unit.ps / 1000), shares: roundShares(parts) };
}

/** @typedef {{an?: string, bound?: string, text?: string}} Filter */

/**
 * Whether any op has rates: shares of the peaks, or FLOP per byte. Zero FLOPs, as of copies, do not count.
 * @param {OpRow[]} rows
 */
export const hasRates = (rows) =>
  rows.some(({ flops_share, bytes_share, intensity }) => flops_share || bytes_share || intensity);

/** @param {OpRow} row @param {Filter} filter */
export function passes(row, { an, bound, text = '' }) {
  const words = text.toLowerCase();
  return (
    isOf(row.path, an) &&
    (!bound || row.bound_by === bound) &&
    (!words || [row.op, row.category, row.source].some((field) => field.toLowerCase().includes(words)))
  );
}

/**
 * Tones of annotations: of the six with most own time, in the order of the tree.
 * @param {TreeRow[]} rows
 * @returns {Map<string, number>} path → 0…5
 */
export function tonesOf(rows) {
  const leaves = rows.filter(({ parent, path, ps }) => !parent && path !== null && ps > 0);
  const toned = new Set([...leaves].sort((a, b) => b.ps - a.ps).slice(0, 6));
  const shown = leaves.filter((row) => toned.has(row));
  const last = Math.max(1, shown.length - 1);
  return new Map(shown.map(({ path }, at) => [String(path), shown.length > 1 ? Math.round((at * 5) / last) : 3]));
}

/** Rounds to four digits, the precision of published peaks. @param {number} value */
export const trimmed = (value) => Number(value.toPrecision(4));

/**
 * Parses a link's peaks, `918e12,1638e9`; null if malformed.
 * @param {string|undefined} text
 * @returns {[number, number]|null}
 */
export function peaksOfLink(text) {
  const [flops, bytes, ...more] = (text ?? '').split(',').map(Number);
  return flops > 0 && bytes > 0 && !more.length && Number.isFinite(flops + bytes) ? [flops, bytes] : null;
}

/** CSV rows of ops. @param {OpRow[]} rows */
export const csvRows = (rows) =>
  rows.map(
    ({
      op,
      program,
      category,
      path,
      shape,
      source,
      executions,
      ps,
      flops,
      hbm_bytes,
      flops_share,
      bytes_share,
      intensity,
      bound_by,
    }) => ({
      op,
      program,
      category,
      annotation: path,
      shape,
      source,
      executions,
      self_ps: Math.round(ps),
      flops,
      hbm_bytes,
      flops_share,
      bytes_share,
      flop_per_byte: intensity,
      bound_by: BOUND_WORDS[bound_by],
    }),
  );
export const CSV_HEADS = [
  'op',
  'program',
  'category',
  'annotation',
  'shape',
  'source',
  'executions',
  'self_ps',
  'flops',
  'hbm_bytes',
  'flops_share',
  'bytes_share',
  'flop_per_byte',
  'bound_by',
];
