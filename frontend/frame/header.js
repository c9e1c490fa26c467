/** The header: choices of session, hosts, devices and comparison; buttons for link, capture and help. */

import { button, h, labelledSelect, setOptions } from '../lib/dom.js';
import { deviceName } from '../lib/cards.js';
import { count } from '../lib/format.js';
import { shortNames } from '../lib/host-names.js';
import { createMultiSelect } from './multi-select.js';
import { escapeInvisible } from '../lib/escapes.js';

const COPIED_MS = 1500;
/** Longer lists of sessions have a filter. */
const MAX_UNFILTERED_SESSIONS = 12;

/**
 * @param {object} on actions of the choices and buttons
 * @param {(name: string) => void} on.session
 * @param {(anchor: HTMLElement) => void} on.hosts opens the host picker under an element
 * @param {(ids: string[]) => void} on.devices
 * @param {(name: string) => void} on.compare
 * @param {() => void} on.copy
 * @param {() => void} on.help
 * @param {HTMLElement} notes the menu of notes
 * @param {HTMLElement} captureButton opens the capture dialog
 * @param {boolean} isCopy whether the page is a static copy
 */
export function createHeader(on, notes, captureButton, isCopy) {
  const sessions = labelledSelect('session', [], '', on.session, 'session-select');
  const hosts = button('', () => on.hosts(hosts), {
    class: 'ghost',
    'aria-haspopup': 'dialog',
    'data-testid': 'host-select',
  });
  const hostPick = h('span', { class: 'pick hidden', title: 'hosts' }, h('span', null, 'hosts'), hosts);
  const devices = createMultiSelect('devices', 'device-select', on.devices);
  const comparison = labelledSelect('compare with', [], '', on.compare, 'compare-select');
  /** The choices within the shown session. */
  const choices = [hostPick, devices.element, comparison];
  /** @type {string[]} */
  let names = [];
  let shownName = '';
  let chosenName = '';
  /** @type {string|undefined} */
  let comparedName;
  const filter = h('input', {
    type: 'search',
    placeholder: 'Filter sessions',
    'aria-label': 'Filter the sessions',
    'data-testid': 'session-filter',
    oninput: drawNames,
  });
  const filterField = h('span', { class: 'pick session-filter hidden' }, filter);
  sessions.classList.add('hidden');
  comparison.classList.add('hidden');
  const synthetic = h(
    'span',
    {
      class: 'tag warning hidden',
      'data-testid': 'synthetic',
      title: 'Written by a program, not recorded from a run.',
    },
    'synthetic',
  );
  const copy = button('Copy link', on.copy, { 'data-testid': 'copy-link' });
  const element = h(
    'header',
    { class: 'header', 'data-testid': 'header' },
    h('h1', null, 'XLA Insights'),
    filterField,
    sessions,
    isCopy &&
      h(
        'span',
        {
          class: 'tag',
          'data-testid': 'static-copy',
          title: 'A file with recorded answers. TensorBoard shows the whole capture.',
        },
        'static copy',
      ),
    synthetic,
    hostPick,
    devices.element,
    comparison,
    h('span', { class: 'grow' }),
    notes,
    captureButton,
    copy,
    button('?', on.help, { class: 'ghost', 'aria-label': 'Keys', 'data-testid': 'help-button' }),
  );
  let timer = 0;
  return {
    element,
    /**
     * Shows the choice of sessions. While a session replaces the shown one, the other choices cannot be used.
     * @param {import('../lib/routes').ListedSession[]} listed
     * @param {string} name of the chosen session, which may be missing from the list
     */
    setSessions(listed, name) {
      sessions.classList.toggle('hidden', !name);
      names = listed.map((item) => item.name);
      chosenName = name;
      filterField.classList.toggle('hidden', names.length <= MAX_UNFILTERED_SESSIONS);
      choices.forEach((choice) => { choice.inert = name !== shownName; });
      drawNames();
    },
    /**
     * Shows the choices of hosts, devices and the session to compare with.
     * @param {import('../lib/types').Ready} ready
     * @param {{hosts: string[], devices: string[]}} chosen names of hosts, ids of devices
     * @param {string} [compared] the session to compare with
     */
    update(ready, chosen, compared) {
      shownName = ready.session.name;
      comparedName = compared;
      choices.forEach((choice) => { choice.inert = false; });
      comparison.classList.toggle('hidden', names.every((name) => name === shownName));
      drawNames();
      synthetic.classList.toggle('hidden', !ready.environment.synthetic);
      const hostNames = ready.session.hosts.map(({ name }) => name);
      hostPick.classList.toggle('hidden', !hostNames.length);
      const short = new Map(shortNames(hostNames).map((text, at) => [hostNames[at], text]));
      const shortOf = (/** @type {string} */ name) => short.get(name) ?? name;
      const pair =
        chosen.hosts.length === 2 && hostNames.length > 2
          ? `: ${chosen.hosts.map(shortOf).join(', ')}`
          : '';
      hosts.textContent =
        chosen.hosts.length === 1
          ? escapeInvisible(chosen.hosts[0])
          : `${count(chosen.hosts.length)} of ${count(hostNames.length)}${escapeInvisible(pair)}`;
      hosts.setAttribute('aria-label', `hosts, ${hosts.textContent}`);
      const chosenHosts = new Set(chosen.hosts);
      const visible = ready.devices.filter(({ host }) => chosenHosts.has(host));
      devices.set(
        visible.map((device) => ({
          value: device.id,
          label: deviceName({ ...device, host: shortOf(device.host) }, hostNames),
        })),
        chosen.devices,
        {
          choiceCount: ready.devices.length,
          note: visible.length > 1 ? 'The numbers beside the tabs cover the whole session.' : '',
        },
      );
    },
    /** Hides the choices within the session, and its tag: no session is shown. */
    clear() {
      shownName = '';
      [...choices, synthetic].forEach((item) => { item.classList.add('hidden'); });
    },
    /** Shows `Copied` on the button for a moment, at unchanged width. */
    showCopied() {
      copy.style.width = `${copy.offsetWidth}px`;
      copy.textContent = 'Copied';
      clearTimeout(timer);
      timer = window.setTimeout(() => { copy.textContent = 'Copy link'; }, COPIED_MS);
    },
  };

  /** Lists the sessions that pass the filter, and those that are chosen. */
  function drawNames() {
    const text = names.length > MAX_UNFILTERED_SESSIONS ? filter.value.toLowerCase() : '';
    const listed = (/** @type {string|undefined} */ chosen) => [
      ...(chosen && !names.includes(chosen) ? [chosen] : []),
      ...names.filter((name) => name === chosen || name.toLowerCase().includes(text)),
    ];
    setOptions(/** @type {HTMLSelectElement} */ (sessions.lastElementChild), listed(chosenName), chosenName);
    setOptions(
      /** @type {HTMLSelectElement} */ (comparison.lastElementChild),
      [['', 'none'], ...listed(comparedName).filter((name) => name !== shownName)],
      comparedName,
    );
  }
}
