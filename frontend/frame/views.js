/**
 * The seven views in their order. A view is one module that exports `create(app)`; a view without one has no tab.
 * To add a view: write the module, import it here, put its `create` on its line.
 */

import { create as createTimeline } from '../timeline/view.js';

/**
 * @typedef {object} View
 * @property {HTMLElement} element
 * @property {(session: import('../lib/types').Ready) => void} open shows a session; called again for another one
 * @property {() => void} filter hosts or devices have changed
 * @property {() => void} move the link state has changed from outside (Back, Forward)
 * @property {(on: boolean) => void} show the view comes to the front or leaves it
 * @property {() => void} recolor the theme has changed
 */
/** @typedef {{id: string, label: string, create: ((app: import('./app.js').App) => View)|null}} ViewEntry */

/** @type {ViewEntry[]} */
const ALL = [
  { id: 'overview', label: 'Overview', create: null },
  { id: 'timeline', label: 'Timeline', create: createTimeline },
  { id: 'gaps', label: 'Gaps', create: null },
  { id: 'executions', label: 'Executions', create: null },
  { id: 'propagation', label: 'Propagation', create: null },
  { id: 'compiles', label: 'Compiles', create: null },
  { id: 'compare', label: 'Compare', create: null },
];

export const VIEWS = ALL.filter((view) => view.create !== null);
export const DEFAULT_VIEW = VIEWS[0].id;
