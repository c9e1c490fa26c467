/** Rows of ops and annotations from the device document: filtered, and rounded so that printed values add up. */

import { annotationTones } from '../lib/annotation-tones.js';
import { unitFor } from '../lib/format.js';
import { outerPath, ownName } from '../lib/path-names.js';
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
 * The divisor of sums: the number of cores, times that of steps unless the whole session is shown.
 * @param {DeviceAnswer} document
 */
export const divisor = ({ core_steps }) => Math.max(1, core_steps);

/** Number of annotations with a tone. */
const MAX_TONED = 8;

/** @param {DeviceAnswer} document @returns {OpRow[]} in the document's order */
export function opRows(document) {
  const { ops, programs, categories, paths, sources, rows } = document;
  const divideBy = divisor(document);
  /** @type {Map<string, number>} */
  const occurrences = new Map();
  return ops.op.map((op, index) => {
    const occurrence = (occurrences.get(op) ?? 0) + 1;
    occurrences.set(op, occurrence);
    const [flops, bytes, run] = [ops.flops[index], ops.hbm_bytes[index], ops.run[index]];
    return {
      id: occurrence > 1 ? `${op}~${occurrence}` : op,
      op,
      program: programs[ops.program[index]],
      category: categories[ops.category[index]],
      path: paths[ops.path[index]] ?? null,
      shape: ops.shape[index] ?? '',
      source: sources[ops.source[index]] ?? '',
      kind: ops.kind[index],
      executions: ops.executions[index] / divideBy,
      ps: ops.self_ps[index] / divideBy,
      flops: flops === null ? null : flops / divideBy,
      hbm_bytes: bytes === null ? null : bytes / divideBy,
      flops_share: ops.flops_share[index],
      bytes_share: ops.bytes_share[index],
      bound_by: ops.bound_by[index],
      intensity: flops === null || !bytes || ops.kind[index] !== 'work' ? null : flops / bytes,
      flops_per_s:
        flops === null || !ops.self_ps[index] || ops.kind[index] !== 'work'
          ? null
          : flops / (ops.self_ps[index] * 1e-12),
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

/** The paths of the tree's annotations. @param {DeviceAnswer} document */
export const annotationPaths = ({ tree, paths }) => new Set(tree.path.map((index) => paths[index]));

/**
 * The tree's rows, each before its nested ones. An annotation's own time, if any, is a row after its nested
 * annotations.
 * @param {DeviceAnswer} document
 * @returns {TreeRow[]}
 */
export function treeRows(document) {
  const { tree, paths } = document;
  const divideBy = divisor(document);
  /** Indices of the annotations directly inside each path. @type {Map<string, number[]>} */
  const nestedIn = new Map();
  const annotations = annotationPaths(document);
  tree.path.forEach((pathIndex, index) => {
    if (pathIndex < 0) return;
    const outer = outerPath(paths[pathIndex], annotations);
    nestedIn.set(outer, [...nestedIn.get(outer) ?? [], index]);
  });
  /** @param {number} index in the document @param {number} depth @param {boolean} ownTime @returns {TreeRow} */
  function row(index, depth, ownTime) {
    const path = paths[tree.path[index]] ?? null;
    const [first, last] = [tree.first_ps[index], tree.last_ps[index]];
    const key = path === null ? OWN_TIME_SUFFIX : ownTime ? path + OWN_TIME_SUFFIX : path;
    const name = path === null ? 'no annotation' : ownTime ? 'in none of these' : ownName(path, annotations);
    return {
      key,
      name,
      path,
      depth,
      isOwnTime: ownTime || path === null,
      hasNested: !ownTime && path !== null && nestedIn.has(path),
      ps: (ownTime ? tree.own_ps : tree.self_ps)[index] / divideBy,
      flops_share: (ownTime ? tree.own_flops_share : tree.flops_share)[index],
      bytes_share: (ownTime ? tree.own_bytes_share : tree.bytes_share)[index],
      bound_by: (ownTime ? tree.own_bound_by : tree.bound_by)[index],
      interval: ownTime || first === null || last === null ? null : [first, last],
    };
  }
  /** @param {string} outer @param {number} depth @returns {TreeRow[]} */
  function nestedRows(outer, depth) {
    return (nestedIn.get(outer) ?? []).flatMap((index) => {
      const path = paths[tree.path[index]];
      return [
        row(index, depth, false),
        ...nestedRows(path, depth + 1),
        ...(nestedIn.has(path) && tree.own_ps[index] ? [row(index, depth + 1, true)] : []),
      ];
    });
  }
  const unannotated = tree.path.indexOf(-1);
  return [...nestedRows('', 0), ...(unannotated < 0 ? [] : [row(unannotated, 0, false)])];
}

/**
 * Whether a path belongs to a row of the tree: to an annotation, nested ones included, or to its own time.
 * @param {string|null} path
 * @param {string|undefined} key of the row, a link's `an`; without one, every path belongs
 */
export function isInRow(path, key) {
  if (!key) return true;
  if (key === OWN_TIME_SUFFIX) return path === null;
  if (key.endsWith(OWN_TIME_SUFFIX)) return path === key.slice(0, -1);
  return path !== null && (path === key || path.startsWith(`${key}/`));
}

/**
 * Printed times and shares: those of leaves are rounded to add up, other rows are sums of their leaves.
 * @param {TreeRow[]} rows
 * @returns {Map<TreeRow, {thousandths: number, share: number}>} times in thousandths of the unit that fits their sum
 */
export function roundTree(rows) {
  const leaves = rows.filter(({ hasNested }) => !hasNested);
  const { times, shares } = roundTimesAndShares(leaves.map(({ ps }) => ps));
  return new Map(rows.map((row) => {
    const leafIndices = leaves.flatMap((leaf, index) =>
      leaf === row || (row.hasNested && isInRow(leaf.path, row.path ?? '')) ? [index] : [],
    );
    return [
      row,
      {
        thousandths: total(leafIndices, (/** @type {number} */ index) => times[index]),
        share: Math.round(total(leafIndices, (/** @type {number} */ index) => shares[index]) * 1000) / 1000,
      },
    ];
  }));
}

/**
 * The unit that fits the sum of times, the times in thousandths of it, and their shares. Times and shares add up.
 * @param {number[]} times ps
 */
export function roundTimesAndShares(times) {
  const unit = unitFor(total(times, Number));
  return { unit, times: roundParts(times, unit.ps / 1000), shares: roundShares(times) };
}

/**
 * Filters of ops: the key of a row of the tree, the bound, a text to search.
 * @typedef {{an?: string, bound?: string, text?: string}} Filter
 */

/**
 * Whether any op has rates: shares of the peaks, or FLOP per byte. Zero FLOPs, as of copies, do not count.
 * @param {OpRow[]} rows
 */
export const hasRates = (rows) =>
  rows.some(({ flops_share, bytes_share, intensity }) => flops_share || bytes_share || intensity);

/** Whether an op passes the filters. @param {OpRow} row @param {Filter} filter */
export function passes(row, { an, bound, text = '' }) {
  const needle = text.toLowerCase();
  return (
    isInRow(row.path, an) &&
    (!bound || row.bound_by === bound) &&
    (!needle || [row.op, row.category, row.source].some((field) => field.toLowerCase().includes(needle)))
  );
}

/**
 * The tones of the annotations with most own time, by path.
 * @param {TreeRow[]} rows
 * @param {Record<string, string[]>} annotations of the session
 * @returns {Map<string, number>}
 */
export function tonesOf(rows, annotations) {
  const leaves = rows.filter(({ hasNested, path, ps }) => !hasNested && path !== null && ps > 0);
  const largest = new Set([...leaves].sort((a, b) => b.ps - a.ps).slice(0, MAX_TONED));
  const nameOf = (/** @type {TreeRow} */ { path }) => String(path).split('/').at(-1) ?? '';
  const tones = annotationTones({ ...annotations, 'on the device': [...largest].map(nameOf) });
  return new Map(leaves.flatMap((row) => (largest.has(row) ? [[String(row.path), tones.get(nameOf(row)) ?? 0]] : [])));
}

/** Rounds to four digits, the precision of published peaks. @param {number} value */
export const roundPeak = (value) => Number(value.toPrecision(4));

/**
 * Parses a link's peaks, `918e12,1638e9`; null if malformed or outside the range that the route accepts.
 * @param {string|undefined} text
 * @returns {[number, number]|null}
 */
export function peaksOfLink(text) {
  const [flops, bytes, ...surplus] = (text ?? '').split(',').map(Number);
  const isPeak = (/** @type {number} */ value) => value >= 1e6 && value <= 1e24;
  return isPeak(flops) && isPeak(bytes) && !surplus.length ? [flops, bytes] : null;
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
