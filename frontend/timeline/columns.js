/** Slices as columns: what the server sends, decoded once and searched by time. */

/** @typedef {import('../lib/types').WireTimeline} WireTimeline */
/**
 * The slices of one depth of a row, by start; they do not overlap.
 * @typedef {object} Columns
 * @property {number} length
 * @property {Float64Array} start @property {Float64Array} end in ps
 * @property {Int32Array} name index into the names, -1: none
 * @property {Int8Array} kind class index, or what the row's kind makes of it
 * @property {Int32Array} count events inside: more than 1 when merged
 * @property {Float64Array} busy ps of events inside a merged slice
 * @property {Float64Array} event id, -1: none
 */
/** @typedef {{start_ps: number, end_ps: number, names: string[], rows: Map<string, Columns[]>}} Slices */

/** @param {import('../lib/types').WireSlices} wire @param {number} origin @returns {Columns} */
function decodeDepth(wire, origin) {
  const length = wire.s.length;
  const start = new Float64Array(length);
  const end = new Float64Array(length);
  const event = new Float64Array(length).fill(-1);
  let at = origin;
  let id = 0;
  for (let i = 0; i < length; i += 1) {
    at += wire.s[i];
    id += wire.e?.[i] ?? -1;
    start[i] = at;
    end[i] = at + wire.d[i];
    event[i] = id;
  }
  return {
    length, start, end, event,
    name: Int32Array.from(wire.n), kind: Int8Array.from(wire.c),
    count: wire.k ? Int32Array.from(wire.k) : new Int32Array(length).fill(1),
    busy: wire.b ? Float64Array.from(wire.b) : new Float64Array(length),
  };
}

/** @param {WireTimeline} wire @param {Set<string>} [eventless] rows whose slices are no events @returns {Slices} */
export function decode(wire, eventless = new Set()) {
  const rows = new Map();
  for (const [id, depths] of Object.entries(wire.rows)) {
    const columns = depths.map((depth) => decodeDepth(depth, wire.start_ps));
    if (eventless.has(id)) columns.forEach(({ event }) => event.fill(-1));
    rows.set(id, columns);
  }
  return { start_ps: wire.start_ps, end_ps: wire.end_ps, names: wire.names, rows };
}

/** The first slice that ends after `ps`; `length` when there is none. @param {Columns} columns @param {number} ps */
export function firstAfter(columns, ps) {
  let low = 0;
  let high = columns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columns.end[middle] > ps) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The slice at `ps`, or the nearest one within `reach`; -1 when there is none. @param {Columns} columns @param {number} ps @param {number} reach */
export function sliceAt(columns, ps, reach) {
  let best = -1;
  let distance = Infinity;
  const first = firstAfter(columns, ps);
  for (const i of [first, first - 1]) {
    if (i < 0 || i >= columns.length) continue;
    const away = Math.max(columns.start[i] - ps, ps - columns.end[i], 0);
    if (away <= reach && away < distance) [best, distance] = [i, away];
  }
  return best;
}

/** The slice that begins at exactly this time, or the merged one that holds it; -1. @param {Columns} columns @param {number} start_ps */
export function sliceOf(columns, start_ps) {
  const i = firstAfter(columns, start_ps);
  return i < columns.length && columns.start[i] <= start_ps ? i : -1;
}
