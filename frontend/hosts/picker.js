/** The host picker: a dialog to select hosts by name, number or range, listed by how long others wait for them. */

import { button, fill, h, onKeys, refill } from '../lib/dom.js';
import { clamp } from '../lib/axis.js';
import { get } from '../lib/api.js';
import { briefUnitFor, count, digits, MISSING, plural } from '../lib/format.js';
import { findHosts, hostsText, linkedHosts } from '../lib/host-names.js';
import { TABLES } from '../lib/table-definitions.js';
import { total } from '../lib/totals.js';
import { PS_PER_US } from './rows.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */

const ROW_PX = 24;
const VISIBLE_ROWS = 11;
/** Rows drawn above and below the visible ones. */
const EXTRA_ROWS = 4;
/** With more hosts than this, only the slowest and the median host are selected at first. */
const MAX_SELECTED_AT_FIRST = 8;
/** With more selected hosts than this, the dialog warns of the number of rows in the timeline. */
const MAX_TIMELINE_HOSTS = 16;
/** Width of the dialog with a margin. */
const DIALOG_PX = 446;

/**
 * @param {object} about
 * @param {string} about.session
 * @param {string[]} about.hosts names of the session's hosts
 * @param {string|undefined} about.linked the link's `h`
 * @param {number} about.rows timeline rows per host
 * @param {HTMLElement} about.anchor the element under which the dialog opens
 * @param {(text: string) => void} about.apply takes the hosts in the link's form; empty: all
 * @param {(text: string) => void} about.announce @param {(error: unknown) => void} about.reportError
 * @returns {() => void} closes the dialog, if it is open
 */
export function openPicker({ session, hosts, linked, rows, anchor, apply, announce, reportError }) {
  const names = [...hosts].sort(new Intl.Collator('en', { numeric: true }).compare);
  /** Indices in `names`, as all lists of hosts here. @type {Set<number>} */
  let selected = new Set();
  /** The link's words for the selection, until single hosts are toggled. */
  let linkWords = '';
  let isEdited = false;
  /** All hosts, those for which others wait longest first once the ranking is loaded. */
  let order = [...names.keys()];
  /** The hosts that match the search. */
  let matches = order;
  /** Index in `matches` of the row that Tab leads to. */
  let active = 0;
  /** @type {HostsAnswer|null} */
  let ranking = null;
  /** Indices in the ranking, by name. @type {Map<string, number>} */
  let rankedIndices = new Map();
  const search = h('input', {
    type: 'search',
    'aria-label': 'Find hosts',
    placeholder: 'name, number or range',
    'data-testid': 'host-picker-search',
    spellcheck: 'false',
    autofocus: true,
  });
  const matchCount = h('span', { class: 'muted numeric' });
  const sets = h('div', { class: 'row wrapped', role: 'group', 'aria-label': 'Sets' });
  const head = h('div', { class: 'pick-row small muted' });
  const list = h('div', { role: 'group', 'aria-label': 'Hosts' });
  const scroller = h('div', { class: 'pick-list' }, list);
  const pinned = h('div', { class: 'pinned' });
  const summary = h('p', { class: 'secondary', role: 'status' });
  const applyButton = button('Apply', applySelection, { class: 'primary', 'data-testid': 'host-picker-apply' });
  const dialog = h(
    'dialog',
    { class: 'picker', 'aria-label': 'Hosts', 'data-testid': 'host-picker' },
    h('div', { class: 'pick-head' }, h('span', { class: 'field' }, search, matchCount), sets),
    head,
    scroller,
    pinned,
    h(
      'footer',
      null,
      summary,
      h('span', { class: 'grow' }),
      button('Cancel', () => dialog.close(), { 'data-testid': 'host-picker-cancel' }),
      applyButton,
    ),
  );

  function medianHost() {
    const median = ranking?.median_host ?? null;
    const index = ranking && median !== null ? names.indexOf(ranking.hosts.name[median]) : -1;
    return index < 0 || names.length < 2 ? null : index;
  }
  /**
   * A host's value in a column of the ranking; null if the ranking does not have the host yet.
   * @template T
   * @param {(hosts: HostsAnswer['hosts']) => T[]} column
   * @param {number} host
   */
  const rankedValue = (column, host) =>
    ranking ? (column(ranking.hosts)[rankedIndices.get(names[host]) ?? -1] ?? null) : null;
  const lastOf = (/** @type {number} */ host) => rankedValue(({ last_count }) => last_count, host);
  const waitOf = (/** @type {number} */ host) => rankedValue(({ others_wait_us }) => others_wait_us, host);

  /** Sets of hosts to select at once. @returns {{id: string, label: string, hosts: number[], words: string}[]} */
  function hostSets() {
    const lastHosts = order.filter((host) => lastOf(host));
    const median = medianHost();
    return [
      ...(median !== null
        ? [{ id: 'slowest', label: 'slowest and median', hosts: [order[0], median], words: 'slowest,median' }]
        : []),
      ...(lastHosts.length
        ? [{ id: 'last', label: `last at least once, ${count(lastHosts.length)}`, hosts: lastHosts, words: '' }]
        : []),
      { id: 'all', label: `all ${count(names.length)}`, hosts: order, words: '' },
      { id: 'none', label: 'none', hosts: [], words: '' },
    ];
  }

  const isSelection = (/** @type {number[]} */ set) =>
    new Set(set).size === selected.size && set.every((host) => selected.has(host));

  /** @param {number[]} set @param {string} [words] the link's words for it */
  function setSelection(set, words = '') {
    isEdited = true;
    selected = new Set(set);
    linkWords = words;
    draw();
  }

  /** @param {number} host */
  function toggle(host) {
    isEdited = true;
    if (!selected.delete(host)) selected.add(host);
    linkWords = '';
    draw();
  }

  function draw() {
    refill(
      sets,
      hostSets().map(({ id, label, hosts: set, words }) =>
        button(label, () => setSelection(set, words), {
          class: 'small-button',
          'aria-pressed': String(isSelection(set)),
          'data-testid': `host-picker-${id}`,
        }),
      ),
      search.value.trim() !== '' &&
        matches.length > 0 &&
        button(`these ${count(matches.length)}`, () => setSelection(matches), {
          class: 'small-button',
          'aria-pressed': String(isSelection(matches)),
          'data-testid': 'host-picker-found',
        }),
    );
    const unit = briefUnitFor(total(order, (/** @type {number} */ host) => (waitOf(host) ?? 0) * PS_PER_US));
    fill(
      head,
      h('span', null),
      h('span', null, ranking?.state === 'compared' ? 'Host, by how long others wait' : 'Host'),
      h('span', { class: 'numeric' }, ranking ? 'Times last' : ''),
      h('span', { class: 'numeric' }, ranking ? `${TABLES.hosts.others_wait_ps.head}, ${unit.name}` : ''),
    );
    matchCount.textContent = `${count(matches.length)} of ${count(names.length)}`;
    drawRows(unit);
    const isTooMany = selected.size > MAX_TIMELINE_HOSTS;
    fill(
      summary,
      h('b', null, `${count(selected.size)} of ${count(names.length)}`),
      ' chosen',
      isTooMany
        ? [
            ' ',
            h(
              'span',
              { class: 'tag warning' },
              `${plural(selected.size, 'host')}: ${count(Math.round(selected.size * rows))} rows in the timeline`,
            ),
          ]
        : [' · ranges work too: ', h('code', null, '0-15, 41')],
    );
    applyButton.disabled = !selected.size;
  }

  /** @param {import('../lib/format.js').Unit} unit */
  function drawRows(unit) {
    const from = Math.max(0, Math.floor(scroller.scrollTop / ROW_PX) - EXTRA_ROWS);
    const to = Math.min(matches.length, from + VISIBLE_ROWS + 2 * EXTRA_ROWS);
    const focused = list.contains(document.activeElement);
    list.style.height = `${matches.length * ROW_PX}px`;
    list.style.paddingTop = `${from * ROW_PX}px`;
    fill(list, matches.slice(from, to).map((host, index) => row(host, unit, from + index)));
    if (focused) /** @type {HTMLElement|null} */ (list.querySelector('input[tabindex="0"]'))?.focus();
    const median = medianHost();
    fill(pinned, median !== null && row(median, unit, -1));
  }

  /**
   * @param {number} host
   * @param {import('../lib/format.js').Unit} unit
   * @param {number} index in the list; -1 for the row pinned below it
   */
  function row(host, unit, index) {
    const wait_us = waitOf(host);
    const checkbox = h('input', {
      type: 'checkbox',
      tabindex: index === active || index < 0 ? 0 : -1,
      'aria-label': names[host],
      onchange: () => {
        if (index >= 0) active = index;
        toggle(host);
      },
    });
    checkbox.checked = selected.has(host);
    return h(
      'label',
      {
        class: index === active && index >= 0 ? 'pick-row on' : 'pick-row',
        'data-testid': index < 0 ? 'host-picker-median' : `host-picker-row-${host}`,
      },
      checkbox,
      h(
        'span',
        { class: 'name', title: names[host] },
        markMatch(names[host], index < 0 ? '' : search.value.trim()),
        index < 0 && [' ', h('span', { class: 'tag' }, 'median')],
      ),
      h('span', { class: 'numeric' }, ranking ? count(lastOf(host)) : ''),
      h(
        'span',
        { class: 'numeric' },
        !ranking ? '' : wait_us === null ? MISSING : digits((wait_us * PS_PER_US) / unit.ps, 3),
      ),
    );
  }

  /** A name in which the searched text is marked. @param {string} name @param {string} text */
  function markMatch(name, text) {
    const start = name.toLowerCase().indexOf(text.toLowerCase());
    const end = start + text.length;
    return text && start >= 0
      ? [name.slice(0, start), h('mark', null, name.slice(start, end)), name.slice(end)]
      : [name];
  }

  function find() {
    const matching = new Set(findHosts(search.value, names));
    matches = order.filter((host) => matching.has(host));
    active = 0;
    scroller.scrollTop = 0;
    draw();
  }

  function applySelection() {
    const all = names.length > MAX_SELECTED_AT_FIRST ? 'all' : '';
    apply(linkWords || (selected.size === names.length ? all : hostsText([...selected], names)));
    dialog.close();
    announce(`${plural(selected.size, 'host')} of ${count(names.length)} chosen.`);
  }

  /** @param {number} to */
  function move(to) {
    active = clamp(to, 0, matches.length - 1);
    const top = active * ROW_PX;
    scroller.scrollTop = clamp(scroller.scrollTop, top - (VISIBLE_ROWS - 1) * ROW_PX, top);
    draw();
    /** @type {HTMLElement|null} */ (list.querySelector('input[tabindex="0"]'))?.focus();
  }
  onKeys(list, 'input', {
    ArrowDown: () => move(active + 1),
    ArrowUp: () => (active ? move(active - 1) : search.focus()),
    Home: () => move(0),
    End: () => move(matches.length - 1),
    PageDown: () => move(active + VISIBLE_ROWS),
    PageUp: () => move(active - VISIBLE_ROWS),
    Enter: () => {
      if (selected.size) applySelection();
    },
  });
  onKeys(search, '*', {
    ArrowDown: () => move(0),
    Enter: () => {
      if (search.value.trim()) setSelection(matches);
      else if (selected.size) applySelection();
    },
  });
  search.addEventListener('input', find);
  scroller.addEventListener('scroll', draw, { passive: true });
  dialog.addEventListener('click', ({ target, clientX, clientY }) => {
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    if (target === dialog && (clientX < left || clientX > right || clientY < top || clientY > bottom)) dialog.close();
  });
  dialog.addEventListener('close', () => dialog.remove());

  /**
   * Selects the link's hosts; without any, all hosts or, of many, the slowest and the median one: no host until the
   * ranking is loaded.
   */
  function selectInitial() {
    const median = medianHost();
    const ranks = /** @type {Partial<Record<'slowest'|'median', string>>} */ (
      median !== null ? { slowest: names[order[0]], median: names[median] } : {}
    );
    const linkedSet = linkedHosts(linked, names, ranks).map((name) => names.indexOf(name));
    const isMany = names.length > MAX_SELECTED_AT_FIRST;
    if (linkedSet.length) setSelection(linkedSet, /slowest|median/.test(linked ?? '') ? linked : '');
    else if (isMany && median !== null) setSelection([order[0], median], 'slowest,median');
    else setSelection(isMany && !ranking ? [] : order);
    isEdited = false;
  }

  const bounds = anchor.getBoundingClientRect();
  dialog.style.left = `${Math.max(8, Math.min(bounds.left, innerWidth - DIALOG_PX))}px`;
  dialog.style.top = `${bounds.bottom + 3}px`;
  document.body.append(dialog);
  selectInitial();
  dialog.showModal();
  get('hosts', { session }).then((document) => {
    ranking = document;
    rankedIndices = new Map(document.hosts.name.map((name, index) => [name, index]));
    const ranked = document.order.map((index) => names.indexOf(document.hosts.name[index]));
    order = [...new Set([...ranked.filter((host) => host >= 0), ...order])];
    if (!isEdited) selectInitial();
    find();
  }).catch((error) => { if (dialog.isConnected) reportError(error); });
  return () => dialog.close();
}
