/** The views in their order. To add one: write a module that makes it for an app, and put it on its line here. Its folder becomes a script of its own. */

import { overviewView } from '../overview/view.js';
import { later } from './lazy-views.js';

/**
 * @typedef {object} View
 * @property {HTMLElement} element
 * @property {(session: import('../lib/types').Ready) => void} open shows a session; called again for another one
 * @property {() => void} [filter] hosts or devices have changed
 * @property {() => void} [move] the link state has changed from outside (Back, Forward, a link of another view)
 * @property {(on: boolean) => void} show the view comes to the front or leaves it
 * @property {() => void} [recolor] the theme has changed
 */
/** @typedef {{id: string, label: string, create: (app: import('./app.js').App) => View, load?: () => Promise<unknown>, key?: number}} ViewEntry `key`: the digit, where that is not its place */

/** @type {ViewEntry[]} */
export const VIEWS = [
  { id: 'overview', label: 'Overview', create: overviewView },
  later('timeline', 'Timeline', async () => (await import('../timeline/view.js')).timelineView),
  later('gaps', 'Gaps', async () => (await import('../gaps/view.js')).gapsView),
  later('executions', 'Executions', async () => (await import('../executions/view.js')).executionsView),
  later('propagation', 'Propagation', async () => (await import('../propagation/view.js')).propagationView),
  later('compiles', 'Compiles', async () => (await import('../compiles/view.js')).compilesView),
  later('hosts', 'Hosts', async () => (await import('../hosts/view.js')).hostsView),
  later('device', 'Device', async () => (await import('../device/view.js')).deviceView),
  { ...later('compare', 'Compare', async () => (await import('../compare/view.js')).compareView), key: 9 },
];
