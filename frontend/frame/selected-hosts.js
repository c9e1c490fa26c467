/** The hosts and devices of the open session that the link selects. */

import { getShared } from '../lib/api.js';
import { linkedHosts, RANK_WORDS } from '../lib/host-names.js';
import { requestedHosts } from './requested-hosts.js';

/** @typedef {import('../lib/types').Ready} Ready */

/**
 * @param {import('../lib/link.js').Link} link
 * @param {() => void} learned after the server has told whom `slowest` and `median` name
 */
export function createHostSelection(link, learned) {
  /** @type {Ready|null} */
  let session = null;
  /** Hosts that a link may name by a word. @type {Partial<Record<'slowest'|'median', string>>} */
  let ranks = {};
  /** Hosts that a selection needs beside those of the link. @type {Set<number>} */
  const needed = new Set();
  /** What the link said of hosts when `needed` began. @type {string|undefined} */
  let linked = '';

  /** The devices of some hosts that the link names, else all of theirs. @param {string[]} hosts */
  function devicesOf(hosts) {
    const wantedHosts = new Set(hosts);
    const ids = (session?.devices ?? []).filter(({ host }) => wantedHosts.has(host)).map(({ id }) => id);
    const named = new Set(link.state.d?.split(','));
    const linkedIds = ids.filter((id) => named.has(id));
    return linkedIds.length ? linkedIds : ids;
  }

  /** Hosts by name and devices by id: all of the session, unless the link names some. */
  function selection() {
    const names = (session?.session.hosts ?? []).map(({ name }) => name);
    const linkedNames = linkedHosts(link.state.h, names, ranks);
    const hosts = linkedNames.length ? linkedNames : names;
    return { hosts, devices: devicesOf(hosts) };
  }

  /** Asks whom `slowest` and `median` name, where the link says them; until then all hosts are chosen. */
  async function resolveRanks() {
    const requested = session;
    if (!requested || !RANK_WORDS.some((word) => link.state.h?.split(',').includes(word)) || ranks.median) return;
    const { hosts, order, median_host } = await getShared('hosts', requested.of).catch(() => ({}));
    if (requested !== session || median_host == null) return;
    ranks = { slowest: hosts.name[order[0]], median: hosts.name[median_host] };
    learned();
  }

  return {
    selection,
    rank: resolveRanks,
    /** The same of what the timeline has rows of. */
    tracedSelection() {
      const open = session;
      if (!open?.chosen) return selection();
      const hosts = open.chosen.map((at) => open.session.hosts[at].name);
      return { hosts, devices: devicesOf(hosts) };
    },
    /** Those devices that are chosen. @template {{id: string}} T @param {T[]} candidates */
    selectedDevices(candidates) {
      const devices = new Set(selection().devices);
      return candidates.filter(({ id }) => devices.has(id));
    },
    /** The id of a host's first device; empty without. @param {string} host */
    firstDevice: (host) => session?.devices.find((device) => device.host === host)?.id ?? '',
    /**
     * Whether the traces of hosts, by their places, must be asked for, as a selection is on them.
     * @param {number[]} hosts
     */
    addNeeded(hosts) {
      const open = session;
      const more = hosts.filter(
        (at) => open?.chosen && open.session.hosts[at] && !open.chosen.includes(at) && !needed.has(at),
      );
      more.forEach((at) => needed.add(at));
      return more.length > 0;
    },
    /**
     * Whose traces the link and the selection want of a session.
     * @param {{name: string, hosts: {name: string}[]}} entry
     */
    requested({ name, hosts }) {
      if (linked !== link.state.h || session?.session.name !== name) needed.clear();
      linked = link.state.h;
      return requestedHosts(linked, hosts.map((host) => host.name), needed);
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
