/** Slices as columns: fetched for the span that the lanes show, decoded, searched by time. */

import { createLatestChannel } from '../lib/api.js';
import { fetchSpan, resolution } from './scale.js';

/**
 * The slices of one depth of a row, in order of time; they do not overlap. A slice is an event, or several merged ones.
 * @typedef {object} Columns
 * @property {number} length number of slices
 * @property {number[]} start @property {number[]} end ps, as drawn
 * @property {number[]} name index into the names, -1: none
 * @property {number[]} classIndex index of the class in rows of hosts and of gaps, of `OP_CLASSES` in rows of ops
 * @property {number[]} count number of events, more than 1 in a merged slice
 * @property {number[]} busy ps that the events of a merged slice cover
 * @property {number[]} event number of the event, or of the first one, on its host; -1: none
 * @property {{start: number[], end: number[]}} [real] true times, if the slices are drawn at other times
 * @property {Buckets} [buckets] coverage of merged slices
 * @property {Record<string, number[]>} [parts] of the slowest steps of many: the share of each part, percent
 */
/**
 * How much of merged slices their events cover, by buckets of the session's time.
 * @typedef {object} Buckets
 * @property {number} bucket_ps length of a bucket
 * @property {string} digits a digit from 0 to f per bucket of a merged slice, slice after slice
 * @property {number[]} firstDigit index of each slice's first digit
 * @property {number[]} [shift] ps by which each slice is drawn earlier
 */
/**
 * The slices of rows in a span, by row id and depth.
 * @typedef {{start_ps: number, end_ps: number, names: string[], rows: Map<string, Columns[]>}} Slices
 */

/** Labels of the classes of device ops. */
export const OP_CLASSES = ['op', 'collective', 'stall'];
export const COLLECTIVE = OP_CLASSES.indexOf('collective');
export const STALL = OP_CLASSES.indexOf('stall');

/** @param {number} length @param {number} value @returns {number[]} */
export const repeat = (length, value) => Array(length).fill(value);

/**
 * The slices of one depth; the server sends starts and numbers of events as differences.
 * @param {import('../lib/routes').LaneSlices} wire
 * @param {number} origin the time from which the first start counts, ps
 * @returns {Columns}
 */
function decodeDepth(
  {
    s: starts, d: durations, n: name, c: classIndex, k: counts, b: busy, e: events, r: bucketExponent = 0, f: digits,
    p: parts,
  },
  origin,
) {
  const { length } = starts;
  let ps = origin;
  let eventNumber = 0;
  const start = starts.map((difference) => (ps += difference));
  const end = start.map((start_ps, i) => start_ps + durations[i]);
  return {
    length,
    start,
    end,
    ...(counts && digits !== undefined
      ? { buckets: bucketsOf(2 ** bucketExponent, digits, start, end, counts) }
      : {}),
    ...(parts && { parts }),
    name,
    classIndex,
    count: counts ?? repeat(length, 1),
    busy: busy ?? repeat(length, 0),
    // Slices without events have -1 each, not a difference.
    event: events[0] < 0 ? events : events.map((difference) => (eventNumber += difference)),
  };
}

/**
 * @param {number} bucket_ps
 * @param {string} digits
 * @param {number[]} start
 * @param {number[]} end
 * @param {number[]} count
 * @returns {Buckets}
 */
function bucketsOf(bucket_ps, digits, start, end, count) {
  let nextDigit = 0;
  const firstDigit = start.map((ps, i) => {
    const offset = nextDigit;
    if (count[i] > 1) nextDigit += Math.floor(Math.max(ps, end[i] - 1) / bucket_ps) - Math.floor(ps / bucket_ps) + 1;
    return offset;
  });
  return { bucket_ps, digits, firstDigit };
}

/**
 * Visits the parts of a slice with the same covered share, from 0 to 1; slices that are not merged are fully covered.
 * @param {Columns} columns
 * @param {number} i index of the slice
 * @param {import('./scale.js').Span} span as drawn, as are the times of parts, ps
 * @param {(from: number, to: number, share: number) => void} visit
 */
export function eachCover({ start, end, count, buckets, real }, i, { start_ps, end_ps }, visit) {
  if (!buckets || count[i] < 2) return visit(start[i], end[i], 1);
  const { bucket_ps, digits, firstDigit } = buckets;
  const shift = buckets.shift?.[i] ?? 0;
  const offset = firstDigit[i] - Math.floor((real?.start ?? start)[i] / bucket_ps);
  const until = Math.min(end_ps, end[i]) + shift;
  let from = Math.max(start_ps, start[i]) + shift;
  for (let bucket = Math.floor(from / bucket_ps); from < until;) {
    const digit = digits[bucket + offset];
    do bucket += 1; while (bucket * bucket_ps < until && digits[bucket + offset] === digit);
    const to = Math.min(until, bucket * bucket_ps);
    visit(from - shift, to - shift, parseInt(digit, 16) / 15);
    from = to;
  }
}

/** @param {import('../lib/routes').TimelineSlices} wire @returns {Slices} */
export function decode({ start_ps, end_ps, names, rows }) {
  return {
    start_ps,
    end_ps,
    names,
    rows: new Map(
      Object.entries(rows).map(([id, depths]) => [id, depths.map((depth) => decodeDepth(depth, start_ps))]),
    ),
  };
}

/**
 * The index of the first slice that ends after `ps`; `length` if there is none.
 * @param {Columns} columns
 * @param {number} ps
 */
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

/**
 * The index of the slice at `ps`, or of the nearest one at most `reach` ps away; -1 if there is none.
 * @param {Columns} columns
 * @param {number} ps
 * @param {number} reach
 */
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

/**
 * The edge of a slice that is nearest to `ps`, at most `reach` ps away; null if there is none.
 * @param {Columns} columns
 * @param {number} ps
 * @param {number} reach
 */
export function nearestEdge({ start, end, ...columns }, ps, reach) {
  const first = firstAfter({ start, end, ...columns }, ps);
  const edges = [first - 1, first, first + 1].flatMap((i) => (i in start ? [start[i], end[i]] : []));
  const [nearest] = edges.sort((a, b) => Math.abs(a - ps) - Math.abs(b - ps));
  return Math.abs(nearest - ps) <= reach ? nearest : null;
}

/**
 * The index of the slice that contains an instant, such as the start of one of its events; -1 if there is none.
 * @param {Columns} columns
 * @param {number} start_ps
 */
export function sliceOf(columns, start_ps) {
  const i = firstAfter(columns, start_ps);
  return i < columns.length && columns.start[i] <= start_ps ? i : -1;
}

/**
 * Visits each visible slice with its x and width in px, clipped one pixel outside the lanes.
 * @param {Columns|null|undefined} columns
 * @param {import('./scale.js').Scale} scale
 * @param {(i: number, x: number, w: number) => void} visit
 */
export function eachSlice(columns, { start_ps, end_ps, left, right, x }, visit) {
  for (
    let i = columns ? firstAfter(columns, start_ps) : 0;
    columns && i < columns.length && columns.start[i] < end_ps;
    i += 1
  ) {
    const from = Math.max(left - 1, x(columns.start[i]));
    visit(i, from, Math.min(right + 1, x(columns.end[i])) - from);
  }
}

/** An answer, with the requested time per pixel. @typedef {Slices & {psPerPx: number}} Loaded */

/** If an edge of the loaded span is closer to the shown span than this share of it, data is requested. */
const PREFETCH_SHARE = 0.25;
const MAX_CACHED_ANSWERS = 12;

/**
 * Loads slices for the shown span.
 * @param {() => void} arrived called after slices have arrived
 * @param {(error: Error) => void} failed
 */
export function createFeed(arrived, failed) {
  const channel = createLatestChannel('timeline');
  /** @type {Loaded|null} */
  let loaded = null;
  let pendingKey = '';
  /** Earlier answers, newest last: going back needs no request. @type {Map<string, Loaded>} */
  const cache = new Map();
  return {
    get slices() { return loaded; },
    /** Clears the cache when another session opens. */
    clear() {
      loaded = null;
      pendingKey = '';
      cache.clear();
      channel.cancel();
    },
    /**
     * Requests the slices of rows around a span unless they are loaded.
     * @param {string} session
     * @param {import('./scale.js').Span & {psPerPx: number}} scale
     * @param {number} duration of the session, ps
     * @param {import('../lib/types').Row[]} rows
     */
    ensure(session, scale, duration, rows) {
      const ids = rows.map(({ id }) => id);
      if (!ids.length && loaded) return;
      const psPerPx = resolution(scale.psPerPx);
      const ahead = (scale.end_ps - scale.start_ps) * PREFETCH_SHARE;
      const covers =
        loaded &&
        loaded.psPerPx === psPerPx &&
        loaded.start_ps <= Math.max(0, scale.start_ps - ahead) &&
        loaded.end_ps >= Math.min(duration, scale.end_ps + ahead) &&
        ids.every((id) => loaded?.rows.has(id));
      const query = { session, ...fetchSpan(scale, scale.psPerPx, duration), rows: ids.join(',') };
      const key = JSON.stringify(query);
      if (covers || key === pendingKey) return;
      const cached = cache.get(key);
      if (cached) {
        channel.cancel();
        pendingKey = '';
        loaded = cached;
        return;
      }
      pendingKey = key;
      (ids.length ? channel.get(query) : Promise.resolve({ ...query, names: [], rows: {} })).then((wire) => {
        loaded = { ...decode(wire), psPerPx, start_ps: query.start_ps, end_ps: query.end_ps };
        for (const id of ids) if (!loaded.rows.has(id)) loaded.rows.set(id, []);
        pendingKey = '';
        cache.set(key, loaded);
        if (cache.size > MAX_CACHED_ANSWERS) cache.delete(/** @type {string} */ (cache.keys().next().value));
        arrived();
        // After a failure `pendingKey` stays, so that only a change or Try again repeats the request, not every frame.
      }).catch(failed);
    },
    /** Lets the next frame repeat a failed request. */
    allowRetry() { pendingKey = ''; },
  };
}
