/** Requests to the plugin: relative to its base, one at a time per kind, the latest wins. */

import { beginActivity } from './activity.js';

/** A request that failed, with the one line the server gave. */
export class RequestError extends Error {
  /** @param {string} message @param {number} status 0 when the server could not be reached */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * `get('window', {session: 'a', start_ps: 5})` asks for `data/window?session=a&start_ps=5`; null and undefined are left
 * out.
 * @param {string} route
 * @param {Record<string, any>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(route, query = {}, signal) {
  const known = marks.get(query.session);
  const asked = given({ ...query, ...(known && route !== 'session' ? { mark: known } : {}) });
  try {
    return await request(`data/${route}?${new URLSearchParams(asked)}`, { signal });
  } catch (error) {
    // Of several requests that were under way the first one tells.
    if (error instanceof RequestError && error.status === READ_AGAIN && marks.delete(query.session)) {
      readAgain(query.session);
    }
    throw error;
  }
}

const READ_AGAIN = 409;

/** What stands for the files of the sessions that the page has opened, by their names. @type {Map<string, string>} */
const marks = new Map();

/** @type {(session: string) => void} */
let readAgain = () => {};

/**
 * From now on what is asked about a session is about these files of it.
 * @param {string} session
 * @param {string} mark
 */
export const setFingerprint = (session, mark) => { marks.set(session, mark); };

/**
 * Says what to do once the server has read other files of a session that is open.
 * @param {(session: string) => void} run
 */
export const onSessionReread = (run) => { readAgain = run; };

/**
 * Asks for something to be done; only this page may. Null and undefined are left out.
 * @param {string} route
 * @param {Record<string, any>} [body]
 * @returns {Promise<any>}
 */
export const post = (route, body = {}) =>
  request(`data/${route}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-XLA-Insights': '1' },
    body: JSON.stringify(Object.fromEntries(given(body))),
  });

/** @param {Record<string, any>} values */
const given = (values) => Object.entries(values).filter(([, value]) => value != null);

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
 * Answers about a session that several views need, by what requests say of it and route.
 * @type {WeakMap<object, Map<string, Promise<any>>>}
 */
const answers = new WeakMap();

/**
 * Asks for what is told of a whole session, once however many views need it; one that fails is asked for again.
 * @param {string} route
 * @param {import('./types').Ready['of']} of that of the open session: another one's, or of more hosts, is another
 *   object
 * @returns {Promise<any>}
 */
export function getShared(route, of) {
  const known = answers.get(of) ?? new Map();
  answers.set(of, known);
  if (!known.has(route)) {
    known.set(route, get(route, of).catch((error) => {
      known.delete(route);
      throw error;
    }));
  }
  return known.get(route);
}

/**
 * A channel on which only the newest request counts: an older one is aborted and its promise never settles, so that
 * what it would have drawn never replaces newer content. Until an answer comes, the caller leaves old content alone.
 * @template [T=any]
 * @param {string} route
 */
export function createLatestChannel(route) {
  /** @type {AbortController|null} */
  let current = null;
  return {
    /** @param {Record<string, any>} query @returns {Promise<T>} */
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
