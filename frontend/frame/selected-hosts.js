/** The hosts and devices of the open session that the link selects. */

import { getShared } from '../lib/api.js';
import { linkedHosts, RANK_WORDS } from '../lib/host-names.js';
import { listItems } from '../lib/link.js';
import { requestedHosts } from './requested-hosts.js';

/** @typedef {import('../lib/types').Ready} Ready */

/**
 * @param {import('../lib/link.js').Link} link
 * @param {() => void} onRanks called when the hosts behind `slowest` and `median` become known
 */
export function createHostSelection(link, onRanks) {
  /** @type {Ready|null} */
  let session = null;
  /** The hosts behind the link's rank words. @type {Partial<Record<'slowest'|'median', string>>} */
  let ranks = {};
  /** Indices of hosts that a selection needs in addition to the link's. @type {Set<number>} */
  const needed = new Set();
  /** The link's `h` when `needed` was last cleared. @type {string|undefined} */
  let lastLinked = '';

  /** The ids of those devices of hosts that the link names, or of all if it names none. @param {string[]} hosts */
  function devicesOf(hosts) {
    const hostNames = new Set(hosts);
    const ids = (session?.devices ?? []).filter(({ host }) => hostNames.has(host)).map(({ id }) => id);
    const linkDeviceIds = new Set(listItems(link.state.d));
    const linkedIds = ids.filter((id) => linkDeviceIds.has(id));
    return linkedIds.length ? linkedIds : ids;
  }

  /**
   * The names of the hosts and the ids of the devices that the link selects; all hosts if it names none, and all of
   * their devices if it names none of these.
   */
  function selection() {
    const names = (session?.session.hosts ?? []).map(({ name }) => name);
    const linkedNames = linkedHosts(link.state.h, names, ranks);
    const hosts = linkedNames.length ? linkedNames : names;
    return { hosts, devices: devicesOf(hosts) };
  }

  /** Resolves `slowest` and `median` if the link has them; until then they select no host. */
  async function resolveRanks() {
    const requested = session;
    if (!requested || !RANK_WORDS.some((word) => link.state.h?.split(',').includes(word)) || ranks.median) return;
    const document = await getShared('hosts', requested.query).catch(() => null);
    if (requested !== session || document?.median_host == null) return;
    const { hosts, order, median_host } = document;
    ranks = { slowest: hosts.name[order[0]], median: hosts.name[median_host] };
    onRanks();
  }

  return {
    selection,
    resolveRanks,
    /** The selection; if only some hosts have rows in the timeline, those hosts and their selected devices. */
    tracedSelection() {
      if (!session?.chosen_hosts) return selection();
      const { chosen_hosts: chosen, session: { hosts: files } } = session;
      const hosts = chosen.map((at) => files[at].name);
      return { hosts, devices: devicesOf(hosts) };
    },
    /** The devices that are selected. @template {{id: string}} T @param {T[]} candidates */
    selectedDevices(candidates) {
      const devices = new Set(selection().devices);
      return candidates.filter(({ id }) => devices.has(id));
    },
    /** The id of a host's first device; empty if it has none. @param {string} host */
    firstDevice: (host) => session?.devices.find((device) => device.host === host)?.id ?? '',
    /**
     * Adds hosts, given by index, that a selection needs. Returns whether their traces must be requested.
     * @param {number[]} hosts
     */
    addNeeded(hosts) {
      const { chosen_hosts: chosen, session: head } = session ?? {};
      const addedHosts = hosts.filter((at) => chosen && head?.hosts[at] && !chosen.includes(at) && !needed.has(at));
      addedHosts.forEach((at) => needed.add(at));
      return addedHosts.length > 0;
    },
    /**
     * The `hosts` argument of requests about a session, from the link and the selection. Forgets the hosts that an
     * earlier link or session needed.
     * @param {{name: string, hosts: {name: string}[]}} files the session and its hosts
     */
    hostsArgument({ name, hosts }) {
      if (lastLinked !== link.state.h || session?.session.name !== name) needed.clear();
      lastLinked = link.state.h;
      return requestedHosts(lastLinked, hosts.map((host) => host.name), needed);
    },
    /** @param {Ready} next */
    open(next) {
      const { hosts } = next.session;
      session = next;
      ranks = next.ranks ? { slowest: hosts[next.ranks.slowest].name, median: hosts[next.ranks.median].name } : {};
      void resolveRanks();
    },
  };
}
