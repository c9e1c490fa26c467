/** Navigation in the timeline: moves the window; opens, selects and reveals events, gaps and lanes. */

import { groupOf } from './host-groups.js';
import { frameSpan, zoomSpan } from './scale.js';
import { laneFor } from './scene.js';
import { eventSelection, sliceSelection, windowSelection } from './selection.js';

/** @typedef {import('../lib/routes').EventSummary} EventSummary */
/** @typedef {import('./scene.js').DrawnSlice} DrawnSlice */

/**
 * @param {import('./model.js').Model} model
 * @param {object} parts functions, because parts of the timeline are built later
 * @param {() => import('./lanes.js').Lanes} parts.lanes
 * @param {() => ReturnType<typeof import('./gaps.js').createGaps>} parts.gaps
 * @param {() => import('../lib/types').Ready|null} parts.session
 * @param {(text: string) => void} parts.announce announces a text
 */
export function createNavigation(model, { lanes, gaps, session, announce }) {
  const { state } = model;

  function showSession() { model.setWindow({ start_ps: 0, end_ps: model.duration }); }

  function frameSelection() {
    const span = model.toDrawn(state.selection);
    if (span) model.setWindow(frameSpan(span));
  }

  /** Zooms in by a factor, around an instant. @param {number} factor @param {number} [at_ps] */
  function zoom(factor, at_ps = (state.window.start_ps + state.window.end_ps) / 2) {
    model.setWindow(zoomSpan(state.window, factor, at_ps));
  }

  /** Moves the window. @param {number} by_ps */
  function pan(by_ps) {
    model.setWindow({ start_ps: state.window.start_ps + by_ps, end_ps: state.window.end_ps + by_ps });
  }

  /** Selects an event or a gap and brings it into view. @param {EventSummary} summary */
  function open(summary) {
    const gapRow = session()?.rows.find(({ id, kind }) => id === summary.row && kind === 'gaps');
    if (gapRow) return gaps().show({ ...summary, device: gapRow.device ?? '' });
    const selection = eventSelection(summary);
    model.bringIntoView(model.toDrawn(selection) ?? selection, 8);
    model.select(selection);
    unfold(summary.row);
    lanes().reveal(summary.row, summary.depth);
    announce(`${summary.name} is selected.`);
  }

  /** Opens the host and device of a row that has no lane because its host is folded. @param {string} id of the row */
  function unfold(id) {
    const row = session()?.rows.find((candidate) => candidate.id === id);
    if (!row || laneFor(lanes().lanes, id, 0)) return;
    model.fold(groupOf(row), true);
    if (row.device) model.fold(row.device, true);
  }

  /**
   * Selects an event or the time of a class, shows a gap, or zooms to the events of a merged slice.
   * @param {DrawnSlice} slice
   */
  function selectSlice(slice) {
    const { lane: { row }, start_ps, end_ps, real_ps, length_ps } = slice;
    if (slice.count > 1) model.setWindow(frameSpan({ start_ps, end_ps }, 0.02));
    else if (row.kind === 'gaps') {
      gaps().show({ device: row.device ?? '', start_ps: real_ps, duration_ps: length_ps });
    } else model.select(sliceSelection(slice));
  }

  /** Selects the window from the selection to a slice, whichever is first. @param {DrawnSlice} slice */
  function selectSpan({ real_ps, length_ps }) {
    const { start_ps, end_ps } = state.selection ?? { start_ps: real_ps, end_ps: real_ps };
    model.select(windowSelection(Math.min(start_ps, real_ps), Math.max(end_ps, real_ps + length_ps)));
  }

  /** Handles Enter at the cursor. @param {boolean} [spans] with Shift */
  function enter(spans = false) {
    const { cursor: at } = state;
    if (!at) return;
    if (spans && at.index >= 0) return selectSpan(at);
    if (at.lane.kind !== 'slices' || (at.index < 0 && at.lane.fold)) toggle(at.lane);
    else if (at.count > 1) model.select(sliceSelection(at));
    else selectSlice(at);
  }

  /** Opens or closes the fold of a lane, if it has one. @param {import('./layout.js').Lane|null} lane */
  function toggle(lane) {
    if (!lane?.fold) return;
    model.fold(lane.fold.id, !lane.fold.open);
    announce(`${lane.label} is ${lane.fold.open ? 'folded' : 'open'}.`);
  }

  /** Brings a row of a host into view; opens what is folded around it. @param {string} row */
  function revealRow(row) {
    if (!laneFor(lanes().lanes, row, 0)) {
      unfold(row);
      model.fold(`${groupOf({ id: row })}.rows`, true);
      lanes().reveal(row);
    }
    const lane = laneFor(lanes().lanes, row, 0);
    if (lane?.kind === 'more') toggle(lane);
    lanes().reveal(row);
  }

  return { showSession, frameSelection, zoom, pan, open, selectSlice, selectSpan, enter, toggle, revealRow };
}
