/** The section Work of the Device view: what the device is busy with, and how efficiently. */

import { fill, h, keepFocus, refill } from '../lib/dom.js';
import { eventLinkState, noDeviceCard } from '../lib/cards.js';
import { count, plural } from '../lib/format.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { get } from '../lib/api.js';
import { linkedOrder, bindSearchKeys } from '../lib/table.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote } from '../frame/stale-note.js';
import { csvRows, hasRates, opRows, passes, peaksOfLink, restRows, tonesOf, treeRows } from './rows.js';
import { devicesByKey, filterControls, neighbourKey } from './filters.js';
import { drawableOps } from './layout.js';
import { headingText, missingTexts, opsCard } from './ops-card.js';
import { openPeaksDialog, precisionOf } from './peaks.js';
import { roofCard } from './roof-card.js';
import { createRoofline, opTexts } from './roofline.js';
import { annotationNames, opsTable } from './table.js';
import { collapsedAtFirst, treeCard, treeTable, unknownNote } from './tree.js';
import { verdictBlock } from './verdict.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').RestRow} RestRow */
/** @typedef {import('./types').TreeRow} TreeRow */
/** @typedef {import('../lib/types').Ready} Ready */

const MAX_NAMED_HOSTS = 4;

/** @type {import('./view.js').CreateSection} */
export function workSection(app, sectionSwitch) {
  const filters = h('div', { class: 'filters across', 'data-testid': 'device-filters' }, sectionSwitch());
  const element = h('div', { class: 'cards device-view' }, filters);
  const verdict = h('div', { class: 'across' });
  const treePlace = h('div', { class: 'fill' });
  const rooflinePlace = h('div', { class: 'fill' });
  const list = h('div', { class: 'fill' });
  const heading = h('small', { 'data-testid': 'op-count' });
  const search = h('input', {
    type: 'search',
    placeholder: 'op, category or file',
    'aria-label': 'Find ops',
    'data-testid': 'op-search',
    spellcheck: 'false',
  });
  /** @type {DeviceAnswer} */
  let answer;
  /** @type {Ready} */
  let session;
  /** @type {OpRow[]} */
  let rows = [];
  /** Sums of the ops that are not in `rows`. @type {RestRow[]} */
  let rest = [];
  /** @type {TreeRow[]} */
  let tree = [];
  /** Tones of annotations, 0 to 5, by path. @type {Map<string, number>} */
  let tones = new Map();
  /** Short names of annotations by path. @type {Map<string, string>} */
  let names = new Map();
  /** Keys of collapsed rows of the tree. @type {Set<string>} */
  let collapsed = new Set();
  /** Whether the table lists all ops. */
  let isExpanded = false;
  let showsAdvice = false;
  /** The query of the drawn document. */
  let requestedQuery = '';
  /** The latest request for all ops of a document. @type {{document: DeviceAnswer, done: Promise<void>}|null} */
  let loading = null;

  const roofline = createRoofline({ select, open, highlight: highlightRow });
  const noteStale = createStaleNote(app, 'device');
  const noteStaleWork = createStaleNote(app, 'device', 'work');

  const linkedCategory = () => filtersValue(app.link.state.f).get('cat') ?? null;
  /** The document's query: the link's choices, otherwise the defaults. */
  function query(/** @type {Ready} */ openSession) {
    const { dd, st, pk } = app.link.state;
    const selected = app.selectedDevices(openSession.devices);
    const firstKey =
      selected.length < openSession.devices.length
        ? [...devicesByKey(openSession)].find(([, device]) => device === selected[0])?.[0]
        : null;
    return {
      cores: dd ?? firstKey,
      steps: st?.includes('-') ? null : st ?? null,
      category: linkedCategory(),
      peaks: peaksOfLink(pk) ? pk : null,
    };
  }
  const filter = () => {
    const values = filtersValue(app.link.state.f);
    return { an: app.link.state.an, bound: values.get('bound'), text: values.get('op') };
  };
  /** The id of the selected op: the link's, otherwise the verdict's; empty for none. */
  function selectedId() {
    const { op } = app.link.state;
    if (op) return rows.find(({ id }) => id === op)?.id ?? '';
    return rows[answer.verdict.op]?.id ?? '';
  }

  /** Requests another device, step, category, or other peaks. @param {import('../lib/link.js').LinkState} changes */
  function request(changes) {
    app.link.set(changes, 'push');
    data.reload();
  }

  /** @param {string} key @param {string} value @param {'push'|'replace'} [how] */
  function setFilter(key, value, how = 'push') {
    const values = filtersValue(app.link.state.f);
    values.set(key, value);
    app.link.set({ f: filtersText(values) }, how);
  }

  /** @param {OpRow} row */
  function select(row) {
    app.link.set({ op: row.id }, 'push');
    drawOps();
    drawRoofline();
    app.live.announceNow(`${opTexts(row).join(', ')}.`);
  }

  /** Selects the longest run of an op in the timeline. @param {OpRow} row */
  function open({ run, id, op }) {
    app.link.set({ op: id }, 'replace');
    // The run's time is unknown if its host is not in memory: the timeline searches for the op.
    app.open(run ? eventLinkState(run) : { v: 'timeline', q: `name:${op}` });
  }

  /** @param {OpRow|null} row */
  function highlightRow(row) {
    for (const tableRow of list.querySelectorAll('tr')) {
      tableRow.classList.toggle('highlighted', row !== null && tableRow.dataset.key === row.id);
    }
  }

  /** Filters by a row of the tree, or ends that. @param {string} key of the row */
  function toggleAnnotation(key) {
    app.link.set({ an: app.link.state.an === key ? '' : key }, 'push');
    drawFiltered(true);
  }

  /** Draws what depends on the filters of ops. @param {boolean} [announce] */
  function drawFiltered(announce = false) {
    drawTree();
    drawRoofline();
    drawOps(announce);
  }

  function drawTree() {
    const cardElement = treeCard(
      treeTable(answer, tree, hasRates(rows), {
        selectedKey: app.link.state.an,
        collapsed,
        tones,
        select: toggleAnnotation,
        redraw: drawTree,
        open: app.open,
      }),
      unknownNote(answer, showsAdvice, () => {
        showsAdvice = !showsAdvice;
        drawTree();
      }),
    );
    const focusedKey = treePlace.contains(document.activeElement)
      ? /** @type {HTMLElement|null} */ (document.activeElement?.closest('tr'))?.dataset.key
      : undefined;
    const top = treePlace.querySelector('.scroll')?.scrollTop ?? 0;
    refill(treePlace, cardElement);
    const scroll = treePlace.querySelector('.scroll');
    if (scroll) scroll.scrollTop = top;
    if (focusedKey !== undefined) {
      [...treePlace.querySelectorAll('tr')].find(({ dataset }) => dataset.key === focusedKey)?.focus();
    }
  }

  function drawRoofline() {
    const { peaks } = answer;
    const current = filter();
    if (!drawableOps(rows).length) return;
    roofline.set({
      rows,
      passes: (row) => passes(row, current),
      roof: { flops: peaks.flops_per_s, bytes: peaks.bytes_per_s },
      precision: precisionOf(peaks),
      tones,
      selectedId: selectedId(),
    });
  }

  const setPeaks = () => openPeaksDialog(answer.peaks, (pk) => request({ pk }));

  /** @param {boolean} [announce] */
  function drawOps(announce = false) {
    const current = filter();
    const passing = rows.filter((row) => passes(row, current));
    const { element: table } = opsTable(answer, rows, rest, passing, {
      filter: current,
      isExpanded,
      selectedId: selectedId(),
      tones,
      names,
      select,
      open,
      order: linkedOrder(app.link, '-self'),
      highlight: (row) => roofline.highlight(row?.id ?? ''),
      toggle: () => void toggleAllOps(),
      copy: (source) => void app.copy(source, source),
    });
    const focused = list.querySelector('tbody:focus-within') !== null;
    refill(list, table);
    if (focused) /** @type {HTMLElement|null} */ (list.querySelector('tr[tabindex="0"]'))?.focus();
    heading.textContent = headingText(answer);
    if (!needsAllOps()) noteStale(...missingTexts(app.link.state, tree, rows));
    if (announce) app.live.announce(`${plural(passing.length, 'row')}.`);
  }

  /** Lists all ops, or only those with most time. */
  async function toggleAllOps() {
    isExpanded = !isExpanded;
    if (isExpanded) await loadAllOps();
    drawOps();
    /** @type {HTMLElement|null} */ (list.querySelector('[data-testid=op-more]'))?.focus();
  }

  /** Loads the ops that the first answer has only as sums; if that fails, reports the error and keeps the sums. */
  function loadAllOps() {
    if (!rest.length) return;
    if (loading?.document !== answer) loading = { document: answer, done: fetchAll(answer) };
    return loading.done;

    /** @param {DeviceAnswer} document */
    async function fetchAll(document) {
      try {
        const complete = await get('device', { ...session.query, ...query(session), whole: 1 });
        if (document === answer) setDocument(complete);
      } catch (error) {
        if (document !== answer) return;
        loading = null;
        app.reportError('ops', error);
      }
    }
  }

  /** Whether a search, or an op in the link, may concern ops that are not loaded. */
  function needsAllOps() {
    const { op } = app.link.state;
    return rest.length > 0 && (search.value !== '' || Boolean(op && !rows.some(({ id }) => id === op)));
  }

  /** Loads all ops if needed, then draws those that pass the filters. @param {boolean} [announce] */
  async function drawFoundOps(announce = false) {
    if (needsAllOps()) await loadAllOps();
    drawFiltered(announce);
  }

  /** All ops that pass the filters; null if those in `rest` cannot be loaded. */
  async function csvItems() {
    await loadAllOps();
    return rest.length ? null : csvRows(rows.filter((row) => passes(row, filter())));
  }

  /** @param {DeviceAnswer} next */
  function setDocument(next) {
    answer = next;
    [rows, rest, tree] = [opRows(next), restRows(next), treeRows(next)];
    tones = tonesOf(tree, session.annotations);
    names = annotationNames(next, rows);
  }

  function drawFilters() {
    refill(filters, sectionSwitch(), ...filterControls(session, answer, app.selectedDevices(session.devices), {
      cores: (cores) => request({ dd: cores, op: '' }), steps: (steps) => request({ st: steps }), peaks: setPeaks,
      category(name) {
        setFilter('cat', name);
        data.reload();
      },
    }));
  }

  /** The hosts that a sum covers; empty if it covers all. */
  function coverageText() {
    const { shown, total: hostCount } = answer.hosts;
    if (answer.chosen.cores !== 'all' || shown.length >= hostCount) return '';
    const hostNames = shown.map((host) => session.session.hosts[host]?.name).slice(0, MAX_NAMED_HOSTS).join(', ');
    return `Covers ${count(shown.length)} of ${count(hostCount)} hosts, those that have been read: ${hostNames}` +
      `${shown.length > MAX_NAMED_HOSTS ? ', …' : ''}. Choose others in the header, or the whole session as the step.`;
  }

  function draw() {
    const values = filtersValue(app.link.state.f);
    search.value = values.get('op') ?? '';
    requestedQuery = JSON.stringify(query(session));
    if (!session.devices.length) {
      fill(element, noDeviceCard('Device', 'This view needs'));
      return /** @type {'empty'} */ ('empty');
    }
    drawFilters();
    fill(verdict, verdictBlock(answer, coverageText()));
    fill(rooflinePlace, roofCard(answer, rows, tones, names, roofline.element, setPeaks));
    const ops = opsCard({ heading, search, list }, {
      bounds: [...new Set([...rows, ...rest].map(({ bound_by }) => bound_by))],
      bound: values.get('bound'),
      setBound(bound) {
        setFilter('bound', bound);
        drawFiltered(true);
      },
      fileName: `${session.session.name.replace(/\W+/g, '_')}_ops`,
      csvItems,
    });
    fill(element, filters, verdict, answer.total.op_count ? [treePlace, rooflinePlace, ops] : null);
    if (answer.total.op_count) drawFiltered();
    if (needsAllOps()) void drawFoundOps();
    return /** @type {'ready'} */ ('ready');
  }

  search.addEventListener('input', () => {
    setFilter('op', search.value.trim(), 'replace');
    void drawFoundOps(true);
  });
  bindSearchKeys(search, list, () => {
    setFilter('op', '');
    drawFiltered();
  });

  const data = createDocumentView(app, 'device', element, (next, openSession) => {
    const sessionChanged = session !== openSession;
    session = openSession;
    setDocument(next);
    isExpanded = false;
    if (sessionChanged) {
      showsAdvice = false;
      collapsed = collapsedAtFirst(tree);
    }
    const isStale = next.stale && openSession.devices.length > 0;
    noteStaleWork(isStale && 'The linked device or step is not in this session; the default is shown.');
    return draw();
  }, query);

  /** Shows the next or the previous one of the selected devices. @param {1|-1} by */
  function moveDevice(by) {
    if (!data.isDrawn()) return;
    const selected = new Set(app.selectedDevices(session.devices));
    const devices = devicesByKey(session);
    const keys = [...devices].flatMap(([key, device]) => (selected.has(device) ? key : []));
    const next = neighbourKey(keys, answer.chosen.cores, by);
    if (!next) return;
    request({ dd: next });
    app.live.announceNow(`${devices.get(next)?.name ?? ''}.`);
  }

  /** Reloads if the link's query changed; otherwise redraws, as only filters or the selection did. */
  const followLink = data.whenDrawn(() => {
    if (JSON.stringify(query(session)) !== requestedQuery) data.reload();
    else keepFocus(element, draw);
  });

  /** Clears the search, else the annotation, else the bound, else the selected op; false if nothing is set. */
  function clearNext() {
    if (!data.isDrawn()) return false;
    const { an, op } = app.link.state;
    const values = filtersValue(app.link.state.f);
    if (values.get('op')) setFilter('op', '');
    else if (an) app.link.set({ an: '' }, 'push');
    else if (values.get('bound')) setFilter('bound', '');
    else if (op) app.link.set({ op: '' }, 'push');
    else return false;
    return keepFocus(element, draw) === 'ready';
  }

  /** @type {(() => void)|null} */
  let removeKeys = null;
  return {
    element, followLink, open: data.open, filter: () => (app.link.state.dd ? followLink() : data.reload()),
    show(on) {
      data.show(on);
      if (on) followLink();
      roofline.show(on);
      removeKeys?.();
      removeKeys = on ? app.keys.add([
        { code: 'Slash', shift: false, label: '/', does: 'find ops', run: () => { search.focus(); search.select(); } },
        { code: 'Escape', label: 'Escape', does: 'clear: search, annotation, bound, op', run: clearNext },
        { code: 'Comma', shift: true, label: '< >', does: 'previous, next device', run: () => moveDevice(-1) },
        { code: 'Period', shift: true, run: () => moveDevice(1) },
        // Listed for the help only: the roofline handles this key.
        { code: '', label: 'l', does: 'picture: labels of all ops', run: () => false },
      ]) : null;
    },
    recolor: roofline.recolor,
  };
}
