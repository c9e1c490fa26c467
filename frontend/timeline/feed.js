/** Brings slices for what the lanes show: three screens' worth, all rows in one request, old ones until new ones come. */

import { latest } from '../lib/api.js';
import { decode } from './columns.js';
import { fetchSpan, resolution } from './scale.js';

/** @typedef {import('./columns.js').Slices} Slices */
/** @typedef {Slices & {step: number}} Loaded `step` is the time per pixel that it was asked for */

/** Ask before the edge comes into sight, by this share of a screen. */
const AHEAD = 0.25;
const KEPT = 12;

/**
 * @param {() => void} arrived
 * @param {(error: Error) => void} failed
 */
export function createFeed(arrived, failed) {
  /** @type {ReturnType<typeof latest<import('../lib/types').WireTimeline>>} */
  const channel = latest('timeline');
  /** @type {Loaded|null} */
  let loaded = null;
  let asked = '';
  /** Answers of before, the newest last, so that the way back needs no request. @type {Map<string, Loaded>} */
  const kept = new Map();
  return {
    get slices() { return loaded; },
    /** Forgets everything: another session. */
    clear() {
      loaded = null;
      asked = '';
      kept.clear();
      channel.cancel();
    },
    /** @param {string} session @param {import('./scale.js').Scale} scale @param {number} duration @param {import('../lib/types').Row[]} rows */
    want(session, scale, duration, rows) {
      if (!rows.length) {
        if (loaded) return;
        loaded = { start_ps: 0, end_ps: duration, names: [], rows: new Map(), step: 0 };
        arrived();
        return;
      }
      const step = resolution(scale.psPerPx);
      const ahead = (scale.end_ps - scale.start_ps) * AHEAD;
      const covers = loaded && loaded.step === step
        && loaded.start_ps <= Math.max(0, scale.start_ps - ahead) && loaded.end_ps >= Math.min(duration, scale.end_ps + ahead)
        && rows.every(({ id }) => loaded?.rows.has(id));
      const query = { session, ...fetchSpan(scale, scale.psPerPx, duration), rows: rows.map(({ id }) => id).join(',') };
      const key = JSON.stringify(query);
      if (covers || key === asked) return;
      const again = kept.get(key);
      if (again) {
        channel.cancel();
        asked = '';
        loaded = again;
        return;
      }
      asked = key;
      const eventless = new Set(rows.filter(({ kind }) => kind === 'classes').map(({ id }) => id));
      channel.get(query).then((wire) => {
        const slices = decode(wire, eventless);
        for (const { id } of rows) if (!slices.rows.has(id)) slices.rows.set(id, []);
        loaded = { ...slices, step, start_ps: query.start_ps, end_ps: query.end_ps };
        asked = '';
        kept.set(key, loaded);
        if (kept.size > KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
        arrived();
      }).catch((error) => {
        // `asked` stays: the same request is not repeated by every frame, only by a change or by Try again.
        failed(error);
      });
    },
    /** Lets the next frame ask again for what failed. */
    again() { asked = ''; },
  };
}
