/** The host picker: a dialog that selects hosts by name, number or range, ranked by how long others wait for them. */

import { button, fill, h, onKeys, refill } from '../lib/dom.js';
import { clamp } from '../lib/axis.js';
import { get } from '../lib/api.js';
import { briefUnitFor, count, digits, MISSING, plural } from '../lib/format.js';
import { findHosts, hostsText, linkedHosts } from '../lib/host-names.js';
import { TABLES } from '../lib/table-definitions.js';
import { total } from '../lib/totals.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */

const ROW = 24;
const ROWS_IN_SIGHT = 11;
/** With more hosts than this, only the slowest and the median host are chosen at first. */
const MANY = 8;
const MANY_IN_TIMELINE = 16;

/**
 * @param {object} about
 * @param {string} about.session
 * @param {string[]} about.hosts names of the session's hosts
 * @param {string|undefined} about.linked the link's `h`
 * @param {number} about.rows timeline rows per host
 * @param {HTMLElement} about.below the element under which the dialog opens
 * @param {(text: string) => void} about.apply takes the hosts in the link's form; empty: all
 * @param {(text: string) => void} about.say @param {(error: unknown) => void} about.fail
 */
export function openPicker({ session, hosts, linked, rows, below, apply, say, fail }) {
  const names = [...hosts].sort(new Intl.Collator('en', { numeric: true }).compare);
  /** @type {Set<number>} */
  let chosen = new Set();
  /** The link's words for the chosen set, until single hosts are toggled. */
  let words = '';
  let touched = false;
  let order = [...names.keys()];
  /** @type {number[]} */
  let matches = order;
  let active = 0;
  /** @type {HostsAnswer|null} */
  let ranks = null;
  const search = h('input', {
    type: 'search',
    'aria-label': 'Find hosts',
    placeholder: 'name, number or range',
    'data-testid': 'host-picker-search',
    spellcheck: 'false',
    autofocus: true,
  });
  const hits = h('span', { class: 'muted num' });
  const sets = h('div', { class: 'row wrapped', role: 'group', 'aria-label': 'Sets' });
  const head = h('div', { class: 'pick-row small muted' });
  const list = h('div', { role: 'group', 'aria-label': 'Hosts' });
  const scroller = h('div', { class: 'pick-list' }, list);
  const pinned = h('div', { class: 'pinned' });
  const sum = h('p', { class: 'sec', role: 'status' });
  const done = button('Apply', applyChoice, { class: 'primary', 'data-testid': 'host-picker-apply' });
  const dialog = h(
    'dialog',
    { class: 'picker', 'aria-label': 'Hosts', 'data-testid': 'host-picker' },
    h('div', { class: 'pick-head' }, h('span', { class: 'field' }, search, hits), sets),
    head,
    scroller,
    pinned,
    h(
      'footer',
      null,
      sum,
      h('span', { class: 'grow' }),
      button('Cancel', () => dialog.close(), { 'data-testid': 'host-picker-cancel' }),
      done,
    ),
  );

  function medianHost() {
    const at = ranks && ranks.median_host !== null ? names.indexOf(ranks.hosts.name[ranks.median_host]) : -1;
    return at < 0 || names.length < 2 ? null : at;
  }
  /**
   * A host's value in a column of the ranking; null if the ranking does not have the host yet.
   * @template T
   * @param {(hosts: HostsAnswer['hosts']) => T[]} column
   * @param {number} at
   */
  const rankedValue = (column, at) => (ranks ? column(ranks.hosts)[ranks.hosts.name.indexOf(names[at])] ?? null : null);
  const lastOf = (/** @type {number} */ at) => rankedValue(({ last_count }) => last_count, at);
  const waitOf = (/** @type {number} */ at) => rankedValue(({ others_wait_us }) => others_wait_us, at);

  /** @returns {{id: string, label: string, hosts: number[], words: string}[]} */
  function choices() {
    const lastOnce = order.filter((at) => lastOf(at));
    const median = medianHost();
    return [
      ...(ranks && median !== null && names.length > 1
        ? [{ id: 'slowest', label: 'slowest and median', hosts: [order[0], median], words: 'slowest,median' }]
        : []),
      ...(lastOnce.length
        ? [{ id: 'last', label: `last at least once, ${count(lastOnce.length)}`, hosts: lastOnce, words: '' }]
        : []),
      { id: 'all', label: `all ${count(names.length)}`, hosts: order, words: '' },
      { id: 'none', label: 'none', hosts: [], words: '' },
    ];
  }

  const isChosen = (/** @type {number[]} */ places) =>
    new Set(places).size === chosen.size && places.every((at) => chosen.has(at));

  /** @param {number[]} places @param {string} [as] */
  function setChosen(places, as = '') {
    touched = true;
    chosen = new Set(places);
    words = as;
    draw();
  }

  /** @param {number} at */
  function toggle(at) {
    touched = true;
    if (!chosen.delete(at)) chosen.add(at);
    words = '';
    draw();
  }

  function draw() {
    refill(
      sets,
      choices().map(({ id, label, hosts: places, words: as }) =>
        button(label, () => setChosen(places, as), {
          class: 'small-button',
          'aria-pressed': String(isChosen(places)),
          'data-testid': `host-picker-${id}`,
        }),
      ),
      search.value.trim() !== '' &&
        matches.length > 0 &&
        button(`these ${count(matches.length)}`, () => setChosen(matches), {
          class: 'small-button',
          'aria-pressed': String(isChosen(matches)),
          'data-testid': 'host-picker-found',
        }),
    );
    const unit = briefUnitFor(total(order, (/** @type {number} */ at) => (waitOf(at) ?? 0) * 1e6));
    fill(
      head,
      h('span', null),
      h('span', null, ranks?.state === 'compared' ? 'Host, by how long others wait' : 'Host'),
      h('span', { class: 'num' }, ranks ? 'Times last' : ''),
      h('span', { class: 'num' }, ranks ? `${TABLES.hosts.others_wait_ps.head}, ${unit.name}` : ''),
    );
    hits.textContent = `${count(matches.length)} of ${count(names.length)}`;
    drawRows(unit.ps);
    const tooMany = chosen.size > MANY_IN_TIMELINE;
    fill(
      sum,
      h('b', null, `${count(chosen.size)} of ${count(names.length)}`),
      ' chosen',
      tooMany
        ? [
            ' ',
            h(
              'span',
              { class: 'tag warning' },
              `${plural(chosen.size, 'host')} are ${count(Math.round(chosen.size * rows))} rows`,
            ),
          ]
        : [' · ranges work too: ', h('code', null, '0-15, 41')],
    );
    done.disabled = !chosen.size;
  }

  /** @param {number} unit ps */
  function drawRows(unit) {
    const from = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 4);
    const to = Math.min(matches.length, from + ROWS_IN_SIGHT + 8);
    const focused = list.contains(document.activeElement);
    list.style.height = `${matches.length * ROW}px`;
    list.style.paddingTop = `${from * ROW}px`;
    fill(list, matches.slice(from, to).map((at, index) => row(at, unit, from + index)));
    if (focused) /** @type {HTMLElement|null} */ (list.querySelector('input[tabindex="0"]'))?.focus();
    const median = medianHost();
    fill(pinned, median !== null && row(median, unit, -1));
  }

  /**
   * @param {number} at
   * @param {number} unit ps @param {number} index in the list; -1 for the row pinned below it
   */
  function row(at, unit, index) {
    const wait = waitOf(at);
    const box = h('input', {
      type: 'checkbox',
      tabindex: index === active || index < 0 ? 0 : -1,
      'aria-label': names[at],
      onchange: () => {
        if (index >= 0) active = index;
        toggle(at);
      },
    });
    box.checked = chosen.has(at);
    return h(
      'label',
      {
        class: index === active && index >= 0 ? 'pick-row on' : 'pick-row',
        'data-testid': index < 0 ? 'host-picker-median' : `host-picker-row-${at}`,
      },
      box,
      h(
        'span',
        { class: 'name', title: names[at] },
        emphasized(names[at], index < 0 ? '' : search.value.trim()),
        index < 0 && [' ', h('span', { class: 'tag' }, 'median')],
      ),
      h('span', { class: 'num' }, ranks ? count(lastOf(at)) : ''),
      h('span', { class: 'num' }, !ranks ? '' : wait === null ? MISSING : digits((wait * 1e6) / unit, 3)),
    );
  }

  /** @param {string} name @param {string} text */
  function emphasized(name, text) {
    const at = name.toLowerCase().indexOf(text.toLowerCase());
    return text && at >= 0
      ? [name.slice(0, at), h('mark', null, name.slice(at, at + text.length)), name.slice(at + text.length)]
      : [name];
  }

  function find() {
    const places = new Set(findHosts(search.value, names));
    matches = order.filter((at) => places.has(at));
    active = 0;
    scroller.scrollTop = 0;
    draw();
  }

  function applyChoice() {
    const allChosen = chosen.size === names.length;
    apply(words || (allChosen ? (names.length > MANY ? 'all' : '') : hostsText([...chosen], names)));
    dialog.close();
    say(`${plural(chosen.size, 'host')} of ${count(names.length)} chosen.`);
  }

  /** @param {number} to */
  function move(to) {
    active = clamp(to, 0, matches.length - 1);
    const top = active * ROW;
    scroller.scrollTop = clamp(scroller.scrollTop, top - (ROWS_IN_SIGHT - 1) * ROW, top);
    draw();
    /** @type {HTMLElement|null} */ (list.querySelector('input[tabindex="0"]'))?.focus();
  }
  onKeys(list, 'input', {
    ArrowDown: () => move(active + 1),
    ArrowUp: () => (active ? move(active - 1) : search.focus()),
    Home: () => move(0),
    End: () => move(matches.length - 1),
    PageDown: () => move(active + ROWS_IN_SIGHT),
    PageUp: () => move(active - ROWS_IN_SIGHT),
    Enter: () => {
      if (chosen.size) applyChoice();
    },
  });
  onKeys(search, '*', {
    ArrowDown: () => move(0),
    Enter: () => {
      if (search.value.trim()) setChosen(matches);
      else if (chosen.size) applyChoice();
    },
  });
  search.addEventListener('input', find);
  scroller.addEventListener('scroll', draw, { passive: true });
  dialog.addEventListener('click', ({ target, clientX, clientY }) => {
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    if (target === dialog && (clientX < left || clientX > right || clientY < top || clientY > bottom)) dialog.close();
  });
  dialog.addEventListener('close', () => dialog.remove());

  /** Chooses the link's hosts; without any, all hosts, or the slowest and the median one of many. */
  function chooseInitial() {
    const median = medianHost();
    const ranked = /** @type {Partial<Record<'slowest'|'median', string>>} */ (
      ranks && median !== null ? { slowest: names[order[0]], median: names[median] } : {}
    );
    const linkedPlaces = linkedHosts(linked, names, ranked).map((name) => names.indexOf(name));
    if (linkedPlaces.length) setChosen(linkedPlaces, /slowest|median/.test(linked ?? '') ? linked : '');
    else if (names.length > MANY && median !== null) setChosen([order[0], median], 'slowest,median');
    else setChosen(names.length > MANY && !ranks ? [] : order);
    touched = false;
  }

  const bounds = below.getBoundingClientRect();
  dialog.style.left = `${Math.max(8, Math.min(bounds.left, innerWidth - 446))}px`;
  dialog.style.top = `${bounds.bottom + 3}px`;
  document.body.append(dialog);
  chooseInitial();
  dialog.showModal();
  get('hosts', { session }).then((document) => {
    ranks = document;
    const rankedPlaces = document.order.map((at) => names.indexOf(document.hosts.name[at])).filter((at) => at >= 0);
    order = [...new Set([...rankedPlaces, ...order])];
    if (!touched) chooseInitial();
    find();
  }).catch((error) => { if (dialog.isConnected) fail(error); });
}
