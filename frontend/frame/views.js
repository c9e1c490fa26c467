/** The seven views in their order. To add a view: write a module that makes it for an app, put it on its line. */

import { overviewView } from '../overview/view.js';
import { timelineView } from '../timeline/view.js';
import { gapsView } from '../gaps/view.js';
import { executionsView } from '../executions/view.js';
import { propagationView } from '../propagation/view.js';
import { compilesView } from '../compiles/view.js';
import { compareView } from '../compare/view.js';

/**
 * @typedef {object} View
 * @property {HTMLElement} element
 * @property {(session: import('../lib/types').Ready) => void} open shows a session; called again for another one
 * @property {() => void} [filter] hosts or devices have changed
 * @property {() => void} [move] the link state has changed from outside (Back, Forward, a link of another view)
 * @property {(on: boolean) => void} show the view comes to the front or leaves it
 * @property {() => void} [recolor] the theme has changed
 */
/** @typedef {{id: string, label: string, create: (app: import('./app.js').App) => View}} ViewEntry */

/** @type {ViewEntry[]} */
export const VIEWS = [
  { id: 'overview', label: 'Overview', create: overviewView },
  { id: 'timeline', label: 'Timeline', create: timelineView },
  { id: 'gaps', label: 'Gaps', create: gapsView },
  { id: 'executions', label: 'Executions', create: executionsView },
  { id: 'propagation', label: 'Propagation', create: propagationView },
  { id: 'compiles', label: 'Compiles', create: compilesView },
  { id: 'compare', label: 'Compare', create: compareView },
];
