/**
 * The slices to draw. While device rows are aligned, their slices are fetched separately: they are drawn shifted, so
 * the lanes show them at other times than host rows.
 */

import { alignedSlices, realSpan } from './align.js';
import { createFeed } from './columns.js';

/** @typedef {import('./columns.js').Slices} Slices */

/**
 * @param {ReturnType<typeof import('./model.js').createModel>} model
 * @param {object} on
 * @param {(hasHostRows: boolean) => void} on.arrived called after slices have arrived; `hasHostRows` is false for those
 *   of aligned device rows alone
 * @param {(error: Error) => void} on.failed
 */
export function createFeeds(model, { arrived, failed }) {
  /** Slices of host rows; while device rows are not aligned, of all rows. */
  const hostFeed = createFeed(() => arrived(true), failed);
  const deviceFeed = createFeed(() => arrived(false), failed);
  /** The last aligned slices and their sources. @type {{sources: unknown[], slices: Slices|null}} */
  let aligned = { sources: [], slices: null };
  return {
    /**
     * Requests the slices of rows unless they are loaded.
     * @param {string} session
     * @param {import('./scale.js').Scale} scale
     * @param {import('../lib/types').Row[]} rows
     */
    ensure(session, scale, rows) {
      const { align } = model.state;
      // Gaps are not drawn while device rows are aligned.
      const deviceRows = align ? rows.filter((row) => row.device && row.kind !== 'gaps') : [];
      const span = align && realSpan(align, deviceRows.map(({ id }) => id), scale);
      hostFeed.ensure(session, scale, model.duration, rows.filter((row) => !align || !row.device));
      if (span) deviceFeed.ensure(session, { ...span, psPerPx: scale.psPerPx }, model.duration, deviceRows);
    },
    slices() {
      const { align } = model.state;
      if (!align || !hostFeed.slices) return hostFeed.slices;
      const sources = [hostFeed.slices, deviceFeed.slices ?? hostFeed.slices, align];
      if (sources.some((source, index) => source !== aligned.sources[index])) {
        aligned = { sources, slices: alignedSlices(hostFeed.slices, deviceFeed.slices ?? hostFeed.slices, align) };
      }
      return aligned.slices;
    },
    /** Lets the next frame repeat a failed request. */
    allowRetry() {
      hostFeed.allowRetry();
      deviceFeed.allowRetry();
    },
    /** Clears the slices when another session opens. */
    clear() {
      hostFeed.clear();
      deviceFeed.clear();
    },
  };
}
