/** The part of the page's state that a link carries: `p.xla_insights.<key>` in the hash of the page around. */

const PREFIX = 'p.xla_insights.';

/**
 * An absent key means the default. Keys are short to keep links short.
 * @typedef {object} LinkState
 * @property {string} [v] view
 * @property {string} [s] session; by default the newest one when the page was loaded. Named once the link has more
 *   than the view: a selection belongs to its session, also after a newer one was captured
 * @property {string} [c] session to compare with
 * @property {string} [h] hosts; see `linkedHosts`
 * @property {string} [d] ids of devices
 * @property {string} [sel] selected window, event, gap, finding or other item of the view
 * @property {string} [st] step, or range of steps; in Device also `mean` or `all`
 * @property {string} [fi] finding that led to the selected gap
 * @property {string} [f] filters of the view's list
 * @property {string} [o] sort order of the view's table: a column's key, with `-` descending
 * @property {string} [w] Timeline: window
 * @property {string} [x] Timeline: folds that the user opened or closed
 * @property {string} [lg] Timeline: the legend's item that is shown alone, and hidden items after a minus
 * @property {string} [rh] Timeline: hidden rows
 * @property {string} [rp] Timeline: pinned rows
 * @property {string} [q] Timeline: text to search
 * @property {string} [al] Timeline: `1` while device rows are aligned to steps
 * @property {string} [kd] Iterations: kind
 * @property {string} [hs] Hosts: chosen host
 * @property {string} [hm] Hosts: quantity of the heat map
 * @property {string} [dd] Device: device, host, or `all`
 * @property {string} [an] Device: annotation; Timeline: the followed one
 * @property {string} [op] Device: op
 * @property {string} [pk] Device: peaks of the hardware
 * @property {string} [ds] Device: section, by default Work
 * @property {string} [pg] Device: program whose memory is shown
 */

/** Clears the selections of a session. @type {LinkState} */
export const NO_SELECTION = {
  w: '', sel: '', h: '', d: '', x: '', st: '', dd: '', an: '', op: '', pk: '', f: '', fi: '', q: '', o: '', hs: '',
  lg: '', rh: '', rp: '', pg: '', kd: '',
};

/** Encodes a value, except `,:@+/`, which are readable and safe in a hash. @param {string} value */
const encode = (value) => encodeURIComponent(value).replace(/%(2C|3A|40|2B|2F)/g, decodeURIComponent);

/** Decodes a text; returns it unchanged if it is not well encoded. @param {string} text */
export function decodeText(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An item of a list: commas separate items, and `%` introduces an encoded character. @param {string} item */
export const escapeItem = (item) => item.replace(/[,%]/g, encodeURIComponent);

/** A list as links and requests write it. @param {string[]} items */
export const listText = (items) => items.map(escapeItem).join(',');

/** The items of a list in a link. @param {string|undefined} text */
export const listItems = (text) => (text ? text.split(',').map(decodeText) : []);

/** The state in a hash such as `#xla_insights&p.xla_insights.w=520+380`. @param {string} hash @returns {LinkState} */
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
 * The hash with the keys of this page replaced by `state`; other keys stay.
 * @param {string} hash
 * @param {LinkState} state
 */
export function formatHash(hash, state) {
  const foreignPairs = hash.replace(/^#/, '').split('&').filter((pair) => pair && !pair.startsWith(PREFIX));
  const pairs = Object.entries(state).filter(([, value]) => value !== '' && value != null)
    .map(([key, value]) => `${PREFIX}${key}=${encode(String(value))}`);
  const allPairs = [...foreignPairs, ...pairs];
  return allPairs.length ? '#' + allPairs.join('&') : '';
}

/**
 * The link's step in the form of the routes: without the index that the page appends to a number of several steps.
 * Undefined for a range, which no route takes.
 * @param {string|undefined} st
 */
export const stepArgument = (st) => (st?.includes('-') ? undefined : st?.replace(/\.\d+$/, ''));

/**
 * A step's key in links: its number, followed by its index if several steps share the number; its index if it has none.
 * @param {(number|null)[]} numbers of all steps @param {number} step index
 */
export function stepKey(numbers, step) {
  const number = numbers[step];
  if (number == null) return String(step);
  return numbers.indexOf(number) === numbers.lastIndexOf(number) ? String(number) : `${number}.${step}`;
}

/**
 * The index of the link's step: of `1210.7` the index 7 if that step has this number, else the first step 1210.
 * @param {number[]} numbers of all steps
 * @param {string|undefined} st
 * @returns {number} -1 if there is no such step
 */
export function linkedStepIndex(numbers, st) {
  const [number, index] = (st ?? '').split('.');
  const isNumber = (/** @type {number|undefined} */ candidate) => String(candidate) === number;
  return index && isNumber(numbers[Number(index)]) ? Number(index) : numbers.findIndex(isNumber);
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

/** The time of a text in ms. @param {string} text @returns {number} ps; NaN if the text is not a decimal number */
export function msValue(text) {
  return /^-?\d+(\.\d+)?$/.test(text) ? Math.round(Number(text) * 1e9) : NaN;
}

/**
 * An interval as `start+duration`, in ms: rounded to ns, or exact.
 * @param {number} start ps @param {number} end ps
 * @param {boolean} [exact]
 */
export const spanText = (start, end, exact = false) => `${msText(start, exact)}+${msText(end - start, exact)}`;

/**
 * A window as a selection: `win:715.08+72.143`. It is exact, as an interval that ends a picosecond later may touch the
 * next step or run.
 * @param {number} start ps @param {number} end ps
 */
export const windowText = (start, end) => `win:${spanText(start, end, true)}`;

/** A gap as a selection: `gap:TPU:0@715.080172721`. @param {{device: string, start_ps: number}} gap */
export const gapText = ({ device, start_ps }) => `gap:${device}@${msText(start_ps, true)}`;

/** The interval of a text; null if the text is not one. @param {string} text */
export function spanValue(text) {
  const [start, length] = text.split('+').map(msValue);
  return start >= 0 && length > 0 ? { start_ps: start, end_ps: start + length } : null;
}

/** Rounds a time that the pointer chose to whole ns, which keeps links short. @param {number} ps */
export const roundToNs = (ps) => Math.round(ps / 1000) * 1000;

/**
 * The window whose hash contains the state: the one around the frame if it is accessible, else this one.
 * @returns {Window}
 */
function addressWindow() {
  try {
    if (window.parent.location.hash !== undefined) return window.parent;
  } catch {
    // Framed by another origin.
  }
  return window;
}

/** Browsers limit how often an address may change. */
const DELAY_MS = 250;

/** Reads, writes and watches the link state. @param {() => string} defaultSession the session of a link without one */
export function createLink(defaultSession) {
  const target = addressWindow();
  /** @type {LinkState} */
  let state = parseHash(target.location.hash);
  /** @type {Set<(state: LinkState) => void>} */
  const listeners = new Set();
  /** Changes that are not written yet. @type {LinkState|null} */
  let delayed = null;
  let timer = 0;

  /** Returns the delayed changes, which then are no longer delayed. */
  function takeDelayed() {
    clearTimeout(timer);
    const changes = delayed;
    delayed = null;
    return changes;
  }
  function writeDelayed() {
    const changes = takeDelayed();
    if (changes) set(changes, 'replace');
  }
  /** @param {LinkState} changes @param {'push'|'replace'} how */
  function set(changes, how) {
    writeDelayed();
    const nextState = { ...state, ...changes };
    for (const key of /** @type {(keyof LinkState)[]} */ (Object.keys(nextState))) {
      if (!nextState[key]) delete nextState[key];
    }
    const session = nextState.s || defaultSession();
    if (session && Object.keys(nextState).some((key) => key !== 'v')) nextState.s = session;
    if (formatHash('', nextState) === formatHash('', state)) return;
    state = nextState;
    const { pathname, search, hash } = target.location;
    const url = pathname + search + formatHash(hash, state);
    if (how === 'push') target.history.pushState(target.history.state, '', url);
    else target.history.replaceState(target.history.state, '', url);
  }
  const follow = () => {
    const nextState = parseHash(target.location.hash);
    if (formatHash('', nextState) === formatHash('', state)) return;
    // They belong to the state that was left.
    takeDelayed();
    state = nextState;
    listeners.forEach((listener) => listener(state));
  };
  target.addEventListener('popstate', follow);
  target.addEventListener('hashchange', follow);
  addEventListener('pagehide', () => {
    target.removeEventListener('popstate', follow);
    target.removeEventListener('hashchange', follow);
  });
  return {
    get state() { return state; },
    /**
     * Changes some keys; an empty value removes one. A pushed change is a step that Back undoes.
     * @param {LinkState} changes @param {'push'|'replace'} how
     */
    set,
    /**
     * Replaces some keys a moment after the first of several changes, at the latest before the next `set` or `address`.
     * @param {LinkState} changes
     */
    setLater(changes) {
      if (!delayed) timer = window.setTimeout(writeDelayed, DELAY_MS);
      delayed = { ...delayed, ...changes };
    },
    /**
     * The address with the state, and with values for absent keys whose default depends on when the link is opened.
     * @param {LinkState} [defaults]
     */
    address(defaults = {}) {
      writeDelayed();
      const { href, hash } = target.location;
      return href.split('#')[0] + formatHash(hash, { ...defaults, ...state });
    },
    /** Calls back after Back, Forward or an edit of the address. @param {(state: LinkState) => void} listener */
    onNavigation(listener) { listeners.add(listener); },
  };
}
/** @typedef {ReturnType<typeof createLink>} Link */

/**
 * A link that changes only while `isOpen` returns true: views of a session that is being left must not write their
 * selections into the link of the next one.
 * @param {Link} link
 * @param {() => boolean} isOpen
 * @returns {Link}
 */
export const guardLink = (link, isOpen) => Object.create(link, {
  set: { value: (/** @type {Parameters<Link['set']>} */ ...change) => { if (isOpen()) link.set(...change); } },
  setLater: { value: (/** @type {LinkState} */ changes) => { if (isOpen()) link.setLater(changes); } },
});
