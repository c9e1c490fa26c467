/** A view whose module comes when it is first looked at; until then it remembers what it was told. */

import { h, fill } from '../lib/dom.js';
import { begin } from '../lib/activity.js';
import { errorCard } from './states.js';

/** @typedef {import('./views.js').View} View */
/** @typedef {import('./app.js').App} App */

/** Style sheets of views, one promise each. @type {Map<string, Promise<void>>} */
const sheets = new Map();

/** @param {string} file below the page's folder */
function style(file) {
  let sheet = sheets.get(file);
  if (!sheet) {
    sheet = new Promise((resolve) => {
      const done = () => resolve();
      document.head.append(h('link', { rel: 'stylesheet', href: new URL(`../${file}`, import.meta.url).href, onload: done, onerror: done }));
    });
    sheets.set(file, sheet);
  }
  return sheet;
}

/**
 * @param {() => Promise<{create: (app: App) => View}>} load @param {string[]} [styles]
 * @returns {(app: App) => View}
 */
export const lazy = (load, styles = []) => (app) => {
  const element = h('div', { class: 'view' });
  /** @type {View|null} */
  let view = null;
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  let shown = false;
  /** @type {'loading'|'ready'|'error'|'empty'} */
  let state = 'loading';
  /** What the view says about itself counts only while it is in front. @type {App} */
  const own = Object.create(app, { ready: { value: (/** @type {typeof state} */ how = 'ready') => {
    state = how;
    if (shown) app.ready(how);
  } } });

  async function bring() {
    const done = begin();
    try {
      const [module] = await Promise.all([load(), ...styles.map(style)]);
      view = module.create(own);
      fill(element, view.element);
      if (session) view.open(session);
      view.show(shown);
    } catch (error) {
      own.ready('error');
      fill(element, errorCard(`A part of the page did not come (${error instanceof Error ? error.message : error}).`, () => { void bring(); }));
    } finally {
      done();
    }
  }

  void bring();
  return {
    element,
    open(next) {
      session = next;
      own.ready('loading');
      view?.open(next);
    },
    filter() { view?.filter(); },
    move() { view?.move(); },
    show(on) {
      shown = on;
      if (on) app.ready(state);
      view?.show(on);
    },
    recolor() { view?.recolor(); },
  };
};
