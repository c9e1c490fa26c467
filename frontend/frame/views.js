/**
 * The seven views in their order. A view is one module that exports `create(app)` and comes when it is first looked at;
 * a view without one has no tab. To add a view: write the module, put it on its line.
 */

import { lazy } from './lazy.js';

/**
 * @typedef {object} View
 * @property {HTMLElement} element
 * @property {(session: import('../lib/types').Ready) => void} open shows a session; called again for another one
 * @property {() => void} filter hosts or devices have changed
 * @property {() => void} move the link state has changed from outside (Back, Forward, a link of another view)
 * @property {(on: boolean) => void} show the view comes to the front or leaves it
 * @property {() => void} recolor the theme has changed
 */
/** @typedef {{id: string, label: string, create: ((app: import('./app.js').App) => View)|null}} ViewEntry */

const CARDS = ['cards.css'];

/** @type {ViewEntry[]} */
const ALL = [
  { id: 'overview', label: 'Overview', create: lazy(() => import('../overview/view.js'), CARDS) },
  { id: 'timeline', label: 'Timeline', create: lazy(() => import('../timeline/view.js'), CARDS) },
  { id: 'gaps', label: 'Gaps', create: lazy(() => import('../gaps/view.js'), CARDS) },
  { id: 'executions', label: 'Executions', create: lazy(() => import('../executions/view.js'), CARDS) },
  { id: 'propagation', label: 'Propagation', create: null },
  { id: 'compiles', label: 'Compiles', create: lazy(() => import('../compiles/view.js'), CARDS) },
  { id: 'compare', label: 'Compare', create: null },
];

export const VIEWS = ALL.filter((view) => view.create !== null);

/** The views for which the server has data: all, unless it says which. @param {string[]|undefined} ids */
export const offered = (ids) => VIEWS.filter((view) => !ids || ids.includes(view.id));
