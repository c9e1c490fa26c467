/** The Hosts view: which host holds up the others, and why. */

import { fill, h, labelledSelect, refill, withValue } from '../lib/dom.js';
import { card, windowLinkState } from '../lib/cards.js';
import { count, UNITS } from '../lib/format.js';
import { get } from '../lib/api.js';
import { exportButton } from '../lib/csv.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { stepArgument, stepKey } from '../lib/link.js';
import { findHosts, hostsText } from '../lib/host-names.js';
import { countColumn, linkedOrder, sortableTable, bindSearchKeys, timeColumn } from '../lib/table.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote, namesSteps, staleText } from '../frame/stale-note.js';
import { CSV_HEADS, PS_PER_US, csvRows, hostRows, stepsOfLink } from './rows.js';
import { differenceCard } from './difference.js';
import { createHeatCard } from './heat-card.js';
import { openPicker } from './picker.js';
import { hostsTable } from './table.js';
import { classLabel, rangeName, verdictBlock } from './verdict.js';
import { maximum, minimum } from '../lib/totals.js';

// The header's picker is loaded with this view's script.
export { openPicker };

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('../lib/routes').HostSteps} HostSteps */
/** @typedef {import('../lib/routes').HostsInSteps} HostsInSteps */
/** @typedef {import('./types').StepRange} StepRange */

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function hostsView(app) {
  const element = h('div', { class: 'cards hosts-view' });
  const verdict = h('div', { class: 'across' });
  const aside = h('div', { class: 'fill' });
  /** What the difference of the selected host means. */
  const sentence = h('p', { class: 'secondary', 'data-testid': 'host-sentence' });
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
  /** Rows over the steps that the table and the verdict cover. @type {HostRow[]} */
  let rows = [];
  /** What the verdict shows. @type {HostsAnswer|HostsInSteps|null} */
  let verdictWords = null;
  /** The range of these steps as text; empty before the first draw. */
  let rowsRange = '';
  /** What the server said so far about a host in a range of steps, by both. @type {Map<string, HostsInSteps>} */
  let saidOf = new Map();
  /** Steps of the hosts requested so far. @type {Map<number, HostSteps>} */
  let stepsByHost = new Map();
  const noteStale = createStaleNote(app, 'hosts');
  /** Whether the table lists the hosts that were never last one by one, and not in one row. */
  let isExpanded = false;

  const heat = createHeatCard({
    cell: (host, step) => select(host, [step, step]),
    host: (host) => select(host, selectedRange(), coversAllHosts()),
    steps: (from, to) => select(selectedHost(), [from, to], true),
    open: (host, step) => void openTimeline(host, step),
    measure: (showsArrival) => {
      app.link.set({ hm: showsArrival ? '' : 'step' }, 'push');
      drawSelection();
    },
  });

  /** A host's time by class in each step, µs; null until it is loaded. @param {number} host */
  const stepTimes = (host) => answer.step_class_us[host] ?? stepsByHost.get(host)?.step_class_us ?? null;
  /** The link's steps: one, selected by a cell, or a range for all hosts. */
  function selectedRange() {
    const { st } = app.link.state;
    return stepsOfLink(answer.steps, st) ?? stepsOfLink(answer.steps, stepArgument(st));
  }
  /** Whether the selected steps are a range, which the table and the verdict cover for all hosts. */
  const coversAllHosts = () => Boolean(app.link.state.st?.includes('-'));
  /** The index of the selected host: the link's, or the verdict's. */
  function selectedHost() {
    const linkedHost = answer.hosts.name.indexOf(app.link.state.hs ?? '');
    return linkedHost >= 0 ? linkedHost : defaultHost();
  }
  /** The host that the verdict names, otherwise the first that is not the median host. */
  const defaultHost = () =>
    answer.verdict.hosts[0] ?? answer.order.find((host) => host !== answer.median_host) ?? answer.order[0] ?? 0;

  /** @param {number} host @param {StepRange|null} range @param {boolean} [forAll] whether the range is for all hosts */
  function select(host, range, forAll = false) {
    const keys = range?.map((step) => stepKey(answer.steps.number, step));
    app.link.set(
      {
        hs: host === defaultHost() ? '' : answer.hosts.name[host],
        st: !keys ? '' : forAll ? keys.join('-') : keys[0],
      },
      'push',
    );
    drawSelection();
    const { name } = rows[host];
    app.live.announceNow(
      range
        ? range[0] === range[1]
          ? [name, ...heat.cellTexts(host, range[0]).slice(1)].join(', ')
          : `${name}, ${rangeName(answer.steps, range)}.`
        : `${name}.`,
    );
  }

  /** Draws what depends on the selection. */
  function drawSelection() {
    const range = selectedRange();
    const coveredRange = coversAllHosts() ? range : null;
    if (String(coveredRange) !== rowsRange) {
      rows = hostRows(answer, coveredRange);
      rowsRange = String(coveredRange);
    }
    heat.draw({
      answer,
      rows,
      host: selectedHost(),
      range,
      coversAllHosts: coversAllHosts(),
      showsArrival: answer.state === 'compared' && app.link.state.hm !== 'step',
    });
    drawWords();
    drawDifference();
    drawList();
    noteStaleLink();
  }

  /** Draws the verdict and the sentence on the selected host, once the server's words on the steps are loaded. */
  function drawWords() {
    const [host, range] = [selectedHost(), selectedRange()];
    const said = saidOf.get(`${host} ${range}`);
    const coveredRange = coversAllHosts() ? range : null;
    const words = coveredRange ? said : answer;
    if (words && words !== verdictWords) {
      verdictWords = words;
      fill(verdict, verdictBlock(answer, coveredRange, words, app.captureAction()));
    }
    sentence.textContent = said?.difference ?? '';
    if (said || answer.hosts.name.length < 2 || answer.median_host === null) return;
    void wordsOn(host, range).then((loaded) => {
      if (loaded && host === selectedHost() && String(range) === String(selectedRange())) drawWords();
    }, reportFailure(session));
  }

  function drawDifference() {
    const [host, range] = [selectedHost(), selectedRange()];
    const times = stepTimes(host);
    refill(aside, differenceCard(answer, rows, host, range, times, sentence, {
      select: (index) => select(index, range, coversAllHosts()),
      openTimeline: () => void openTimeline(host, range?.[0], range?.[1]),
      selectWorstStep: () => select(host, [answer.hosts.worst_step[host], answer.hosts.worst_step[host]]),
    }));
    if (range && !times) {
      void stepsOf(host).then((loaded) => {
        if (loaded && host === selectedHost()) drawDifference();
      }, reportFailure(session));
    }
  }

  /**
   * Acts on an answer, unless another session was opened meanwhile.
   * @param {import('../lib/types').Ready} requested
   * @param {() => void} act
   */
  const ifOpen = (requested, act) => { if (data.isDrawn() && requested === session) act(); };
  /** Reports errors of requests about a session. @param {import('../lib/types').Ready} requested */
  const reportFailure = (requested) => (/** @type {unknown} */ error) =>
    ifOpen(requested, () => app.reportError('host-steps', error));

  /** The steps of a host; null if the answer belongs to another session or document. @param {number} host */
  const stepsOf = (host) => load(stepsByHost, host, 'host_steps', { host: answer.hosts.name[host] });

  /**
   * What the server says about a host in a range of steps, or in all.
   * @param {number} host
   * @param {StepRange|null} range
   */
  const wordsOn = (host, range) =>
    load(saidOf, `${host} ${range}`, 'hosts_in_steps', {
      host: answer.hosts.name[host],
      first: range?.[0],
      last: range?.[1],
    });

  /**
   * An answer about the open session, requested once; null if it belongs to another session or document.
   * @template K
   * @template {'host_steps'|'hosts_in_steps'} R
   * @param {Map<K, import('../lib/routes').Routes[R]>} loaded the answers so far
   * @param {K} key
   * @param {R} route
   * @param {Record<string, string|number|undefined>} query
   */
  async function load(loaded, key, route, query) {
    const requested = session;
    const found = loaded.get(key) ?? await get(route, { session: requested.session.name, ...query });
    // If more hosts were read meanwhile, the indices of steps in the answer are those of the next document.
    if (requested !== session || found.partial?.hosts_read !== answer.partial?.hosts_read) return null;
    loaded.set(key, found);
    return found;
  }

  /**
   * Shows a host and the median host in the timeline: one step, a range, or all.
   * @param {number} host
   * @param {number} [from]
   * @param {number} [to]
   */
  async function openTimeline(host, from, to = from) {
    const shownHosts = [...new Set([host, answer.median_host ?? host])];
    const names = hostsText(shownHosts, answer.hosts.name);
    if (from === undefined || to === undefined) return app.open({ v: 'timeline', h: names, w: '', sel: '' });
    const requested = session;
    try {
      const hostSteps = (await Promise.all(shownHosts.map(stepsOf))).flatMap((steps) => steps ?? []);
      const starts = hostSteps.flatMap(({ start_ps }) => start_ps.slice(from, to + 1).flatMap((ps) => ps ?? []));
      const ends = hostSteps.flatMap(({ start_ps, duration_ps }) =>
        start_ps.flatMap((ps, step) => (ps === null || step < from || step > to ? [] : ps + (duration_ps[step] ?? 0))),
      );
      ifOpen(requested, () =>
        app.open({
          ...(starts.length ? windowLinkState(minimum(starts), maximum(ends)) : { v: 'timeline' }),
          h: names,
          st: stepKey(answer.steps.number, from),
        }),
      );
    } catch (error) {
      reportFailure(requested)(error);
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
    const [last, className, text = ''] = [filters.get('last'), filters.get('class'), filters.get('host')];
    const matches = new Set(findHosts(text, answer.hosts.name));
    const isFiltered = Boolean(text || last || className);
    const range = selectedRange();
    const ranking =
      range && coversAllHosts()
        ? [...answer.order].sort((a, b) => (rows[b].others_wait_us ?? 0) - (rows[a].others_wait_us ?? 0))
        : answer.order;
    const passing = ranking
      .map((host) => rows[host])
      .filter(
        (row) =>
          matches.has(row.index) &&
          (!last || (row.last_count !== null && row.last_count > 0 === (last === '1'))) &&
          (!className || row.difference_class === className),
      );
    const { element: table } = hostsTable(
      passing,
      ranking.map((host) => rows[host]),
      {
        isExpanded,
        isFiltered,
        selectedHost: selectedHost(),
        minDifference_us: answer.min_difference_us,
        isPartial: answer.host_counts.hosts_read < answer.host_counts.hosts_total,
        toggle: () => {
          isExpanded = !isExpanded;
          drawList();
          /** @type {HTMLElement|null} */ (list.querySelector('[data-testid=host-rest] button'))?.focus();
        },
        select: (row) => select(row.index, selectedRange(), coversAllHosts()),
        open: (row) => void openTimeline(row.index, selectedRange()?.[0], selectedRange()?.[1]),
        order: linkedOrder(app.link, answer.state === 'compared' ? '-waits' : 'host'),
      },
    );
    const focused = list.querySelector('tbody:focus-within') !== null;
    fill(list, table);
    if (focused) /** @type {HTMLElement|null} */ (list.querySelector('tr[tabindex="0"]'))?.focus();
    const countText = isFiltered ? `${count(passing.length)} of ${count(rows.length)}` : count(rows.length);
    heading.textContent = [
      countText,
      answer.state === 'compared' && ', by how long the others wait for them',
      range &&
        coversAllHosts() &&
        `, in ${rangeName(answer.steps, range)}; duty cycle, differences and clocks are of all steps`,
    ].filter(Boolean).join('');
    if (announce) app.live.announce(`${countText} hosts.`);
  }

  function draw() {
    const hasSeveral = answer.hosts.name.length > 1;
    const filters = filtersValue(app.link.state.f);
    search.value = filters.get('host') ?? '';
    const classes = [...new Set(answer.hosts.difference_class.flatMap((name) => name ?? []))];
    const table = card(
      'Hosts side by side',
      {
        note: heading,
        class: `across hosts-card${hasSeveral ? '' : ' compact'}`,
        right: hasSeveral
          ? [
              h('span', { class: 'field' }, search, h('kbd', null, '/')),
              labelledSelect(
                'last',
                [['', 'any'], ['1', 'at least once'], ['0', 'never']],
                filters.get('last'),
                (value) => setFilter('last', value),
                'filter-last',
              ),
              labelledSelect(
                'class',
                withValue(
                  [['', 'any'], ...classes.map((name) => /** @type {[string, string]} */ ([name, classLabel(name)]))],
                  filters.get('class'),
                ),
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
    rowsRange = '';
    verdictWords = null;
    const hasSteps = answer.steps.number.length > 0;
    fill(element, verdict, ...(hasSeveral && hasSteps ? [heat.element, aside] : [coresCard()]), table);
    drawSelection();
    return /** @type {'ready'} */ ('ready');
  }

  /** Notes a host or steps of the link that the session does not have, once all hosts are read. */
  function noteStaleLink() {
    const { hs, st } = app.link.state;
    if (answer.partial || answer.hosts.name.length < 2) return noteStale();
    const isMissing = answer.steps.number.length > 0 && !selectedRange();
    noteStale(
      hs && !answer.hosts.name.includes(hs) && staleText(`host ${hs}`, `${answer.hosts.name[selectedHost()]} is`),
      isMissing && namesSteps(st) && `The hosts do not have the linked step ${st} in common; all steps are shown.`,
    );
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
            timeColumn('Late, median', UNITS.ms, ({ late_us }) => late_us * PS_PER_US),
            timeColumn('Compute per step', UNITS.ms, ({ device_us }) => device_us * PS_PER_US),
          ],
        }).element,
      ),
    );
  }

  search.addEventListener('input', () => setFilter('host', search.value.trim(), 'replace'));
  bindSearchKeys(search, list, () => setFilter('host', ''));

  const data = createDocumentView(app, 'hosts', element, (next, openSession) => {
    [answer, session] = [next, openSession];
    [stepsByHost, saidOf] = [new Map(), new Map()];
    isExpanded = false;
    // In the other states the verdict has the note.
    if (next.note && (next.state === 'compared' || next.state === 'clocks_apart')) {
      app.addNote({ id: 'clocks', severity: 'warning', message: next.note });
    }
    const focused = /** @type {HTMLElement|null} */ (document.activeElement);
    const state = draw();
    if (focused && element.contains(focused)) focused.focus({ preventScroll: true });
    return state;
  });
  const followLink = data.whenDrawn(draw);
  /** @type {(() => void)|null} */
  let removeKeys = null;

  function escape() {
    if (!data.isDrawn()) return false;
    const { st, hs } = app.link.state;
    if (search.value) {
      search.value = '';
      return setFilter('host', '');
    }
    if (!st && !hs) return false;
    app.link.set(st ? { st: '' } : { hs: '' }, 'push');
    return drawSelection();
  }
  return {
    element, followLink, open: data.open,
    show(on) {
      data.show(on);
      if (on) followLink();
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
