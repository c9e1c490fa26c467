/** Hosts of the timeline by their devices and rows: what they are called, which to compare with, which have to come. */

import { deviceName as withHost } from '../lib/cards.js';
import { shortNames } from '../lib/host-names.js';
import { parseRowId } from '../lib/row-ids.js';

/**
 * @param {import('../frame/app.js').App} app @param {Readonly<import('./model.js').TimelineState>} state
 * @param {() => import('../lib/types').Ready|null} open the open session
 */
export function createShownHosts(app, state, open) {
  const names = () => open()?.session.hosts.map(({ name }) => name) ?? [];
  const device = (/** @type {string} */ id) => open()?.devices.find((each) => each.id === id);

  /**
   * The index of the host of a device or row; -1 without a host.
   * @param {{device: string, row: string}} of
   */
  function hostOf({ device: id, row }) {
    const name = device(id)?.host;
    return name ? names().indexOf(name) : parseRowId(row)?.host ?? -1;
  }

  return {
    /** @param {string} id */
    deviceName(id) {
      const own = device(id);
      return own ? withHost(own, names()) : id;
    },
    /** What tells a host apart from the others. @param {string} host */
    shortName(host) {
      const all = names();
      return shortNames(all)[all.indexOf(host)] ?? host;
    },
    /**
     * The host to compare a gap's with: of those in sight the median one, or the slowest; null without another one.
     * @param {string} id of the device
     */
    beside(id) {
      const all = names();
      const ranks = open()?.ranks;
      const own = hostOf({ device: id, row: '' });
      const here = app.tracedSelection().hosts.map((name) => all.indexOf(name)).filter((at) => at !== own);
      return [ranks?.median, ranks?.slowest].find((at) => at !== undefined && here.includes(at)) ?? here[0] ?? null;
    },
    /** The hosts of what is selected, and of devices that a link opens, have rows. */
    bringHosts() {
      const { selection, open: folds } = state;
      const opened = [...folds].flatMap(([id, on]) => (on ? hostOf({ device: id, row: '' }) : []));
      app.requestHosts(
        [...(selection && selection.kind !== 'window' ? [hostOf(selection)] : []), ...opened].filter((at) => at >= 0),
      );
    },
  };
}
