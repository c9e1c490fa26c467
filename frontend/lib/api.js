/** Requests to the plugin: relative to its base, one at a time per kind, the latest wins. */

import { begin } from './activity.js';

/** A request that failed, with the one line the server gave. */
export class RequestError extends Error {
  /** @param {string} message @param {number} status 0 when the server could not be reached */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * `address('window', {session: 'a', start_ps: 5})` → `data/window?session=a&start_ps=5`; null and undefined are left out.
 * @param {string} route @param {Record<string, any>} [query]
 */
export function address(route, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value != null)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `data/${route}${pairs.length ? '?' + pairs.join('&') : ''}`;
}

/** @param {string} route @param {Record<string, any>} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = (route, query, signal) => request(address(route, query), { signal });

/** Asks for something to be done; only this page may. @param {string} route @param {Record<string, any>} [body] @returns {Promise<any>} */
export const post = (route, body = {}) => request(address(route),
  { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-XLA-Insights': '1' }, body: JSON.stringify(body) });

/** @param {string} url @param {RequestInit} how */
async function request(url, how) {
  const done = begin();
  try {
    const response = await fetch(url, how);
    const body = await response.json().catch(() => null);
    if (response.ok && body) return body;
    throw new RequestError(body?.error ?? `The server answered ${response.status} to ${url.split('?')[0]}.`, response.status);
  } catch (error) {
    if (error instanceof RequestError || how.signal?.aborted) throw error;
    throw new RequestError('The server cannot be reached. Check that TensorBoard still runs.', 0);
  } finally {
    done();
  }
}

/**
 * A channel on which only the newest request counts: an older one is aborted and its promise never settles, so that
 * what it would have drawn never replaces newer content. Until an answer comes, the caller leaves old content alone.
 * @template [T=any]
 * @param {string} route
 */
export function latest(route) {
  /** @type {AbortController|null} */
  let current = null;
  return {
    /** @param {Record<string, any>} query @returns {Promise<T>} */
    async get(query) {
      current?.abort();
      const own = new AbortController();
      current = own;
      try {
        const answer = await get(route, query, own.signal);
        return own.signal.aborted ? await new Promise(() => {}) : answer;
      } catch (error) {
        if (own.signal.aborted) return new Promise(() => {});
        throw error;
      }
    },
    cancel() {
      current?.abort();
      current = null;
    },
  };
}
