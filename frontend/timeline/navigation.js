/** Navigation in the timeline: moves the window; opens, selects and reveals events, gaps and lanes. */

import { groupOf } from './host-groups.js';
import { frameSpan, zoomSpan } from './scale.js';
import { laneFor } from './scene.js';
import { ofBrief, ofSlice } from './selection.js';

/** @typedef {import('../lib/routes').EventSummary} EventSummary */
/** @typedef {import('./scene.js').DrawnSlice} DrawnSlice */

/**
 * @param {import('./model.js').Model} model
 * @param {object} of available once the timeline is built
 * @param {() => import('./lanes.js').Lanes} of.lanes
 * @param {() => ReturnType<typeof import('./gaps.js').createGaps>} of.gaps
 * @param {() => import('../lib/types').Ready|null} of.session
 * @param {(text: string) => void} of.say announces a text
 */
export function createNavigation(model, { lanes, gaps, session, say }) {
  const { state } = model;

  function showSession() { model.look({ start_ps: 0, end_ps: model.duration }); }

  function frameSelection() {
    const span = model.drawn(state.selection);
    if (span) model.look(frameSpan(span));
  }

  /** @param {number} factor @param {number} [at] */
  function zoom(factor, at = (state.window.start_ps + state.window.end_ps) / 2) {
    model.look(zoomSpan(state.window, factor, at));
  }

  /** @param {number} by in ps */
  function pan(by) { model.look({ start_ps: state.window.start_ps + by, end_ps: state.window.end_ps + by }); }

  /** Selects an event and brings it into view. @param {EventSummary} brief */
  function open(brief) {
    const selection = ofBrief(brief);
    model.bringIntoView(model.drawn(selection) ?? selection, 8);
    model.select(selection);
    unfold(brief.row);
    lanes().reveal(brief.row, brief.depth);
    say(`${brief.name} is selected.`);
  }

  /** Opens the host and device of a row that has no lane because its host is folded. @param {string} id of the row */
  function unfold(id) {
    const row = session()?.rows.find((candidate) => candidate.id === id);
    if (!row || laneFor(lanes().lanes, id, 0)) return;
    model.fold(groupOf(row), true);
    if (row.device) model.fold(row.device, true);
  }

  /** @param {DrawnSlice} slice */
  function selectSlice(slice) {
    const { lane: { row }, start_ps, end_ps, real_ps, length_ps } = slice;
    if (row.kind === 'gaps') {
      gaps().show({ device: row.device ?? '', start_ps: real_ps, duration_ps: length_ps, cause: 'other' });
    } else if (slice.count > 1) model.look(frameSpan({ start_ps, end_ps }, 0.02));
    else model.select(ofSlice(slice));
  }

  /** Handles Enter at the cursor. */
  function enter() {
    const { cursor: at } = state;
    if (!at) return;
    if (at.lane.kind !== 'slices' || (at.index < 0 && at.lane.fold)) toggle(at.lane);
    else if (at.count > 1) model.select(ofSlice(at));
    else selectSlice(at);
  }

  /** @param {import('./layout.js').Lane|null} lane */
  function toggle(lane) {
    if (!lane?.fold) return;
    model.fold(lane.fold.id, !lane.fold.open);
    say(`${lane.label} is ${lane.fold.open ? 'folded' : 'open'}.`);
  }

  /** @param {string} row */
  function revealRow(row) {
    const lane = laneFor(lanes().lanes, row, 0);
    if (lane?.kind === 'more') toggle(lane);
    lanes().reveal(row);
  }

  return { showSession, frameSelection, zoom, pan, open, selectSlice, enter, toggle, revealRow };
}
