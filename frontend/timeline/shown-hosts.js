/** The timeline's hosts: names, the host to compare a gap with, hosts whose rows must be loaded. */

import { deviceName } from '../lib/cards.js';
import { shortNames } from '../lib/host-names.js';
import { parseRowId } from '../lib/row-ids.js';

/**
 * @param {import('../frame/app.js').App} app @param {Readonly<import('./model.js').TimelineState>} state
 * @param {() => import('../lib/types').Ready|null} session
 */
export function createShownHosts(app, state, session) {
  const names = () => session()?.session.hosts.map(({ name }) => name) ?? [];
  const findDevice = (/** @type {string} */ id) => session()?.devices.find((device) => device.id === id);

  /**
   * The index of the host of a device, else of a row; -1 if neither is known.
   * @param {{device: string, row: string}} ids
   */
  function hostOf({ device, row }) {
    const name = findDevice(device)?.host;
    return name ? names().indexOf(name) : parseRowId(row)?.host ?? -1;
  }

  /** The short name of a host. @param {string} host */
  function shortName(host) {
    const hostNames = names();
    return shortNames(hostNames)[hostNames.indexOf(host)] ?? host;
  }

  return {
    /** The name of a device, with its host if there are several. @param {string} id */
    deviceName(id) {
      const device = findDevice(id);
      return device ? deviceName(device, names()) : id;
    },
    /** The name of a device, with the short name of its host if there are several. @param {string} id */
    shortDeviceName(id) {
      const device = findDevice(id);
      return device ? deviceName({ ...device, host: shortName(device.host) }, names()) : id;
    },
    shortName,
    /**
     * The index of the host whose gap is shown beside a device's gap: of the other hosts with rows the median one, else
     * the slowest, else the first; null if there are no others.
     * @param {string} device id
     */
    comparedHost(device) {
      const hostNames = names();
      const ranks = session()?.ranks;
      const host = hostOf({ device, row: '' });
      const otherHosts = app.tracedSelection().hosts.map((name) => hostNames.indexOf(name)).filter((at) => at !== host);
      const ranked = [ranks?.median, ranks?.slowest].find((at) => at !== undefined && otherHosts.includes(at));
      return ranked ?? otherHosts[0] ?? null;
    },
    /** Requests rows for the hosts of the selection and of unfolded devices. */
    requestHosts() {
      const { selection, open: folds } = state;
      const openedHosts = [...folds].flatMap(([id, on]) => (on ? hostOf({ device: id, row: '' }) : []));
      const selectedHosts = selection && selection.kind !== 'window' ? [hostOf(selection)] : [];
      app.requestHosts([...selectedHosts, ...openedHosts].filter((at) => at >= 0));
    },
  };
}
