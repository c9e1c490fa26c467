/** The part of the page's state that a link carries: `p.xla_insights.<key>` in the hash of the page around. */

const PREFIX = 'p.xla_insights.';

/**
 * @typedef {'v'|'s'|'h'|'d'|'w'|'sel'|'c'|'q'|'st'|'f'|'o'|'x'|'al'|'hs'|'hm'|'dd'|'an'|'op'|'pk'|'fi'} LinkKey
 * @typedef {Partial<Record<LinkKey, string>>} LinkState
 */

/** Encodes a value, but keeps the signs that read well and are safe in a hash. @param {string} value */
const encode = (value) => encodeURIComponent(value).replace(/%(2C|3A|40|2B|2F)/g, decodeURIComponent);

/** A text that need not be encoded well. @param {string} text */
export function decodeText(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Our keys in a hash such as `#xla_insights&p.xla_insights.w=520+380`. @param {string} hash @returns {LinkState} */
export function parseHash(hash) {
  /** @type {Record<string, string>} */
  const state = {};
  for (const pair of hash.replace(/^#/, '').split('&')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.startsWith(PREFIX)) state[pair.slice(PREFIX.length, at)] = decodeText(pair.slice(at + 1));
  }
  return state;
}

/**
 * The hash with our keys replaced by `state`; what belongs to others stays.
 * @param {string} hash
 * @param {LinkState} state
 */
export function formatHash(hash, state) {
  const foreignPairs = hash.replace(/^#/, '').split('&').filter((pair) => pair && !pair.startsWith(PREFIX));
  const pairs = Object.entries(state).filter(([, value]) => value !== '' && value != null)
    .map(([key, value]) => `${PREFIX}${key}=${encode(String(value))}`);
  const all = [...foreignPairs, ...pairs];
  return all.length ? '#' + all.join('&') : '';
}

/**
 * Decimal ms of a time: rounded to ns, or exact. `715080172721` → `715.080173`.
 * @param {number} ps
 * @param {boolean} [exact]
 */
export function msText(ps, exact = false) {
  const decimals = exact ? 9 : 6;
  return (ps / 1e9).toFixed(decimals).replace(/\.?0+$/, '');
}

/** @param {string} text @returns {number} NaN if it is no number */
export function msValue(text) {
  return /^-?\d+(\.\d+)?$/.test(text) ? Math.round(Number(text) * 1e9) : NaN;
}

/** A stretch of time as `start+duration`. @param {number} start @param {number} end */
export const spanText = (start, end) => `${msText(start)}+${msText(end - start)}`;

/** A gap as a selection: `gap:TPU:0@715.080172721`. @param {{device: string, start_ps: number}} gap */
export const gapText = ({ device, start_ps }) => `gap:${device}@${msText(start_ps, true)}`;

/** @param {string} text @returns {{start_ps: number, end_ps: number}|null} */
export function spanValue(text) {
  const [start, length] = text.split('+').map(msValue);
  return start >= 0 && length > 0 ? { start_ps: start, end_ps: start + length } : null;
}

/** Rounds to ns, as links do, so that what a link says is what the page shows. @param {number} ps */
export const toNs = (ps) => Math.round(ps / 1000) * 1000;

/** The window whose hash we write: the page around if it lets us, else our own. @returns {Window} */
function addressWindow() {
  try {
    if (window.parent.location.hash !== undefined) return window.parent;
  } catch {
    // Framed by another origin: our own address has to do.
  }
  return window;
}

/** Reads, writes and watches the link state. */
export function createLink() {
  const target = addressWindow();
  /** @type {LinkState} */
  let state = parseHash(target.location.hash);
  /** @type {Set<(state: LinkState) => void>} */
  const listeners = new Set();
  const moved = () => {
    const next = parseHash(target.location.hash);
    if (formatHash('', next) === formatHash('', state)) return;
    state = next;
    listeners.forEach((listener) => listener(state));
  };
  target.addEventListener('popstate', moved);
  target.addEventListener('hashchange', moved);
  addEventListener('pagehide', () => {
    target.removeEventListener('popstate', moved);
    target.removeEventListener('hashchange', moved);
  });
  return {
    get state() { return state; },
    /**
     * Changes some keys; an empty value removes one. A pushed change is a step that Back undoes.
     * @param {LinkState} changes @param {'push'|'replace'} how
     */
    set(changes, how) {
      const next = { ...state, ...changes };
      for (const key of /** @type {(keyof LinkState)[]} */ (Object.keys(next))) if (!next[key]) delete next[key];
      if (formatHash('', next) === formatHash('', state)) return;
      state = next;
      const { pathname, search, hash } = target.location;
      const url = pathname + search + formatHash(hash, state);
      if (how === 'push') target.history.pushState(target.history.state, '', url);
      else target.history.replaceState(target.history.state, '', url);
    },
    /** The address of what is shown, with keys added that must not depend on defaults. @param {LinkState} [also] */
    address(also = {}) {
      const { origin, pathname, search, hash } = target.location;
      return origin + pathname + search + formatHash(hash, { ...also, ...state });
    },
    /** Calls back when the user goes back or forward. @param {(state: LinkState) => void} listener */
    onNavigation(listener) { listeners.add(listener); },
  };
}
/** @typedef {ReturnType<typeof createLink>} Link */
