/** Loads a session: polls the server, reports progress, and ends with the session or an error. */

import { forgetFingerprint, get, post, setFingerprint } from '../lib/api.js';
import { beginActivity, delay } from '../lib/activity.js';
import { deviceRows } from '../lib/devices.js';

const POLL_MS = 150;

/** @typedef {import('../lib/types').Ready} Ready */

/**
 * @param {object} on
 * @param {(loading: import('../lib/routes').SessionLoading, elapsed_ms: number) => void} on.progress
 * @param {(session: Ready) => void} on.ready called several times if hosts arrive one after another
 * @param {(message: string) => void} on.error
 * @param {(error: unknown) => void} on.refused called if the server did not stop the reading
 */
export function createLoader(on) {
  let lastRequest = 0;
  let name = '';
  return {
    /**
     * Loads a session, instead of the one that is being loaded.
     * @param {string} session
     * @param {string|null} hosts the routes' `hosts` argument, as `requestedHosts` returns it: the hosts whose traces
     *   to load if not all are in memory; null: the server's default
     * @param {boolean} [reload] whether to read the files again
     */
    async load(session, hosts, reload = false) {
      const request = ++lastRequest;
      const endActivity = beginActivity();
      const startTime = performance.now();
      let hostsShown = 0;
      name = session;
      try {
        for (let reread = reload; request === lastRequest; reread = false) {
          const answer = await (reread
            ? post('reload', { session, hosts, seen: hostsShown })
            : get('session', { session, hosts, seen: hostsShown }));
          if (request !== lastRequest) return;
          if (answer.state === 'ready' && answer.fingerprint) setFingerprint(session, answer.fingerprint);
          if (answer.state === 'ready') {
            return on.ready({
              ...answer,
              devices: deviceRows(answer.devices),
              query: { session, hosts: answer.chosen_hosts ? hosts : null },
              loaded_ms: performance.now() - startTime,
            });
          }
          if (answer.state === 'error') return on.error(answer.message);
          const { partial } = answer;
          if ('head' in answer && partial) {
            const { head } = answer;
            hostsShown = head.session.hosts.length;
            forgetFingerprint(session);
            on.ready({
              ...head,
              devices: deviceRows(head.devices),
              state: 'ready',
              query: { session, hosts: null },
              partial,
              loading: answer,
            });
          }
          on.progress(answer, performance.now() - startTime);
          await delay(POLL_MS);
        }
      } catch (error) {
        if (request === lastRequest) on.error(/** @type {Error} */ (error).message);
      } finally {
        endActivity();
      }
    },
    /** Stops the reading; the hosts read so far become the session. */
    stop() { post('stop', { session: name }).catch(on.refused); },
  };
}
