/** Moving by arrow keys: between the slices of a row, and between rows. */

import { get } from '../lib/api.js';
import { columnsOf, foundAt } from './scene.js';
import { firstAfter, sliceAt, sliceOf } from './columns.js';
import { foundText, laneText } from './access.js';

/** @typedef {import('./scene.js').Found} Found */

/**
 * @param {import('./model.js').Model} model @param {import('./lanes.js').Lanes} lanes
 * @param {object} on
 * @param {() => string} on.session @param {(text: string) => void} on.say
 * @param {(brief: import('../lib/types').Brief) => void} on.far the next event lies outside of what is loaded
 */
export function createCursor(model, lanes, on) {
  /** Where the keyboard is, or would begin: at the selection, else at the first lane with slices. @returns {{lane: import('./layout.js').Lane, ps: number, at: Found|null}|null} */
  function here() {
    const { cursor, selection, window: span } = model.state;
    const scene = lanes.scene();
    if (cursor) {
      const lane = scene.lanes.find(({ id }) => id === cursor.lane.id);
      if (lane) return { lane, ps: cursor.start_ps, at: cursor };
    }
    const row = selection && selection.kind !== 'window' ? selection : null;
    const lane = scene.lanes.find((own) => own.kind === 'slices' && (!row || (own.row.id === row.row && own.depth === row.depth)))
      ?? scene.lanes.find((own) => own.kind === 'slices');
    return lane ? { lane, ps: row?.start_ps ?? span.start_ps, at: null } : null;
  }

  /** @param {Found} found */
  function put(found) {
    const { window: span } = model.state;
    model.set({ cursor: found, hover: null });
    lanes.reveal(found.lane);
    if (found.end_ps <= span.start_ps || found.start_ps >= span.end_ps) {
      const middle = (found.start_ps + found.end_ps) / 2;
      const half = (span.end_ps - span.start_ps) / 2;
      model.look({ start_ps: middle - half, end_ps: middle + half });
    }
    on.say(foundText(found));
  }

  return {
    /** @param {1|-1} step */
    async along(step) {
      const from = here();
      const scene = lanes.scene();
      if (!from) return;
      const columns = from.lane.kind === 'slices' ? columnsOf(scene, from.lane) : null;
      if (!columns) return;
      const index = !from.at ? firstAfter(columns, from.ps) : sliceOf(columns, from.at.start_ps) + step;
      const found = foundAt(scene, from.lane, index);
      const end = step > 0 ? scene.slices?.end_ps ?? 0 : scene.slices?.start_ps ?? 0;
      if (found) {
        put(found);
        return;
      }
      const more = from.lane.row.kind === 'gaps' ? false : step > 0 ? end < model.duration : end > 0;
      const last = from.at ?? { start_ps: from.ps };
      const answer = more ? await get('neighbor', { session: on.session(), row: from.lane.row.id, depth: from.lane.depth, start_ps: last.start_ps,
        direction: step > 0 ? 'next' : 'previous' }) : { event: null };
      if (answer.event) on.far(answer.event);
      else on.say(step > 0 ? 'The last slice of this row.' : 'The first slice of this row.');
    },
    /** @param {1|-1} step */
    across(step) {
      const from = here();
      const scene = lanes.scene();
      if (!from) return;
      const at = scene.lanes.findIndex(({ id }) => id === from.lane.id);
      const lane = from.at ? scene.lanes[at + step] : from.lane;
      if (!lane) return;
      const columns = columnsOf(scene, lane);
      const { window: span } = model.state;
      const inside = Math.min(span.end_ps, Math.max(span.start_ps, from.ps));
      const index = columns ? sliceAt(columns, inside, Infinity) : -1;
      const found = lane.kind === 'slices' ? foundAt(scene, lane, index) : null;
      if (found && found.end_ps > span.start_ps && found.start_ps < span.end_ps) {
        put(found);
        return;
      }
      const empty = { lane, row: lane.row.id, depth: lane.depth, index: -1, start_ps: inside, end_ps: inside, name: '', kind: 0, count: 0, busy_ps: 0, event: null };
      model.set({ cursor: empty, hover: null });
      lanes.reveal(lane);
      on.say(laneText(lane));
    },
  };
}
