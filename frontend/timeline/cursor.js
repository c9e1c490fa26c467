/** Cursor for the arrow keys: moves between the slices of a row and between rows. */

import { clamp } from '../lib/axis.js';
import { get } from '../lib/api.js';
import { columnsOf, drawnSlice } from './scene.js';
import { firstAfter, sliceAt, sliceOf } from './columns.js';
import { sliceTexts, laneText } from './slice-style.js';

/** @typedef {import('./scene.js').DrawnSlice} DrawnSlice */
/**
 * `end` is announced if there is no neighbour.
 * @typedef {(query: {row: string, depth: number, start_ps: number, direction: 'next'|'previous', skip_short?: 1},
 *   end: string) => Promise<void>} SelectNeighbour
 */

/**
 * The index of the cursor's slice, -1 between slices. Other columns may have arrived since the cursor moved there. A
 * slice without length contains no instant, so it is found by its start.
 * @param {import('./columns.js').Columns} columns
 * @param {DrawnSlice} cursor
 */
function indexAt(columns, { index, start_ps }) {
  if (columns.start[index] === start_ps) return index;
  const sameStart = columns.start.indexOf(start_ps);
  return sameStart < 0 ? sliceOf(columns, start_ps) : sameStart;
}

/**
 * @param {import('./model.js').Model} model @param {import('./lanes.js').Lanes} lanes
 * @param {object} on
 * @param {() => string} on.session @param {(text: string) => void} on.announce
 * @param {(slice: DrawnSlice) => string} on.wait text of an op's wait for another host; empty if it does not wait
 * @param {(summary: import('../lib/routes').EventSummary) => void} on.openEvent opens an event that the server found
 * @param {(error: Error) => void} on.failed
 */
export function createCursor(model, lanes, on) {
  /** The row of the newest question for a neighbour, which replaces a question about another row. */
  let newestRow = '';

  /**
   * The lane and time from which the next key moves: those of the cursor, else of the selection, else the first lane
   * with slices and the window's start. `cursor` is null unless the key moves from it.
   */
  function startingPoint() {
    const { cursor, selection, window: shown } = model.state;
    const allLanes = lanes.lanes;
    const cursorLane = allLanes.find(({ id }) => id === cursor?.lane.id);
    if (cursorLane && cursor) return { lane: cursorLane, ps: cursor.start_ps, cursor };
    const span = model.rowOf(selection) ? model.toDrawn(selection) : null;
    const lane =
      allLanes.find(
        ({ kind, row, depth }) => kind === 'slices' && (!span || (row.id === span.row && depth === span.depth)),
      ) ?? allLanes.find(({ kind }) => kind === 'slices');
    return lane ? { lane, ps: (span ?? shown).start_ps, cursor: null } : null;
  }

  /** @param {DrawnSlice} slice */
  const sliceText = (slice) => [...sliceTexts(slice), on.wait(slice)].filter(Boolean).join(', ');

  /** @param {DrawnSlice} slice @param {string} text */
  function moveCursor(slice, text) {
    const { window: span } = model.state;
    model.set({ cursor: slice, hover: null });
    lanes.reveal(slice.lane.row.id, slice.depth);
    if (slice.end_ps < span.start_ps || slice.start_ps > span.end_ps) model.goTo((slice.start_ps + slice.end_ps) / 2);
    on.announce(text);
  }

  /**
   * Selects the event or gap before or after an instant, unless the session, the selection or the cursor has changed
   * when the answer arrives.
   * @type {SelectNeighbour}
   */
  async function selectNeighbour(query, end) {
    const { cursor } = model.state;
    const isSelected = model.trackSelection();
    newestRow = query.row;
    const isCurrent = () => isSelected() && model.state.cursor === cursor && newestRow === query.row;
    try {
      const { event } = await get('neighbor', {
        session: on.session(),
        ...query,
        start_ps: Math.round(query.start_ps),
      });
      if (!isCurrent()) return;
      if (event) on.openEvent(event);
      else on.announce(end);
    } catch (error) {
      if (isCurrent()) on.failed(/** @type {Error} */ (error));
    }
  }

  return {
    selectNeighbour,
    /**
     * Selects the step before or after the selection, else before or after the middle of the window.
     * @param {'next'|'previous'} direction
     * @param {import('../lib/types').Row[]} rows
     */
    selectStep(direction, rows) {
      const row = rows.find(({ kind }) => kind === 'steps') ?? rows.find(({ kind }) => kind === 'annotations');
      const { selection, window: { start_ps, end_ps } } = model.state;
      if (!row) return;
      void selectNeighbour(
        { row: row.id, depth: 0, start_ps: selection?.start_ps ?? (start_ps + end_ps) / 2, direction },
        direction === 'next' ? 'There is no later step.' : 'There is no earlier step.',
      );
    },
    /** Moves along a row: to the next slice or, with -1, to the previous one. @param {1|-1} direction */
    along(direction) {
      const from = startingPoint();
      const scene = lanes.scene();
      const columns = from && columnsOf(scene, from.lane);
      if (!columns) return;
      const { lane, cursor, ps } = from;
      const current = cursor ? indexAt(columns, cursor) : -1;
      const later = firstAfter(columns, ps);
      // A cursor between slices moves to those around it; without a cursor, the first move leads to the slice at `ps`.
      const index = current >= 0 ? current + direction : cursor && direction < 0 ? later - 1 : later;
      const slice = drawnSlice(scene, lane, index);
      if (slice) return moveCursor(slice, sliceText(slice));
      const end = direction > 0 ? 'This row has no later slice.' : 'This row has no earlier slice.';
      void selectNeighbour(
        {
          row: lane.row.id,
          depth: lane.depth,
          start_ps: cursor?.real_ps ?? ps,
          direction: direction > 0 ? 'next' : 'previous',
        },
        end,
      );
    },
    /** Moves to the next lane below or, with -1, above. @param {1|-1} direction */
    across(direction) {
      const from = startingPoint();
      const scene = lanes.scene();
      const lane = from && (from.cursor ? scene.lanes[scene.lanes.indexOf(from.lane) + direction] : from.lane);
      if (!lane) return;
      const columns = columnsOf(scene, lane);
      const { window: span } = model.state;
      const ps = clamp(from.ps, span.start_ps, span.end_ps);
      const slice = columns && drawnSlice(scene, lane, sliceAt(columns, ps, Infinity));
      if (slice && slice.end_ps > span.start_ps && slice.start_ps < span.end_ps) {
        return moveCursor(slice, sliceText(slice));
      }
      moveCursor(
        {
          lane,
          row: lane.row.id,
          depth: lane.depth,
          index: -1,
          start_ps: ps,
          end_ps: ps,
          real_ps: ps,
          length_ps: 0,
          name: '',
          classIndex: 0,
          count: 0,
          busy_ps: 0,
          event: null,
        },
        laneText(lane),
      );
    },
  };
}
