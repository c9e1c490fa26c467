/** The devices of a session, from the columns that the server sends. */

/** @param {string} host @param {string} name */
export const deviceId = (host, name) => `${host}/${name}`;

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
