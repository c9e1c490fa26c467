/** Hosts of the timeline by device and row: names, the host to compare with, the hosts to load. */

import { deviceName as withHost } from '../lib/cards.js';
import { shortNames } from '../lib/host-names.js';
import { parseRowId } from '../lib/row-ids.js';

/**
 * @param {import('../frame/app.js').App} app @param {Readonly<import('./model.js').TimelineState>} state
 * @param {() => import('../lib/types').Ready|null} open the open session
 */
export function createShownHosts(app, state, open) {
  const names = () => open()?.session.hosts.map(({ name }) => name) ?? [];
  const device = (/** @type {string} */ id) => open()?.devices.find((candidate) => candidate.id === id);

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
      const item = device(id);
      return item ? withHost(item, names()) : id;
    },
    /** The short name of a host. @param {string} host */
    shortName(host) {
      const hostNames = names();
      return shortNames(hostNames)[hostNames.indexOf(host)] ?? host;
    },
    /**
     * The host to compare a gap's with: of those in sight the median one, or the slowest; null without another one.
     * @param {string} id of the device
     */
    beside(id) {
      const hostNames = names();
      const ranks = open()?.ranks;
      const host = hostOf({ device: id, row: '' });
      const otherHosts = app.tracedSelection().hosts.map((name) => hostNames.indexOf(name)).filter((at) => at !== host);
      const ranked = [ranks?.median, ranks?.slowest].find((at) => at !== undefined && otherHosts.includes(at));
      return ranked ?? otherHosts[0] ?? null;
    },
    /** Requests rows for the hosts of the selection and of devices that a link opens. */
    requestHosts() {
      const { selection, open: folds } = state;
      const opened = [...folds].flatMap(([id, on]) => (on ? hostOf({ device: id, row: '' }) : []));
      app.requestHosts(
        [...(selection && selection.kind !== 'window' ? [hostOf(selection)] : []), ...opened].filter((at) => at >= 0),
      );
    },
  };
}
