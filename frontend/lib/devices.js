/** The devices of a session, from the columns that the server sends. */

/** @param {string} host @param {string} name */
export const deviceId = (host, name) => `${host}/${name}`;

/**
 * Chosen devices as requests list them: `HOST/*` in place of all devices of a host, because servers refuse a request
 * line with thousands of ids.
 * @param {string[]} chosen ids
 * @param {{id: string, host: string}[]} devices of the session
 */
export function chosenDevices(chosen, devices) {
  const chosenIds = new Set(chosen);
  const cutHosts = new Set(devices.flatMap(({ id, host }) => (chosenIds.has(id) ? [] : host)));
  const items = devices.flatMap(({ id, host }) => (chosenIds.has(id) ? (cutHosts.has(host) ? id : `${host}/*`) : []));
  return [...new Set(items)];
}

/** @param {import('./routes').DeviceSummaries} columns @returns {import('./types').Device[]} */
export const deviceRows = ({ unit_ps, host, name, kind, modules, ops, duty_cycle, busy, idle, stall }) =>
  host.map((hostName, at) => ({
    id: deviceId(hostName, name[at]),
    host: hostName,
    name: name[at],
    kind: kind[at],
    modules: modules[at],
    ops: ops[at],
    duty_cycle: duty_cycle[at],
    busy_ps: busy[at] * unit_ps,
    idle_ps: idle[at] * unit_ps,
    stall_ps: stall[at] * unit_ps,
  }));
