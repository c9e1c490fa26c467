/** What stands in the view's place when there is no session to show: loading, error, nothing there. */

import { h, fill, button } from '../lib/dom.js';
import { bytes, count, digits } from '../lib/format.js';

/** @typedef {import('../lib/types').HostProgress} HostProgress */

/** @param {string} title @param {...(Node|string|null)} body */
function card(title, ...body) {
  return h('div', { class: 'cards' },
    h('section', { class: 'card' }, h('header', null, h('h2', null, title)), h('div', { class: 'body' }, ...body)));
}

/** `412 of 1 204 MB`, both in the unit of the whole. @param {number} part @param {number} whole */
function amount(part, whole) {
  const unit = [1e9, 1e6, 1e3].find((size) => whole >= size * 10) ?? 1;
  const name = { 1e9: 'GB', 1e6: 'MB', 1e3: 'kB' }[unit] ?? 'B';
  return `${digits(part / unit)} of ${digits(whole / unit)}\u202f${name}`;
}

/** @param {number} part from 0 to 1 */
function meter(part) {
  const fill = h('i', null);
  fill.style.width = `${Math.min(1, Math.max(0, part)) * 100}%`;
  return h('div', { class: 'meter' }, fill);
}

/** `Reading t1v-n-8c41-w-0 · 412 of 1 204 MB · about 6 s left` @param {import('../lib/types').Loading} loading */
export function loadingText({ hosts, bytes_read, bytes: whole, seconds_left }) {
  const who = hosts.length === 1 ? hosts[0].name : `${count(hosts.length)} hosts`;
  const left = seconds_left == null ? '' : ` · about ${count(Math.max(1, Math.round(seconds_left)))}\u202fs left`;
  return `Reading ${who} · ${amount(bytes_read, whole)}${left}`;
}

/** @param {HostProgress} host */
function hostText(host) {
  if (host.state === 'reading') return amount(host.bytes_read, host.bytes);
  return host.state === 'error' ? host.message ?? 'error' : host.state;
}

/** How far the reading is. The card stays while its content changes, so that `Stop` keeps the focus. @param {() => void} stop */
export function createLoadingCard(stop) {
  const text = h('p', { class: 'lead' });
  const bars = h('div', null);
  const element = card('Loading', text, bars,
    h('p', null, button('Stop and keep what was read', stop, { 'data-testid': 'stop-loading' })));
  element.dataset.testid = 'progress';
  return {
    element,
    /** @param {import('../lib/types').Loading} loading */
    update(loading) {
      text.textContent = loadingText(loading);
      fill(bars, meter(loading.bytes ? loading.bytes_read / loading.bytes : 0),
        loading.hosts.length > 1 ? h('div', { class: 'hosts' }, ...loading.hosts.flatMap((host) => [
          h('span', null, host.name), meter(host.state === 'ready' ? 1 : host.bytes ? host.bytes_read / host.bytes : 0),
          h('span', { class: 'num sec' }, hostText(host)),
        ])) : null);
    },
  };
}

/** @param {string} message @param {() => void} again */
export function errorCard(message, again) {
  const element = card('This session cannot be shown',
    h('p', null, h('span', { class: 'tag critical' }, 'error'), ' ', message),
    h('p', null, button('Try again', again, { 'data-testid': 'try-again' })));
  element.dataset.testid = 'error';
  return element;
}

const SERVER_CODE = `import torch_xla.debug.profiler as xp
server = xp.start_server(9012)`;
const CAPTURE_CODE = `import torch_xla.debug.profiler as xp
xp.trace('localhost:9012', LOGDIR, duration_ms=3000)`;

/** @param {import('../lib/types').SessionList} list @param {() => void} again */
export function noSessionsCard(list, again) {
  const element = card('No profile under this logdir.',
    h('p', { class: 'sec' }, list.logdir ? `Nothing was found in ${list.logdir}.` : list.message),
    h('p', null, 'Start the profiler server in the process that owns the device, before the training loop:'),
    h('pre', null, h('code', null, SERVER_CODE)),
    h('p', null, 'Capture from another process while the loop runs:'),
    h('pre', null, h('code', null, CAPTURE_CODE)),
    h('p', { class: 'sec' }, 'This page looks again when it gets the focus. ', button('Look again', again)));
  element.dataset.testid = 'no-sessions';
  return element;
}

/** The sizes of a session for its entry in the list. @param {import('../lib/types').SessionEntry} entry */
export function sessionTitle(entry) {
  const size = entry.hosts.reduce((sum, host) => sum + host.bytes, 0);
  return `${entry.name}: ${entry.hosts.length === 1 ? entry.hosts[0].name : count(entry.hosts.length) + ' hosts'}, ${bytes(size)}`;
}
