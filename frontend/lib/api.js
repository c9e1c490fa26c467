/** Requests to the plugin: relative to its base, one at a time per kind, the latest wins. */

import { beginActivity } from './activity.js';

/** @typedef {import('./routes').Routes} Routes */

/** A failed request, with the error line of the server. */
export class RequestError extends Error {
  /** @param {string} message @param {number} status 0 when the server could not be reached */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * `get('window', {session: 'a', start_ps: 5})` requests `data/window?session=a&start_ps=5`; null and undefined are left
 * out.
 * @template {keyof Routes} R
 * @param {R} route
 * @param {Record<string, any>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Routes[R]>}
 */
export async function get(route, query = {}, signal) {
  const fingerprint = fingerprints.get(query.session);
  const parameters = presentEntries({ ...query, ...(fingerprint && route !== 'session' ? { fingerprint } : {}) });
  try {
    return await request(`data/${route}?${new URLSearchParams(parameters)}`, { signal });
  } catch (error) {
    // The first of several pending requests reports that the files have changed.
    if (error instanceof RequestError && error.status === STALE_FILES && fingerprints.delete(query.session)) {
      sessionReread(query.session);
    }
    throw error;
  }
}

const STALE_FILES = 409;

/** Fingerprints of the files of the sessions that the page has opened, by session name. @type {Map<string, string>} */
const fingerprints = new Map();

/** @type {(session: string) => void} */
let sessionReread = () => {};

/**
 * Later requests about a session are about the files with this fingerprint.
 * @param {string} session
 * @param {string} fingerprint
 */
export const setFingerprint = (session, fingerprint) => { fingerprints.set(session, fingerprint); };

/**
 * Sets the action to take once the server has read changed files of an open session.
 * @param {(session: string) => void} run
 */
export const onSessionReread = (run) => { sessionReread = run; };

/**
 * Requests an action; the server accepts it from this page only. Null and undefined are left out.
 * @template {keyof Routes} R
 * @param {R} route
 * @param {Record<string, any>} [body]
 * @returns {Promise<Routes[R]>}
 */
export const post = (route, body = {}) =>
  request(`data/${route}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-XLA-Insights': '1' },
    body: JSON.stringify(Object.fromEntries(presentEntries(body))),
  });

/** @param {Record<string, any>} values */
const presentEntries = (values) => Object.entries(values).filter(([, value]) => value != null);

/** @param {string} url @param {RequestInit} how */
async function request(url, how) {
  const done = beginActivity();
  try {
    const response = await fetch(url, how);
    const body = await response.json().catch(() => null);
    if (response.ok && body) return body;
    throw new RequestError(
      body?.error ?? `The server answered ${response.status} to ${url.split('?')[0]}.`,
      response.status,
    );
  } catch (error) {
    if (error instanceof RequestError || how.signal?.aborted) throw error;
    throw new RequestError('The server cannot be reached. Check that TensorBoard still runs.', 0);
  } finally {
    done();
  }
}

/**
 * Answers that several views need, by the `of` of a session and by route.
 * @type {WeakMap<object, Map<string, Promise<any>>>}
 */
const answers = new WeakMap();

/**
 * Requests the answer of a route about a whole session, once for all views; a failed request is repeated.
 * @template {keyof Routes} R
 * @param {R} route
 * @param {import('./types').Ready['of']} of the object of the open session; a session with other
 *   hosts has another one
 * @returns {Promise<Routes[R]>}
 */
export function getShared(route, of) {
  const byRoute = answers.get(of) ?? new Map();
  answers.set(of, byRoute);
  if (!byRoute.has(route)) {
    byRoute.set(route, get(route, of).catch((error) => {
      byRoute.delete(route);
      throw error;
    }));
  }
  return byRoute.get(route);
}

/**
 * A channel on which only the newest request counts: an older one is aborted and its promise never settles, so that
 * what it would have drawn never replaces newer content. Until an answer comes, the caller leaves old content alone.
 * @template {keyof Routes} R
 * @param {R} route
 */
export function createLatestChannel(route) {
  /** @type {AbortController|null} */
  let current = null;
  return {
    /** @param {Record<string, any>} query @returns {Promise<Routes[R]>} */
    async get(query) {
      current?.abort();
      const { signal } = current = new AbortController();
      try {
        const answer = await get(route, query, signal);
        if (!signal.aborted) return answer;
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      return new Promise(() => {});
    },
    cancel() {
      current?.abort();
      current = null;
    },
  };
}
