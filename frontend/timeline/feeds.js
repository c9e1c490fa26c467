/**
 * The slices that are drawn, fetched for all rows at one time, or for those of devices at another while these are
 * aligned.
 */

import { alignedSlices, realSpan } from './align.js';
import { createFeed } from './columns.js';

/** @typedef {import('./columns.js').Slices} Slices */

/**
 * @param {ReturnType<typeof import('./model.js').createModel>} model
 * @param {{arrived: (host: boolean) => void, failed: (error: Error) => void}} on what came are rows of the host, or of
 *   devices alone
 */
export function createFeeds(model, { arrived, failed }) {
  const host = createFeed(() => arrived(true), failed);
  const device = createFeed(() => arrived(false), failed);
  /** Slices with those of devices moved, and what they were made of. @type {{from: unknown[], slices: Slices|null}} */
  let moved = { from: [], slices: null };
  return {
    /** @param {string} session @param {import('./scale.js').Scale} scale @param {import('../lib/types').Row[]} rows */
    want(session, scale, rows) {
      const { align } = model.state;
      const deviceRows = align ? rows.filter((row) => row.device) : [];
      const span = align && realSpan(align, deviceRows.map(({ id }) => id), scale);
      host.want(session, scale, model.duration, rows.filter((row) => !deviceRows.includes(row)));
      if (span) device.want(session, { ...span, psPerPx: scale.psPerPx }, model.duration, deviceRows);
    },
    slices() {
      const { align } = model.state;
      if (!align || !host.slices) return host.slices;
      const from = [host.slices, device.slices ?? host.slices, align];
      if (from.some((part, index) => part !== moved.from[index])) {
        moved = { from, slices: alignedSlices(host.slices, device.slices ?? host.slices, align) };
      }
      return moved.slices;
    },
    again() {
      host.again();
      device.again();
    },
    /** Forgets everything: another session. */
    clear() {
      host.clear();
      device.clear();
    },
  };
}
