/** Search: as the text changes, ask for names that contain it; walk through the hits by time. */

import { latest } from '../lib/api.js';
import { CLASSES } from '../lib/classes.js';

/** @typedef {import('../lib/types').Brief} Brief */

const PAUSE_MS = 150;

/**
 * @param {object} on
 * @param {() => string} on.session
 * @param {(all: number, at: number, truncated: boolean) => void} on.count `all` is -1 when nothing is searched
 * @param {(hits: number[]) => void} on.marks
 * @param {(hit: Brief) => void} on.go
 * @param {(error: Error) => void} on.error
 */
export function createSearch(on) {
  /** @type {ReturnType<typeof latest<import('../lib/types').SearchAnswer>>} */
  const channel = latest('search');
  /** @type {import('../lib/types').SearchAnswer|null} */
  let answer = null;
  let at = -1;
  let timer = 0;
  let text = '';
  /** A step to take once the answer is there. @type {{by: 1|-1, from: number}|null} */
  let step = null;

  /** @param {number} index @returns {Brief} */
  function hit(index) {
    const { hits, names } = /** @type {import('../lib/types').SearchAnswer} */ (answer);
    const name = names[hits.n[index]];
    const own = name?.class && CLASSES.includes(name.class) ? name.class : null;
    return { event: hits.event[index], row: hits.row[index], depth: hits.depth[index], name: name?.name ?? '', class: own, thread: '',
      start_ps: hits.s[index], duration_ps: hits.d[index] };
  }

  async function ask() {
    timer = 0;
    try {
      answer = await channel.get({ session: on.session(), q: text });
    } catch (error) {
      on.error(/** @type {Error} */ (error));
      return;
    }
    at = -1;
    on.marks(answer.hits.s);
    on.count(answer.count, at, answer.truncated);
    if (step) go(step.by, step.from);
  }

  /** @param {1|-1} by @param {number} from begin at the first hit from this time on */
  function go(by, from) {
    step = null;
    const many = answer?.hits.s.length ?? 0;
    if (!answer || !many) return;
    if (at < 0) {
      const first = answer.hits.s.findIndex((start) => start >= from);
      at = by > 0 ? (first < 0 ? 0 : first) : (first <= 0 ? many : first) - 1;
    } else {
      at = (at + by + many) % many;
    }
    on.count(answer.count, at, answer.truncated);
    on.go(hit(at));
  }

  return {
    get text() { return text; },
    /** @param {string} next */
    set(next) {
      if (next.trim() === text) return;
      text = next.trim();
      clearTimeout(timer);
      if (text) {
        timer = window.setTimeout(ask, PAUSE_MS);
        return;
      }
      channel.cancel();
      answer = null;
      on.marks([]);
      on.count(-1, -1, false);
    },
    /** Goes to the next or previous hit, once the answer is there. @param {1|-1} by @param {number} from a time to begin at */
    next(by, from) {
      if (timer) {
        clearTimeout(timer);
        step = { by, from };
        void ask();
      } else {
        go(by, from);
      }
    },
  };
}
