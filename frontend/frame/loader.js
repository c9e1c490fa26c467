/** Brings a session in: asks, shows progress while the server reads, ends with the session or with an error. */

import { get, setFingerprint, post } from '../lib/api.js';
import { beginActivity, delay } from '../lib/activity.js';
import { deviceRows } from '../lib/devices.js';

const ASK_AGAIN_MS = 150;

/** @typedef {import('../lib/types').Ready} Ready */

/**
 * @param {object} on
 * @param {(loading: import('../lib/types').Loading, elapsed_ms: number) => void} on.progress
 * @param {(session: Ready) => void} on.ready maybe several times: first with some of the hosts
 * @param {(message: string) => void} on.error
 * @param {(error: unknown) => void} on.refused the reading cannot be stopped
 */
export function createLoader(on) {
  let ticket = 0;
  let name = '';
  return {
    /**
     * @param {string} session
     * @param {string|null} hosts whose traces are wanted, where not all are in memory
     * @param {boolean} [reload] read the files again
     */
    async load(session, hosts, reload = false) {
      const request = ++ticket;
      const done = beginActivity();
      const began = performance.now();
      let hostsShown = 0;
      name = session;
      try {
        for (let reread = reload; request === ticket; reread = false) {
          /** @type {import('../lib/types').SessionAnswer} */
          const answer = await (reread
            ? post('reload', { session, hosts, seen: hostsShown })
            : get('session', { session, hosts, seen: hostsShown }));
          if (request !== ticket) return;
          if (answer.state === 'ready' && answer.mark) setFingerprint(session, answer.mark);
          if (answer.state === 'ready') {
            return on.ready({
              ...answer,
              devices: deviceRows(answer.devices),
              of: { session, hosts: answer.chosen ? hosts : null },
              loaded_ms: performance.now() - began,
            });
          }
          if (answer.state === 'error') return on.error(answer.message);
          const { head, partial } = answer;
          if (head && partial) {
            hostsShown = head.session.hosts.length;
            on.ready({
              ...head,
              devices: deviceRows(head.devices),
              state: 'ready',
              of: { session, hosts: null },
              partial,
              loading: answer,
            });
          }
          on.progress(answer, performance.now() - began);
          await delay(ASK_AGAIN_MS);
        }
      } catch (error) {
        if (request === ticket) on.error(/** @type {Error} */ (error).message);
      } finally {
        done();
      }
    },
    /** Ends the reading; what was read becomes the session. */
    stop() { post('stop', { session: name }).catch(on.refused); },
  };
}
