/** Requests to the plugin, relative to its base. */

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

/** The status of a request that a static copy has no answer to. */
export const NOT_RECORDED = 501;

/** @typedef {Pick<Response, 'ok'|'status'|'json'>} Answer */

/** @type {(url: string, options: RequestInit) => Answer|Promise<Answer>} */
let send = (url, options) => fetch(url, options);

/** Sets what answers requests in place of the server. @param {(url: string) => Answer} answer */
export const answerFrom = (answer) => { send = answer; };

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
      reportReread(query.session);
    }
    throw error;
  }
}

/** The status for a request whose fingerprint is not that of the files that the server has read. */
const STALE_FILES = 409;

/** Fingerprints of the files of the sessions that the page has opened, by session name. @type {Map<string, string>} */
const fingerprints = new Map();

/** @type {(session: string) => void} */
let reportReread = () => {};

/**
 * Adds the fingerprint of a session's files to later requests about the session.
 * @param {string} session
 * @param {string} fingerprint
 */
export const setFingerprint = (session, fingerprint) => { fingerprints.set(session, fingerprint); };

/** Leaves the fingerprint out of later requests about a session, as its files may be others. @param {string} session */
export const forgetFingerprint = (session) => { fingerprints.delete(session); };

/**
 * Sets the action to take once the server has read changed files of an open session.
 * @param {(session: string) => void} action
 */
export const onSessionReread = (action) => { reportReread = action; };

/**
 * Requests an action; the server accepts it from pages of its own origin only. Null and undefined are left out.
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

/**
 * Requests a URL and returns the JSON document of the answer. Failures are `RequestError`s, except after an abort.
 * @param {string} url
 * @param {RequestInit} options
 */
async function request(url, options) {
  const endActivity = beginActivity();
  try {
    const response = await send(url, options);
    const body = await response.json().catch((error) => {
      // An answer that is not JSON, such as a proxy's page; other errors are of the connection.
      if (error instanceof SyntaxError) return null;
      throw error;
    });
    if (response.ok && body) return body;
    throw new RequestError(
      body?.error ?? `The server answered ${response.status} to ${url.split('?')[0]}.`,
      response.status,
    );
  } catch (error) {
    if (error instanceof RequestError || options.signal?.aborted) throw error;
    throw new RequestError('The server cannot be reached. Check that TensorBoard still runs.', 0);
  } finally {
    endActivity();
  }
}

/**
 * Answers that several views need, by the `query` of an open session and by route.
 * @type {WeakMap<object, Map<string, Promise<any>>>}
 */
const answers = new WeakMap();

/**
 * Requests the answer of a route about a whole session, once for all views. After a failure, the next call repeats the
 * request.
 * @template {keyof Routes} R
 * @param {R} route
 * @param {import('./types').Ready['query']} query the open session's own object: the answers are cached with it
 * @returns {Promise<Routes[R]>}
 */
export function getShared(route, query) {
  const byRoute = answers.get(query) ?? new Map();
  answers.set(query, byRoute);
  if (!byRoute.has(route)) {
    byRoute.set(route, get(route, query).catch((error) => {
      byRoute.delete(route);
      throw error;
    }));
  }
  return byRoute.get(route);
}

/**
 * A channel on which only the newest request counts: an older one is aborted and its promise never settles, so that
 * its answer never replaces newer content. The caller keeps its old content until an answer arrives.
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
