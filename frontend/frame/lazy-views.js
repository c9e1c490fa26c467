/** Views whose modules are fetched when they are first opened, to keep the first load small. */

import { fill, h } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { beginActivity } from '../lib/activity.js';
import { errorCard } from './state-cards.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./views.js').View} View */
/** @typedef {import('./views.js').ViewEntry} ViewEntry */

/**
 * @param {string} id @param {string} label
 * @param {() => Promise<(app: App) => View>} load fetches the module and gives what makes the view
 * @returns {ViewEntry}
 */
export const lazyView = (id, label, load) => ({ id, label, load, create: (app) => laterView(app, label, load) });

/**
 * Stands for a view until its module is there, and hands on what the frame tells it.
 * @param {App} app
 * @param {string} label
 * @param {() => Promise<(app: App) => View>} load
 * @returns {View}
 */
function laterView(app, label, load) {
  const place = h('div', null);
  /** @type {View|null} */
  let view = null;
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  let shown = false;
  let missing = false;

  async function fetchView() {
    const done = beginActivity();
    try {
      const create = await load().catch(failed);
      if (!create) return;
      view = create(app);
      place.replaceWith(view.element);
      if (session) view.open(session);
      view.show(shown);
    } finally {
      done();
    }
  }

  /** The browser does not tell why a script did not come; whether the server answers does. @param {unknown} error */
  async function failed(error) {
    console.error(error);
    if (await answers()) {
      showError('The page has changed since it was opened, as after an upgrade. Retry loads it anew, at this place.');
    }
    missing = true;
    app.setState('error');
  }

  async function answers() {
    try {
      return await get('sessions');
    } catch (error) {
      showError(/** @type {Error} */ (error).message);
      return null;
    }
  }

  /** @param {string} message */
  function showError(message) {
    fill(place, errorCard(message, retry, `${label} cannot be shown`, 'Retry'));
    app.live.announceError(message);
  }

  /** By loading the page anew, where it is: many browsers never ask again for a script that failed. */
  async function retry() {
    if (await answers()) location.reload();
  }

  void fetchView();
  return {
    get element() { return view?.element ?? place; },
    open(next) {
      session = next;
      view?.open(next);
      if (missing) app.setState('error');
    },
    filter: () => view?.filter?.(),
    move: () => view?.move?.(),
    show(on) {
      shown = on;
      view?.show(on);
    },
    recolor: () => view?.recolor?.(),
  };
}

/**
 * Fetches what other views need while nothing else is to do, one after the other, so that a click on a tab costs no
 * round trip.
 * @param {ViewEntry[]} views
 */
export function prefetchViews(views) {
  const whenIdle = window.requestIdleCallback ?? ((/** @type {() => void} */ act) => setTimeout(act, 500));
  whenIdle(async () => {
    // What fails is told when it is opened.
    for (const { load } of views) await load?.().catch(() => {});
  });
}
