/**
 * Moves device rows under the host's steps: the first device work of each step is drawn at the step's start, with the
 * same shift on all cores of the host. Work that would extend into the next step is cut there; work of no step is not
 * drawn.
 */

import { count, plural, timeText } from '../lib/format.js';
import { maximum, minimum } from '../lib/totals.js';

/** @typedef {import('./columns.js').Columns} Columns */
/** @typedef {import('./columns.js').Slices} Slices */
/** @typedef {import('./scale.js').Span} Span */
/**
 * An interval of device work, drawn `shift` earlier and cut at `until`.
 * @typedef {Span & {shift: number, until: number}} Segment
 */
/**
 * @typedef {object} Alignment
 * @property {Map<string, Segment[]>} rows segments by row, in order of their start
 * @property {Map<string, number[]>} edges starts and ends of steps by host, ps
 * @property {number} steps number of steps whose device work is known; of long sessions, the server sends the first
 */

/**
 * The alignment of device rows; null if no device work belongs to a known host step. Steps recorded by devices do not
 * count.
 * @param {import('../lib/routes').Overview['steps']} steps
 * @param {import('../lib/types').Row[]} rows
 * @returns {Alignment|null}
 */
export function alignmentOf({ source, columns, work }, rows) {
  // The columns have the steps of some hosts; work refers to steps by their index over all hosts.
  const rowOfIndex = new Map(columns.index.map((index, at) => [index, at]));
  const rowOf = (/** @type {number} */ index) => rowOfIndex.get(index) ?? -1;
  const [starts, lengths] = [columns.start_ps, columns.duration_ps];
  /** The first device work of each step, ps. @type {Map<number, number>} */
  const firstWork = new Map();
  for (const { step, start_ps } of work) {
    step.forEach((index, i) => firstWork.set(index, Math.min(firstWork.get(index) ?? Infinity, start_ps[i])));
  }
  /** @type {Alignment} */
  const align = { rows: new Map(), edges: new Map(), steps: firstWork.size };
  for (const { id, kind, device, host } of rows.filter((row) => row.device)) {
    const deviceWork = work.find((candidate) => candidate.device === device);
    const [from, to] = deviceWork?.steps ?? [0, 0];
    if (deviceWork) {
      align.edges.set(
        host,
        columns.index.flatMap((index, row) =>
          index >= from && index < to ? [starts[row], starts[row] + lengths[row]] : [],
        ),
      );
    }
    align.rows.set(
      id,
      !deviceWork || kind === 'gaps'
        ? []
        : deviceWork.step.map((index, segment) => ({
            start_ps: deviceWork.start_ps[segment],
            end_ps: deviceWork.end_ps[segment],
            shift: (firstWork.get(index) ?? 0) - starts[rowOf(index)],
            until: index + 1 < to ? (starts[rowOf(index + 1)] ?? Infinity) : Infinity,
          })),
    );
  }
  return firstWork.size && /annotation|step_marker/.test(source ?? '') ? align : null;
}

/**
 * The segment at an instant; if there are several, the one that began last.
 * @param {Segment[]} segments
 * @param {number} ps
 */
const segmentAt = (segments, ps) => segments.findLast(({ start_ps, end_ps }) => start_ps <= ps && ps < end_ps);

/**
 * By how much earlier an instant of a row is drawn, ps; null if it is not drawn.
 * @param {Alignment|null} align
 * @param {string} row
 * @param {number} ps
 */
export function shiftAt(align, row, ps) {
  const segments = align?.rows.get(row);
  return segments ? segmentAt(segments, ps)?.shift ?? null : 0;
}

/**
 * The slices of a device row, moved with their segments and cut where they would overlap.
 * @param {Columns} columns
 * @param {Segment[]} segments
 * @param {number} nameOffset added to the indices of names
 * @returns {Columns}
 */
export function shiftColumns(columns, segments, nameOffset = 0) {
  const movedSlices = columns.start.flatMap((from, i) => {
    const to = columns.end[i];
    // A merged slice may begin before the device work in it.
    const segment = segmentAt(segments, from) ?? segmentAt(segments, (from + to) / 2);
    if (!segment) return [];
    const { shift, until } = segment;
    const start = Math.max(from, segment.start_ps) - shift;
    return start < until ? [{ i, start, shift, end: Math.min(Math.min(to, segment.end_ps) - shift, until) }] : [];
  }).sort((a, b) => a.start - b.start);
  const pick = (/** @type {number[]} */ column) => movedSlices.map(({ i }) => column[i]);
  const start = movedSlices.map((slice) => slice.start);
  return {
    length: movedSlices.length,
    start,
    end: movedSlices.map(({ end }, at) => Math.min(end, start[at + 1] ?? end)),
    name: movedSlices.map(({ i }) => (columns.name[i] < 0 ? -1 : columns.name[i] + nameOffset)),
    classIndex: pick(columns.classIndex),
    count: pick(columns.count),
    busy: pick(columns.busy),
    event: pick(columns.event),
    real: { start: pick(columns.start), end: pick(columns.end) },
    ...(columns.buckets
      ? {
          buckets: {
            ...columns.buckets,
            firstDigit: pick(columns.buckets.firstDigit),
            shift: movedSlices.map(({ shift }) => shift),
          },
        }
      : {}),
  };
}

/**
 * The slices of host rows, unchanged, and of device rows, moved.
 * @param {Slices} host
 * @param {Slices} device the same object as `host` if one answer has both
 * @param {Alignment} align
 * @returns {Slices}
 */
export function alignedSlices(host, device, align) {
  const rows = new Map(host.rows);
  const offset = host === device ? 0 : host.names.length;
  for (const [id, segments] of align.rows) {
    rows.set(
      id,
      (device.rows.get(id) ?? []).map((columns) => shiftColumns(columns, segments, offset)),
    );
  }
  return { ...host, rows, names: offset ? [...host.names, ...device.names] : host.names };
}

/**
 * The true span of the segments of rows that are drawn in the window; null if there are none.
 * @param {Alignment} align
 * @param {string[]} rows
 * @param {Span} window
 * @returns {Span|null}
 */
export function realSpan(align, rows, { start_ps, end_ps }) {
  const spans = rows.flatMap((row) => (align.rows.get(row) ?? []).flatMap((segment) => {
    const start = Math.max(segment.start_ps, start_ps + segment.shift);
    const end = Math.min(segment.end_ps, Math.min(end_ps, segment.until) + segment.shift);
    return end > start ? [{ start, end }] : [];
  }));
  return spans.length
    ? { start_ps: minimum(spans.map(({ start }) => start)), end_ps: maximum(spans.map(({ end }) => end)) }
    : null;
}

/**
 * The shift of the step at an instant of the host: `shifted +170.5 ms`; `no step` in a row without work of steps.
 * @param {Alignment} align
 * @param {string} row
 * @param {number} ps
 */
export function shiftText(align, row, ps) {
  const segments = align.rows.get(row) ?? [];
  const { shift } = segments.findLast((segment) => segment.start_ps - segment.shift <= ps) ?? segments[0] ?? {};
  return shift === undefined ? 'no step' : `shifted ${shift < 0 ? '' : '+'}${timeText(shift, 1)}`;
}

/**
 * Returns the action of the align button, its key and its link value.
 * @param {import('./model.js').Model} model
 * @param {import('../frame/app.js').App} app
 * @param {object} timeline
 * @param {() => string} timeline.name of the open session, empty without one
 * @param {() => Promise<import('../lib/routes').Overview>} timeline.overview
 * @param {() => import('./layout.js').Row[]|null} timeline.shownRows
 * @param {(error: Error) => void} timeline.failed
 */
export function createAlign(model, { addNote, live, link }, { name, overview, shownRows, failed }) {
  const { state } = model;
  /**
   * Moves device rows under the steps of the host, or back.
   * @param {boolean} on
   * @param {boolean} [quiet] whether the link already has the change, so that it is not announced
   */
  return async function align(on, quiet = false) {
    // The session's rows may be replaced meanwhile.
    const sessionName = name();
    try {
      const answer = on && sessionName ? await overview() : null;
      if (sessionName !== name()) return;
      const rows = shownRows();
      const alignment = answer && rows && alignmentOf(answer.steps, rows);
      if (on && !alignment) {
        addNote({
          id: 'align',
          message: 'No device work could be assigned to a step of the host, so there is nothing to align.',
        });
      } else if (!quiet) {
        const row = alignment && [...alignment.rows].find(([, segments]) => segments.length)?.[0];
        const remark =
          alignment && answer.steps.count > alignment.steps
            ? ` The device work of ${count(alignment.steps)} of ${plural(answer.steps.count, 'step')} is drawn.`
            : '';
        live.announceNow(
          alignment && row
            ? `Device work is drawn under its step, ` +
                `${shiftText(alignment, row, (state.window.start_ps + state.window.end_ps) / 2)}.${remark}`
            : 'Device rows are drawn at their recorded times again.',
        );
      }
      if (alignment && state.selection?.kind === 'gap') model.select(null);
      model.set({ align: alignment, cursor: null, hover: null });
      link.set({ al: alignment ? '1' : '' }, quiet ? 'replace' : 'push');
    } catch (error) {
      if (sessionName === name()) failed(/** @type {Error} */ (error));
    }
  };
}
