/** The Hosts view: which host holds up the others, and why. */

import { fill, h, labelledSelect, refill } from '../lib/dom.js';
import { card, windowLinkState } from '../lib/cards.js';
import { count, UNITS } from '../lib/format.js';
import { get } from '../lib/api.js';
import { exportButton } from '../lib/csv.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { findHosts, hostsText } from '../lib/host-names.js';
import { countColumn, linkedOrder, sortableTable, bindSearchKeys, timeColumn } from '../lib/table.js';
import { createDocumentView } from '../frame/document-view.js';
import { CSV_HEADS, csvRows, hostRows, stepKey, stepsOfLink } from './rows.js';
import { differenceCard } from './difference.js';
import { createHeatCard } from './heat-card.js';
import { openPicker } from './picker.js';
import { hostsTable } from './table.js';
import { classLabel, rangeName, US, verdictBlock } from './verdict.js';
import { maximum, minimum } from '../lib/totals.js';

// The header's picker is loaded with this view's script.
export { openPicker };

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('../lib/routes').HostSteps} HostSteps */
/** @typedef {import('./types').StepRange} StepRange */

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function hostsView(app) {
  const element = h('div', { class: 'cards hosts-view' });
  const verdict = h('div', { class: 'across' });
  const aside = h('div', { class: 'fill' });
  const list = h('div', { class: 'fill' });
  const heading = h('small', { 'data-testid': 'hosts-count' });
  const search = h('input', {
    type: 'search',
    placeholder: 'name, number or range',
    'aria-label': 'Find hosts',
    'data-testid': 'hosts-search',
    spellcheck: 'false',
  });
  /** @type {HostsAnswer} */
  let answer;
  /** @type {import('../lib/types').Ready} */
  let session;
  /** Rows of the chosen steps. @type {HostRow[]} */
  let rows = [];
  /** The step range of `rows` as text; empty before the first draw. */
  let rowsOf = '';
  /** Steps of the hosts requested so far. @type {Map<number, HostSteps>} */
  let stepsByHost = new Map();
  let opened = false;

  const heat = createHeatCard({
    cell: (at, step) => choose(at, [step, step]),
    host: (at) => choose(at, range(), wide()),
    steps: (from, to) => choose(host(), [from, to], true),
    open: (at, step) => void timeline(at, step),
    measure: (arrival) => {
      app.link.set({ hm: arrival ? '' : 'step' }, 'push');
      follow();
    },
    classes: (at) => answer.step_class_us[at] ?? stepsByHost.get(at)?.step_class_us ?? null,
  });

  /** The link's steps: one, selected by a cell, or a range for all hosts. */
  const range = () => stepsOfLink(answer.steps, app.link.state.st);
  /** Whether the table and the verdict cover only the link's steps, as they do for a range. */
  const wide = () => Boolean(app.link.state.st?.includes('-'));
  /** The selected host: the link's, or the verdict's. */
  function host() {
    const at = answer.hosts.name.indexOf(app.link.state.hs ?? '');
    return at >= 0 ? at : defaultHost();
  }
  /** The host that the verdict names, otherwise the first that is not the median host. */
  const defaultHost = () =>
    answer.verdict.hosts[0] ?? answer.order.find((at) => at !== answer.median_host) ?? answer.order[0] ?? 0;

  /** @param {number} at @param {StepRange|null} steps @param {boolean} [forAll] */
  function choose(at, steps, forAll = false) {
    const keys = steps?.map((step) => stepKey(answer.steps, step));
    app.link.set(
      { hs: at === defaultHost() ? '' : answer.hosts.name[at], st: !keys ? '' : forAll ? keys.join('-') : keys[0] },
      'push',
    );
    follow();
    const { name } = rows[at];
    app.live.announceNow(
      steps
        ? steps[0] === steps[1]
          ? [name, ...heat.words(at, steps[0]).slice(1)].join(', ')
          : `${name}, ${rangeName(answer.steps, steps)}.`
        : `${name}.`,
    );
  }

  /** Draws what depends on the selection. */
  function follow() {
    const steps = range();
    const shownRange = wide() ? steps : null;
    if (String(shownRange) !== rowsOf) {
      rows = hostRows(answer, shownRange);
      rowsOf = String(shownRange);
      fill(verdict, verdictBlock(answer, rows, shownRange, app.capture()));
    }
    heat.draw({
      answer,
      rows,
      host: host(),
      range: steps,
      wide: wide(),
      arrival: answer.state === 'compared' && app.link.state.hm !== 'step',
    });
    drawDifference();
    drawList();
  }

  function drawDifference() {
    const [at, steps] = [host(), range()];
    const stepTimes = answer.step_class_us[at] ?? stepsByHost.get(at)?.step_class_us ?? null;
    refill(aside, differenceCard(answer, rows, at, steps, stepTimes, {
      choose: (hostIndex) => choose(hostIndex, steps, wide()),
      timeline: () => void timeline(at, steps?.[0], steps?.[1]),
      worst: () => choose(at, [answer.hosts.worst_step[at], answer.hosts.worst_step[at]]),
    }));
    if (steps && !stepTimes) {
      void stepsOf(at).then((loaded) => {
        if (loaded && at === host()) drawDifference();
      }, failed(session));
    }
  }

  /**
   * Acts on an answer, unless another session was opened meanwhile.
   * @param {import('../lib/types').Ready} requested
   * @param {() => void} act
   */
  const ifOpen = (requested, act) => data.whenDrawn(() => { if (requested === session) act(); })();
  const failed = (/** @type {import('../lib/types').Ready} */ requested) => (/** @type {unknown} */ error) =>
    ifOpen(requested, () => app.reportError('host-steps', error));

  /** @param {number} at @returns {Promise<HostSteps|null>} */
  async function stepsOf(at) {
    const [requested, name] = [session, answer.hosts.name[at]];
    const steps = stepsByHost.get(at) ?? await get('host_steps', { session: requested.session.name, host: name });
    // If more hosts were read meanwhile, the answer counts steps as in the next document.
    if (requested !== session || steps.partial?.hosts_read !== answer.partial?.hosts_read) return null;
    stepsByHost.set(at, steps);
    return steps;
  }

  /**
   * Shows a host and the median host in the timeline: one step, a range, or all.
   * @param {number} at
   * @param {number} [from]
   * @param {number} [to]
   */
  async function timeline(at, from, to = from) {
    const shown = [...new Set([at, answer.median_host ?? at])];
    const names = hostsText(shown, answer.hosts.name);
    if (from === undefined || to === undefined) return app.open({ v: 'timeline', h: names, w: '', sel: '' });
    const requested = session;
    try {
      const hostSteps = (await Promise.all(shown.map(stepsOf))).flatMap((steps) => steps ?? []);
      const starts = hostSteps.flatMap(({ start_ps }) => start_ps.slice(from, to + 1).flatMap((ps) => ps ?? []));
      const ends = hostSteps.flatMap(({ start_ps, duration_ps }) =>
        start_ps.flatMap((ps, step) => (ps === null || step < from || step > to ? [] : ps + (duration_ps[step] ?? 0))),
      );
      ifOpen(requested, () =>
        app.open({
          ...(starts.length ? windowLinkState(minimum(starts), maximum(ends)) : { v: 'timeline' }),
          h: names,
          st: stepKey(answer.steps, from),
        }),
      );
    } catch (error) {
      failed(requested)(error);
    }
  }

  /** @param {string} key @param {string} value @param {'push'|'replace'} [how] */
  function setFilter(key, value, how = 'push') {
    const filters = filtersValue(app.link.state.f);
    filters.set(key, value);
    app.link.set({ f: filtersText(filters) }, how);
    drawList(true);
  }

  function drawList(announce = false) {
    const filters = filtersValue(app.link.state.f);
    const [last, name, text = ''] = [filters.get('last'), filters.get('class'), filters.get('host')];
    const places = findHosts(text, answer.hosts.name);
    const filtered = Boolean(text || last || name);
    const ranked =
      range() && wide()
        ? [...answer.order].sort((a, b) => (rows[b].others_wait_us ?? 0) - (rows[a].others_wait_us ?? 0))
        : answer.order;
    const passing = ranked
      .map((at) => rows[at])
      .filter(
        (row) =>
          places.includes(row.at) &&
          (!last || Boolean(row.last_count) === (last === '1')) &&
          (!name || row.difference_class === name),
      );
    const { element: table } = hostsTable(
      passing,
      ranked.map((at) => rows[at]),
      {
        opened,
        filtered,
        chosen: host(),
        partial: answer.host_counts.hosts_read < answer.host_counts.hosts_total,
        toggle: () => {
          opened = !opened;
          drawList();
          /** @type {HTMLElement|null} */ (list.querySelector('[data-testid=host-rest] button'))?.focus();
        },
        select: (row) => choose(row.at, range(), wide()),
        open: (row) => void timeline(row.at, range()?.[0], range()?.[1]),
        order: linkedOrder(app.link, answer.state === 'compared' ? '-waits' : 'host'),
      },
    );
    const focused = list.querySelector('tbody:focus-within') !== null;
    fill(list, table);
    if (focused) /** @type {HTMLElement|null} */ (list.querySelector('tr[tabindex="0"]'))?.focus();
    const number = filtered ? `${count(passing.length)} of ${count(rows.length)}` : count(rows.length);
    const steps = wide() && range();
    heading.textContent = [
      number,
      answer.state === 'compared' && ', by how long the others wait for them',
      steps && `, in ${rangeName(answer.steps, steps)}; duty cycle, differences and clocks are of all steps`,
    ].filter(Boolean).join('');
    if (announce) app.live.announce(`${number} hosts.`);
  }

  function draw() {
    const several = answer.hosts.name.length > 1;
    const filters = filtersValue(app.link.state.f);
    search.value = filters.get('host') ?? '';
    const classes = [...new Set(answer.hosts.difference_class.flatMap((name) => name ?? []))];
    const table = card(
      'Hosts',
      {
        note: heading,
        class: `across hosts-card${several ? '' : ' compact'}`,
        right: several
          ? [
              h('span', { class: 'field' }, search, h('kbd', null, '/')),
              labelledSelect(
                'last',
                [
                  ['', 'any'],
                  ['1', 'at least once'],
                  ['0', 'never'],
                ],
                filters.get('last'),
                (value) => setFilter('last', value),
                'filter-last',
              ),
              labelledSelect(
                'class',
                [['', 'any'], ...classes.map((name) => /** @type {[string, string]} */ ([name, classLabel(name)]))],
                filters.get('class'),
                (value) => setFilter('class', value),
                'filter-class',
              ),
              exportButton(`${session.session.name.replace(/\W+/g, '_')}_hosts`, CSV_HEADS, () => csvRows(answer)),
            ]
          : null,
      },
      list,
    );
    rowsOf = '';
    fill(element, verdict, ...(several && answer.steps.number.length ? [heat.element, aside] : [coresCard()]), table);
    follow();
    return /** @type {'ready'} */ ('ready');
  }

  /** The table of cores, for sessions of one host; null unless several meet in collectives. */
  function coresCard() {
    if (!answer.cores || answer.cores.length < 2 || !answer.cores.some(({ last_count }) => last_count)) return null;
    return card(
      'Cores',
      {
        note: 'of this host: how often each arrives last, and how long after the median core',
        class: 'across compact',
      },
      h(
        'div',
        { class: 'fill' },
        sortableTable({
          label: 'Cores',
          testid: 'cores-table',
          items: answer.cores,
          sort: '-last',
          columns: [
            { key: 'core', head: 'Core', value: ({ id }) => id, cell: ({ id }) => id.split('/').at(-1) ?? id },
            countColumn('Times last', 'last_count', { key: 'last' }),
            timeColumn('Late, median', UNITS.ms, ({ late_us }) => late_us * US),
            timeColumn('Compute per step', UNITS.ms, ({ device_us }) => device_us * US),
          ],
        }).element,
      ),
    );
  }

  search.addEventListener('input', () => setFilter('host', search.value.trim(), 'replace'));
  bindSearchKeys(search, list, () => setFilter('host', ''));

  const data = createDocumentView(app, 'hosts', element, (next, openSession) => {
    [answer, session] = [next, openSession];
    stepsByHost = new Map();
    opened = false;
    // The other states are in the verdict.
    if (next.note && (next.state === 'compared' || next.state === 'clocks_apart')) {
      app.addNote({ id: 'clocks', severity: 'warning', message: next.note });
    }
    const focused = /** @type {HTMLElement|null} */ (document.activeElement);
    const state = draw();
    if (focused && element.contains(focused)) focused.focus({ preventScroll: true });
    return state;
  });
  /** @type {(() => void)|null} */
  let removeKeys = null;

  function escape() {
    const { st, hs } = app.link.state;
    if (search.value) {
      search.value = '';
      return setFilter('host', '');
    }
    if (!st && !hs) return false;
    app.link.set(st ? { st: '' } : { hs: '' }, 'push');
    return follow();
  }
  return {
    element, open: data.open, move: data.whenDrawn(draw),
    show(on) {
      data.show(on);
      heat.show(on);
      removeKeys?.();
      removeKeys = on
        ? app.keys.add([
            {
              code: 'Slash',
              shift: false,
              label: '/',
              does: 'find hosts',
              run: () => {
                search.focus();
                search.select();
              },
            },
            { code: 'Escape', label: 'Escape', does: 'clear: search, step, host', run: () => escape() },
            // Listed for the help only: the heat map handles these keys.
            {
              code: '',
              label: 'n N',
              does: 'heat map: next, previous step in which the host is last',
              run: () => false,
            },
          ])
        : null;
    },
    recolor: heat.recolor,
  };
}
