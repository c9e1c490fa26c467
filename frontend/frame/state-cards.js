/** The cards shown in place of a view: loading, analysis, error, no sessions. */

import { button, fill, h, percent } from '../lib/dom.js';
import { card, severityTag } from '../lib/cards.js';
import { bytes, count, digits, plural } from '../lib/format.js';
import { total } from '../lib/totals.js';
import { escapeInvisible } from '../lib/escapes.js';

/** @typedef {import('../lib/routes').HostReading} HostReading */

/** @param {string} testid @param {string} title @param {...(Node|string|null)} body */
const stateCard = (testid, title, ...body) =>
  h('div', { class: 'cards', 'data-testid': testid }, card(title, {}, ...body));

/** @type {[number, string][]} */
const UNITS = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']];

/**
 * `412 of 1 204 MB`, both in the unit of the total; `412.0 MB` while the total is unknown.
 * @param {number} part
 * @param {number|null} whole
 */
function amount(part, whole) {
  if (!whole) return bytes(part);
  const [unit, name] = UNITS.find(([size]) => whole >= size * 10) ?? [1, 'B'];
  return `${digits(part / unit)} of ${digits(whole / unit)}\u202f${name}`;
}

/** @param {number} share from 0 to 1 @param {string} [label] makes it a progress bar for assistive technology */
const meter = (share, label) =>
  h(
    'div',
    {
      class: 'meter',
      ...(label
        ? {
            role: 'progressbar',
            'aria-label': label,
            'aria-valuenow': Math.min(99, Math.round(100 * share)),
            'data-testid': 'meter',
          }
        : {}),
    },
    h('i', { style: { width: percent(Math.min(1, share)) } }),
  );

/**
 * The share that opening the timeline has in the wait for findings; the rest is the analysis. Measured as 7.9 of 16 s
 * CPU time for 29 M events.
 */
const OPENING_SHARE = 0.5;

/** Longer waits are given in minutes: `about 40 s left`, `about 4 min left`. */
const MAX_SECONDS = 90;
/** The card lists at most this many hosts; if there are more, those in progress or with errors. */
const MAX_LISTED_HOSTS = 32;

/** @param {number} seconds */
function remainingText(seconds) {
  if (seconds > MAX_SECONDS) return `about ${count(Math.round(seconds / 60))}\u202fmin left`;
  return `about ${count(Math.max(1, Math.round(seconds)))}\u202fs left`;
}

/**
 * The stage of loading: `Reading t1v-n-8c41-w-0 · 412 of 1 204 MB · about 6 s left`.
 * @param {import('../lib/routes').SessionLoading} loading
 */
export function loadingText({ stage, hosts, bytes_read, bytes: whole, seconds_left }) {
  const subject = hosts.length === 1 ? hosts[0].name : `${count(hosts.length)} hosts`;
  const remaining = seconds_left == null ? '' : ` · ${remainingText(seconds_left)}`;
  const stages = {
    reading: `Reading ${subject} · ${amount(bytes_read, whole)}`,
    building: `Assigning the events of ${subject} to threads and devices`,
    drawing: 'Preparing the timeline',
  };
  return stages[stage] + remaining;
}

/**
 * The progress of a session whose first hosts are drawn:
 * `41 of 64 hosts read; the slowest may be among the rest. 3 116 of 4 864 MB read, about 12 s left.`
 * @param {import('../lib/routes').SessionLoading} loading
 */
export function partialText({ partial, bytes_read, bytes: whole, seconds_left }) {
  const { hosts_read, hosts_total, hosts_covered } = partial ?? { hosts_read: 0, hosts_total: 0, hosts_covered: 0 };
  const read = `${count(hosts_read)} of ${plural(hosts_total, 'host')} read`;
  if (hosts_read === hosts_total) return `${read}. Building their report.`;
  const remaining = whole && seconds_left != null ? `, ${remainingText(seconds_left)}` : '';
  const coverage = hosts_covered < hosts_read ? ` The numbers cover ${plural(hosts_covered, 'host')}.` : '';
  const progress = `${amount(bytes_read, whole)} read${whole ? remaining : ' so far'}.`;
  return `${read}; the slowest may be among the rest. ${progress}${coverage}`;
}

/** @param {HostReading} host */
function hostText(host) {
  if (host.state === 'building') return 'assigning its events';
  if (host.state === 'reading') return amount(host.bytes_read, host.bytes);
  return host.state === 'error' ? host.message ?? 'error' : host.state;
}

/**
 * The hosts that the card lists. The others are read or wait, unless more than the limit are in progress or have
 * errors.
 * @param {HostReading[]} hosts
 */
export const hostsToList = (hosts) =>
  hosts.length > MAX_LISTED_HOSTS
    ? hosts.filter(({ state }) => state !== 'ready' && state !== 'waiting').slice(0, MAX_LISTED_HOSTS)
    : hosts;

/** The progress of each host. @param {HostReading[]} hosts */
function hostBars(hosts) {
  const listedHosts = hostsToList(hosts);
  const hiddenCount = hosts.length - listedHosts.length;
  const inState = (/** @type {string} */ name) => count(hosts.filter(({ state }) => state === name).length);
  return [
    h(
      'div',
      { class: 'hosts' },
      ...listedHosts.flatMap((host) => [
        h('span', null, host.name),
        meter(host.state === 'ready' ? 1 : host.bytes ? host.bytes_read / host.bytes : 0),
        h('span', { class: 'numeric secondary' }, hostText(host)),
      ]),
    ),
    hiddenCount > 0 &&
      h(
        'p',
        { class: 'small muted' },
        `${plural(hiddenCount, 'more host')}. ${inState('ready')} read, ${inState('waiting')} waiting.`,
      ),
  ];
}

/**
 * The card with the progress of reading. Only its content changes, so that `Stop` keeps the focus.
 * @param {() => void} stop
 */
export function createLoadingCard(stop) {
  const text = h('p', { class: 'lead' });
  const bars = h('div', null);
  return {
    element: stateCard(
      'progress',
      'Loading',
      text,
      bars,
      h('p', null, button('Stop and keep the hosts that were read', stop, { 'data-testid': 'stop-loading' })),
    ),
    /**
     * @param {import('../lib/routes').SessionLoading} loading
     * @param {boolean} timelineOnly whether the user waits for the timeline, not for findings
     */
    update(loading, timelineOnly) {
      text.textContent = escapeInvisible(loadingText(loading));
      fill(
        bars,
        meter(loading.done_share * (timelineOnly ? 1 : OPENING_SHARE), 'Loading'),
        loading.hosts.length > 1 ? hostBars(loading.hosts) : null,
      );
    },
  };
}

/** A lower limit for the expected duration of an analysis, and its estimate if the loading time is unknown. */
const MS_PER_EVENT = 0.27e-3;
const REDRAW_MS = 200;

/**
 * The card for the wait for an analysis. The server reports no progress, so the bar follows an estimate from the
 * session's loading time.
 * @param {import('../lib/types').Ready} session
 * @param {() => void} showTimeline
 */
export function analysisCard({ session: { hosts }, loaded_ms = 0 }, showTimeline) {
  const events = total(hosts, 'events');
  const expectedMs = Math.max(loaded_ms / OPENING_SHARE * (1 - OPENING_SHARE), events * MS_PER_EVENT, 1);
  const startTime = performance.now();
  const bar = h('div', null);
  // The bar approaches its end but never reaches it: at the expected time, 22 % of the analysis remains.
  const draw = () => {
    const remaining = (1 - OPENING_SHARE) * Math.exp((-1.5 * (performance.now() - startTime)) / expectedMs);
    fill(bar, meter(Math.min(0.99, 1 - remaining), 'Analysing'));
  };
  draw();
  const element = stateCard(
    'analysing',
    'Loading',
    h('p', { class: 'lead' }, `Analysing ${plural(events, 'event')}: causes and findings follow.`),
    bar,
    h('p', null, button('Show the timeline meanwhile', showTimeline)),
  );
  // While another view is in front, the card keeps its parent.
  const timer = setInterval(() => (element.parentNode ? draw() : clearInterval(timer)), REDRAW_MS);
  return element;
}

/** @param {string} message @param {() => void} retry @param {string} [title] @param {string} [label] of the button */
export const errorCard = (message, retry, title = 'This session cannot be shown', label = 'Try again') =>
  stateCard(
    'error',
    title,
    h('p', null, h('span', { class: 'tag critical' }, 'error'), ' ', message),
    h('p', null, button(label, retry, { 'data-testid': 'try-again' })),
  );

const SERVER_CODE = 'import torch_xla.debug.profiler as xp\nserver = xp.start_server(3294)';
const CAPTURE_CODE = 'xla-insights capture localhost:3294 LOGDIR --duration-ms 3000';

/** @param {import('../lib/routes').SessionList} list @param {() => void} retry @param {() => void} capture */
export const noSessionsCard = (list, retry, capture) => stateCard('no-sessions', 'No sessions',
  h('p', { class: 'secondary' }, list.message),
  list.note ? h('p', null, severityTag('warning'), ' ', list.note) : null,
  h('p', null, 'Start the profiler server in the process that owns the device, before the training loop:'),
  h('pre', null, h('code', null, SERVER_CODE)),
  h('p', null, `Capture while the loop runs, from another process${list.capture ? ' or from this page' : ''}:`),
  h('pre', null, h('code', null, CAPTURE_CODE)),
  list.capture ? h('p', null, button('Capture…', capture)) : null,
  h('p', { class: 'secondary' }, 'This page checks again when it gets the focus. ', button('Look again', retry)));
