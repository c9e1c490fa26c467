/** The header: which session, hosts and devices are looked at; link and help. */

import { h, button } from '../lib/dom.js';
import { share } from '../lib/format.js';
import { pickOne, pickSome } from './pick.js';
import { sessionTitle } from './states.js';

const COPIED_MS = 1500;

/**
 * @param {object} on
 * @param {(name: string) => void} on.session @param {(names: string[]) => void} on.hosts
 * @param {(ids: string[]) => void} on.devices @param {() => void} on.copy @param {() => void} on.help
 */
export function createHeader(on) {
  const sessions = pickOne('session', 'session-select', on.session);
  const hosts = pickSome('hosts', 'host-select', on.hosts);
  const devices = pickSome('devices', 'device-select', on.devices);
  sessions.element.classList.add('none');
  hosts.element.classList.add('none');
  devices.element.classList.add('none');
  const synthetic = h('span', { class: 'tag warning none', 'data-testid': 'synthetic', title: 'Made by a program, not recorded on a machine.' }, 'synthetic');
  const copy = button('Copy link', on.copy, { 'data-testid': 'copy-link' });
  const element = h('header', { class: 'header', 'data-testid': 'header' },
    h('h1', null, 'XLA Insights'), sessions.element, synthetic, hosts.element, devices.element, h('span', { class: 'grow' }), copy,
    button('?', on.help, { class: 'ghost', 'aria-label': 'Keys', 'data-testid': 'help-button' }));
  let timer = 0;
  return {
    element,
    /** @param {import('../lib/types').SessionEntry[]} entries @param {string} name */
    sessions(entries, name) {
      sessions.element.classList.toggle('none', !name);
      const known = entries.some((entry) => entry.name === name);
      sessions.set([...(known ? [] : [{ value: name, label: name }]),
        ...entries.map((entry) => ({ value: entry.name, label: entry.name, title: sessionTitle(entry) }))], name);
    },
    /** @param {import('../lib/types').Ready} ready @param {{hosts: string[], devices: string[]}} chosen */
    open(ready, chosen) {
      synthetic.classList.toggle('none', !ready.environment.synthetic);
      hosts.set(ready.session.hosts.map(({ name }) => ({ value: name, label: name })), chosen.hosts);
      const visible = ready.devices.filter(({ host }) => !chosen.hosts.length || chosen.hosts.includes(host));
      devices.set(visible.map(({ id, name, host, duty_cycle }) => ({ value: id, label: ready.session.hosts.length > 1 ? `${name} · ${host}` : name, note: share(duty_cycle) })), chosen.devices);
    },
    /** Says that the link is copied, in place, without a change of width. */
    copied() {
      copy.style.width = `${copy.offsetWidth}px`;
      copy.textContent = 'Copied';
      clearTimeout(timer);
      timer = window.setTimeout(() => { copy.textContent = 'Copy link'; }, COPIED_MS);
    },
  };
}
