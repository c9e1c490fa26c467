/** Views whose modules are fetched on first use or while the browser is idle, to keep the first load small. */

import { fill, h } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { beginActivity } from '../lib/activity.js';
import { errorCard } from './state-cards.js';

/** The delay of prefetching in browsers without `requestIdleCallback`. */
const PREFETCH_AFTER_MS = 500;

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./views.js').View} View */
/** @typedef {import('./views.js').ViewDefinition} ViewDefinition */

/**
 * @param {string} id @param {string} label
 * @param {() => Promise<(app: App) => View>} load fetches the module and returns the function that creates the view
 * @returns {ViewDefinition}
 */
export const lazyView = (id, label, load) => ({ id, label, load, create: (app) => deferredView(app, label, load) });

/**
 * A placeholder for a view, which forwards the frame's calls once the view's module is loaded.
 * @param {App} app
 * @param {string} label
 * @param {() => Promise<(app: App) => View>} load
 * @returns {View}
 */
function deferredView(app, label, load) {
  const placeholder = h('div', null);
  /** @type {View|null} */
  let view = null;
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  let isShown = false;
  let loadFailed = false;

  async function fetchView() {
    const endActivity = beginActivity();
    try {
      const create = await load().catch(reportFailure);
      if (!create) return;
      view = create(app);
      placeholder.replaceWith(view.element);
      if (session) view.open(session);
      view.show(isShown);
    } finally {
      endActivity();
    }
  }

  /**
   * Browsers do not report why a script failed to load; a request shows whether the server is up.
   * @param {unknown} error
   */
  async function reportFailure(error) {
    console.error(error);
    if (await checkServer()) {
      showError('The page’s files may have changed since it was opened, for example by an upgrade. Retry reloads the ' +
        'page with this view.');
    }
    loadFailed = true;
    app.setState('error');
  }

  /** Whether the server answers; if not, shows why. */
  async function checkServer() {
    try {
      await get('sessions');
      return true;
    } catch (error) {
      showError(/** @type {Error} */ (error).message);
      return false;
    }
  }

  /** @param {string} message */
  function showError(message) {
    fill(placeholder, errorCard(message, retry, `${label} cannot be shown`, 'Retry'));
    app.live.announceError(message);
  }

  /** Reloads the page with its link: many browsers do not request a failed script again. */
  async function retry() {
    if (await checkServer()) location.reload();
  }

  void fetchView();
  return {
    get element() { return view?.element ?? placeholder; },
    open(next) {
      session = next;
      view?.open(next);
      if (loadFailed) app.setState('error');
    },
    filter: () => view?.filter?.(),
    followLink: () => view?.followLink?.(),
    show(on) {
      isShown = on;
      view?.show(on);
    },
    recolor: () => view?.recolor?.(),
  };
}

/**
 * Fetches the other views' modules one after another while the browser is idle, so that a click on a tab needs no
 * round trip.
 * @param {ViewDefinition[]} views
 */
export function prefetchViews(views) {
  const whenIdle =
    window.requestIdleCallback ?? ((/** @type {() => void} */ action) => setTimeout(action, PREFETCH_AFTER_MS));
  whenIdle(async () => {
    // A failure is reported when the view is opened.
    for (const { load } of views) await load?.().catch(() => {});
  });
}
