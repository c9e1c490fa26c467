/**
 * The views in tab order. To add a view, write a module that builds it for an `App` and list it here; the folder of a
 * lazy view becomes a separate script.
 */

import { overviewView } from '../overview/view.js';
import { lazyView } from './lazy-views.js';

/**
 * @typedef {object} View
 * @property {HTMLElement} element
 * @property {(session: import('../lib/types').Ready) => void} open shows a session; called again for another one
 * @property {() => void} [filter] called after the chosen hosts or devices have changed
 * @property {() => void} [followLink] called after Back, Forward or `App.open` has changed the link state
 * @property {(on: boolean) => void} show called with true whenever the frame shows the view, also if it is in front
 *   already, and with false when it leaves the front
 * @property {() => void} [recolor] called after the theme has changed
 */
/**
 * @typedef {object} ViewDefinition
 * @property {string} id
 * @property {string} label
 * @property {(app: import('./app.js').App) => View} create
 * @property {() => Promise<unknown>} [load] fetches the view's module
 * @property {number} [key] the digit that opens the view; its position by default
 */

/** Views that need only the report: they show the first hosts while others are read. */
export const REPORT_VIEWS = ['overview', 'gaps', 'compiles', 'executions', 'hosts'];

/** @type {ViewDefinition[]} */
export const VIEWS = [
  { id: 'overview', label: 'Overview', create: overviewView },
  lazyView('timeline', 'Timeline', async () => (await import('../timeline/view.js')).timelineView),
  lazyView('gaps', 'Gaps', async () => (await import('../gaps/view.js')).gapsView),
  lazyView('executions', 'Executions', async () => (await import('../executions/view.js')).executionsView),
  lazyView('iterations', 'Iterations', async () => (await import('../iterations/view.js')).iterationsView),
  lazyView('propagation', 'Propagation', async () => (await import('../propagation/view.js')).propagationView),
  lazyView('compiles', 'Compiles', async () => (await import('../compiles/view.js')).compilesView),
  lazyView('hosts', 'Hosts', async () => (await import('../hosts/view.js')).hostsView),
  lazyView('device', 'Device', async () => (await import('../device/view.js')).deviceView),
  { ...lazyView('compare', 'Compare', async () => (await import('../compare/view.js')).compareView), key: 0 },
];
