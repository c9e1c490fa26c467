/** The gaps of the devices as rows of the timeline: where they are, and which one comes next on the same device. */

import { CLASSES } from '../lib/classes.js';
import { get, latest, RequestError } from '../lib/api.js';
import { eachCore, hasPattern, isExact } from '../gaps/group.js';

/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('../lib/types').Row} Row */
/** @typedef {import('./columns.js').Columns} Columns */
/** @typedef {{device: string, start_ps: number, duration_ps: number, cause: import('../lib/types').ClassName}} Gap */

/** @param {string} device */
export const gapRow = (device) => `gaps.${device}`;

/** By device and time. @param {GapItem[]} items @returns {Map<string, Gap[]>} */
export function byDevice(items) {
  /** @type {Map<string, Gap[]>} */
  const all = new Map();
  for (const { device, start_ps, duration_ps, cause } of items) {
    const own = all.get(device) ?? [];
    own.push({ device, start_ps, duration_ps, cause });
    all.set(device, own);
  }
  for (const own of all.values()) own.sort((a, b) => a.start_ps - b.start_ps);
  return all;
}

/** @param {Gap[]} gaps by time @returns {Columns} `kind` is the class index of the cause */
export function gapColumns(gaps) {
  const { length } = gaps;
  return {
    length, start: Float64Array.from(gaps, ({ start_ps }) => start_ps), end: Float64Array.from(gaps, (gap) => gap.start_ps + gap.duration_ps),
    name: new Int32Array(length).fill(-1), kind: Int8Array.from(gaps, ({ cause }) => CLASSES.indexOf(cause)), count: new Int32Array(length).fill(1),
    busy: new Float64Array(length), event: new Float64Array(length).fill(-1),
  };
}

/**
 * The index of the gap before or after a time, or of the one before or after the gap that begins there; -1 at the end.
 * @param {Gap[]} gaps by time @param {number} ps @param {1|-1} step
 */
export function neighbour(gaps, ps, step) {
  return step > 0 ? gaps.findIndex(({ start_ps }) => start_ps > ps) : gaps.findLastIndex(({ start_ps }) => start_ps < ps);
}

/** Rows with a row of gaps before the first one of each device that has some. @param {Row[]} rows @param {Map<string, Gap[]>} gaps @returns {Row[]} */
export function withGapRows(rows, gaps) {
  const seen = new Set();
  return rows.flatMap((row) => {
    const own = row.device && !seen.has(row.device) ? gaps.get(row.device) : null;
    if (row.device) seen.add(row.device);
    return own ? [{ ...row, id: gapRow(row.device ?? ''), kind: /** @type {const} */ ('gaps'), label: 'gaps', depths: 1, events: own.length, main: true }, row] : [row];
  });
}

/** @param {() => void} arrived @param {(error: Error) => void} failed */
export function createGaps(arrived, failed) {
  /** @type {Map<string, Gap[]>} */
  let all = new Map();
  /** @type {Map<string, Columns[]>} */
  let columns = new Map();
  /** @type {import('../lib/views').Gaps|null} */
  let answer = null;
  let asked = '';
  let ready = Promise.resolve();
  const channel = latest('gap');

  /** @param {Ready} session */
  async function bring({ session: { name }, devices }) {
    asked = name;
    answer = null;
    all = new Map();
    columns = new Map();
    if (!devices.length) return;
    try {
      /** @type {import('../lib/views').Gaps} */
      const next = await get('gaps', { session: name });
      if (asked !== name) return;
      answer = next;
      all = byDevice(eachCore(next.items));
      columns = new Map([...all].map(([device, gaps]) => [gapRow(device), [gapColumns(gaps)]]));
      arrived();
    } catch (error) {
      if (asked === name) failed(/** @type {Error} */ (error));
    }
  }

  return {
    get all() { return all; },
    /** Asks for a session's gaps once. @param {Ready} session */
    open(session) { ready = bring(session); },
    /** On how many cores a gap is the same, and how often a gap between its programs occurs. @param {GapItem} gap */
    context(gap) {
      const { device, start_ps } = gap;
      const item = answer?.items.find((own) => eachCore([own]).some((each) => each.device === device && each.start_ps === start_ps));
      const pattern = answer?.patterns.findIndex((own) => hasPattern(gap, own)) ?? -1;
      return { cores: item?.devices?.length ?? 1, pattern, occurrences: answer?.patterns[pattern]?.count ?? 0 };
    },
    /** One gap with its chain. One that is not among all that there are is not asked for. @param {{session: string, device: string, start_ps: number}} query */
    async one(query) {
      await ready;
      const listed = [...all.values()].reduce((sum, gaps) => sum + gaps.length, 0);
      const complete = answer?.count === listed && answer.items.every(isExact);
      if (complete && !all.get(query.device)?.some(({ start_ps }) => start_ps === query.start_ps)) throw new RequestError('No such gap.', 404);
      return channel.get(query);
    },
    /** Adds the gaps to slices that came from the server. @param {import('./columns.js').Slices|null} slices */
    into(slices) {
      if (slices) for (const [row, own] of columns) slices.rows.set(row, own);
      return slices;
    },
  };
}
