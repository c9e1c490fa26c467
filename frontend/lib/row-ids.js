/** Ids of the timeline's rows: `h0.ann` and `h0.t3` of a host, `h0.d1.ops` of a device. */

const ROW_ID = /^h(\d+)\.(?:d(\d+)\.)?(\w+)$/;

/**
 * The parts of a row's id.
 * @param {string} id
 * @returns {{host: number, device: number|null, name: string}|null} `host` is the host's index in the session, `device`
 *   the device's index on the host, `name` the rest; null if the text is not the id of a row
 */
export function parseRowId(id) {
  const [, host, device, name] = ROW_ID.exec(id) ?? [];
  return host === undefined ? null : { host: Number(host), device: device ? Number(device) : null, name };
}

/**
 * Whether a row shows annotations of the host or scopes of a device.
 * @param {string} id
 */
export function showsAnnotations(id) {
  const row = parseRowId(id);
  return row !== null && row.name === (row.device === null ? 'ann' : 'scopes');
}
