/** The Gaps view: recurring gaps, and a list of gaps filtered by pattern, cause and more. */

import { button, fill, h, labelledSelect, withValue } from '../lib/dom.js';
import { total } from '../lib/totals.js';
import { CLASSES, LABELS, SHORT_GAPS } from '../lib/classes.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote, staleText } from '../frame/stale-note.js';
import {
  card,
  coreCountText,
  deviceName,
  emptyCard,
  gapLinkState,
  link,
  NO_GAPS_TEXT,
  noDeviceCard,
  shortProgram,
} from '../lib/cards.js';
import { count, headlineTime, plural } from '../lib/format.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { exportButton } from '../lib/csv.js';
import { gapText } from '../lib/link.js';
import { sumText } from '../lib/table.js';
import { eachCore, filterGaps, groupGaps, patternRows, patternText, stepOf } from './group.js';
import { gapsTable, programsText } from './list.js';
import { patternsTable } from './patterns.js';

/** @typedef {import('../lib/routes').GapsAnswer} Gaps */
/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('../lib/routes').GapPatternRow} GapPattern */
/** @typedef {import('./group.js').PatternRow} PatternRow */
/** @typedef {ReturnType<typeof import('../lib/table.js').sortableTable>} Table */

/** The columns of the exported file, before those of the classes. */
const CSV_KEYS = [
  'device',
  'start_ps',
  'duration_ps',
  'step',
  'kind',
  'cause',
  'reason',
  'before',
  'after',
  'all_cores_idle_ps',
];

/** The filters of this view; the link may have others, of other views. */
const FILTERS = ['device', 'cause', 'kind', 'step', 'min', 'pat', 'finding'];

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function gapsView(app) {
  const element = h('div', { class: 'cards gaps' });
  const heading = h('span', { class: 'secondary', 'data-testid': 'gap-count' });
  const list = h('div', { class: 'fill' });
  const noteStale = createStaleNote(app, 'gaps');
  /** @type {Gaps} */
  let answer;
  /** @type {import('../lib/types').Ready} */
  let session;
  /** @type {Map<string, import('../lib/types').Device>} */
  let byId = new Map();
  /** Patterns with the figures of the selected devices and finding, if all gaps are loaded. @type {PatternRow[]} */
  let recurring = [];
  /** The active filters, each with a button that removes it. */
  const activeFilters = h('span', { class: 'row', 'data-testid': 'gap-active' });
  /** Link texts of the first gaps of open rows. @type {Set<string>} */
  let openRows = new Set();
  /** The gaps that pass the filters. @type {GapItem[]} */
  let listedGaps = [];
  /** @type {Table|null} */
  let patterns = null;
  /** @type {Table|null} */
  let gapTable = null;
  /** The link's keys that the view shows, as JSON. */
  let shownKeys = '';

  const chosenPattern = () => {
    // Links of earlier versions have a pattern's index.
    const text = /^pat:(\d+)$/.exec(app.link.state.sel ?? '')?.[1] ?? filtersValue(app.link.state.f).get('pat');
    return recurring.find((pattern) => patternText(pattern) === text) ?? recurring[Number(text ?? NaN)] ?? null;
  };
  const hasFilters = () => {
    const filters = filtersValue(app.link.state.f);
    return FILTERS.some((key) => filters.get(key)) || chosenPattern() !== null;
  };
  const linkedKeys = () => JSON.stringify([app.link.state.f, app.link.state.sel, app.link.state.o]);
  const nameOf = (/** @type {string} */ id) => {
    const device = byId.get(id);
    return device ? deviceName(device, session.session.hosts) : id;
  };

  /** The card of the list is as high as its rows. @param {number} rowCount */
  const setRowCount = (rowCount) => element.style.setProperty('--rows', String(rowCount));

  /** @param {string} key @param {string} value */
  function setFilter(key, value) {
    const filters = filtersValue(app.link.state.f);
    filters.set(key, value);
    app.link.set({ f: filtersText(filters), ...(key === 'pat' ? { sel: '' } : {}) }, 'push');
    if (key === 'finding') draw(true);
    else drawList(true);
  }

  function draw(announce = false) {
    if (!session.devices.length) {
      fill(element, noDeviceCard('Gaps', 'Gaps need'));
      return 'empty';
    }
    if (!answer.count) {
      fill(
        element,
        emptyCard(
          'Gaps',
          NO_GAPS_TEXT,
          answer.total_ps ? `The devices are idle for ${headlineTime(answer.total_ps)} in shorter gaps.` : undefined,
        ),
      );
      return 'empty';
    }
    const { devices } = session;
    const selected = app.selectedDevices(devices);
    const isSubset = selected.length < devices.length;
    const isComplete = answer.items.length === answer.count;
    const linkedFinding = filtersValue(app.link.state.f).get('finding') ?? '';
    // A finding that explains no gap (yet, while hosts are being read) leaves all patterns.
    const finding = answer.items.some(({ by_finding_ps }) => by_finding_ps[linkedFinding]) ? linkedFinding : '';
    /** Whether the patterns cover only the selected devices and the finding. */
    const isFiltered = (isSubset || Boolean(finding)) && isComplete;
    const findingFilter = new Map(finding ? [['finding', finding]] : []);
    const coveredGaps = isFiltered
      ? filterGaps(answer.items, findingFilter, null, app.selection().devices)
      : isComplete
        ? answer.items
        : [];
    // The server's figures of all gaps are exact by class. Of a gap on several cores the page has one core's classes.
    recurring = patternRows(answer.patterns, coveredGaps).map((pattern, index) =>
      isFiltered ? pattern : { ...pattern, ...answer.patterns[index] },
    );
    const coveredDevices = isFiltered ? selected : devices;
    const coveredIds = coveredDevices.map(({ id }) => id);
    patterns = patternsTable(
      recurring,
      (pattern) => filterGaps(answer.items, isFiltered ? findingFilter : new Map(), pattern, coveredIds),
      {
        idle_ps: total(coveredDevices, 'idle_ps'),
        duration_ps: session.session.duration_ps,
        findings: answer.findings,
      },
      {
        isChosen: (pattern) => pattern === chosenPattern(),
        choose: (pattern) => setFilter('pat', pattern === chosenPattern() ? '' : patternText(pattern)),
        open: (gap) => app.open(gapLinkState(gap)),
      },
    );
    fill(
      element,
      filterBar(answer),
      card(
        'Recurring gaps',
        {
          note: [
            'gaps between the same two programs',
            coreCountText(devices.length, coveredDevices.length),
            ...(finding && isComplete ? ['of the gaps that the finding explains'] : []),
          ].join(', '),
          class: 'patterns',
        },
        h('div', { class: 'fill' }, patterns.element),
        h(
          'p',
          { class: 'small muted' },
          isFiltered || !answer.text ? '' : `${answer.text} `,
          'Selecting a pattern filters the list below.',
        ),
      ),
      card('Gaps', { note: 'gaps at the same time on several cores are one row', class: 'gap-card' }, list),
    );
    drawList(announce);
    return 'ready';
  }

  /** @param {Gaps} gaps */
  function filterBar({ items }) {
    const filters = filtersValue(app.link.state.f);
    const withGaps = new Set(items.map(({ device }) => device));
    const devices = app.selectedDevices(session.devices).filter(({ id }) => withGaps.has(id));
    const device = byId.get(filters.get('device') ?? '');
    const listedDevices = device && !devices.includes(device) ? [...devices, device] : devices;
    const steps = [...new Set(items.map(stepOf))].filter(Boolean).sort((a, b) => Number(a) - Number(b));
    const causes = CLASSES.filter((name) => items.some(({ cause }) => cause === name));
    /** @type {[key: string, label: string, all: string, values: [value: string, text: string][]][]} */
    const choices = [
      ['device', 'device', `all ${count(devices.length)}`, listedDevices.map(({ id }) => [id, nameOf(id)])],
      ['cause', 'cause', 'any', causes.map((name) => [name, LABELS[name]])],
      ['kind', 'kind', 'any', ['starved', 'queued', 'unknown'].map((kind) => [kind, kind])],
      ['step', 'step', 'any', steps.map((step) => [step, step])],
      ['min', 'at least', '10\u202fµs', ['0.1', '1', '10'].map((ms) => [ms, `${ms}\u202fms`])],
    ];
    return h(
      'div',
      { class: 'filters', 'data-testid': 'gap-filters' },
      choices.map(([key, label, any, values]) =>
        labelledSelect(
          label,
          withValue([['', any], ...values], filters.get(key)),
          filters.get(key),
          (value) => setFilter(key, value),
          `filter-${key}`,
        ),
      ),
      activeFilters,
      h('span', { class: 'gap-sum' }, heading, gapExport()),
    );
  }

  /** A file of the listed gaps, with the time of each class; of a gap on several cores, only on the first core. */
  const gapExport = () =>
    exportButton(
      'gaps',
      [...CSV_KEYS, ...CLASSES.map((name) => `${name}_ps`)],
      () =>
        listedGaps.map((gap) => ({
          ...gap,
          step: stepOf(gap),
          ...Object.fromEntries(
            CLASSES.map((name) => [`${name}_ps`, gap.isCopy ? null : (gap.by_class_ps[name] ?? 0)]),
          ),
        })),
    );

  /** @param {boolean} announce whether to announce the number of gaps */
  function drawList(announce) {
    shownKeys = linkedKeys();
    listedGaps = filterGaps(answer.items, filtersValue(app.link.state.f), chosenPattern(), app.selection().devices);
    const sum = listedGaps.length === answer.count ? answer.listed_ps : total(listedGaps, 'duration_ps');
    const limitText =
      answer.items.length < answer.count
        ? `; the ${count(answer.items.length)} longest of ${count(answer.count)} are listed`
        : '';
    const devices = app.selectedDevices(session.devices);
    const idle = total(devices, 'idle_ps');
    const smallGaps_ps = idle === answer.total_ps ? idle - answer.listed_ps : 0;
    fill(
      heading,
      h('b', { class: 'sum' }, plural(listedGaps.length, 'gap')),
      ', ',
      sumText(headlineTime(sum)),
      ' of ',
      sumText(headlineTime(idle)),
      ` idle, ${coreCountText(session.devices.length, devices.length)}, first to last run`,
      smallGaps_ps > 0 ? `; ${headlineTime(smallGaps_ps)} ${SHORT_GAPS}` : '',
      causeText(),
      limitText,
    );
    if (announce) app.live.announce(`${plural(listedGaps.length, 'gap')}.`);
    const { sel } = app.link.state;
    const isMissing = sel?.startsWith('gap:') && !limitText && !answer.items.some((gap) => gapText(gap) === sel);
    const namesPattern = filtersValue(app.link.state.f).has('pat') || sel?.startsWith('pat:');
    const hasUnknownPattern = namesPattern && !chosenPattern();
    noteStale(
      isMissing && !answer.partial && staleText('gap'),
      hasUnknownPattern && !answer.partial && staleText('pattern'),
    );
    drawActiveFilters();
    patterns?.refresh();
    gapTable = listedGaps.length
      ? gapsTable(groupGaps(listedGaps, session.devices.map(({ id }) => id)), {
          link: app.link,
          devices: byId,
          hosts: session.session.hosts,
          findings: answer.findings,
          openRows,
          select(gap) {
            app.link.set({ sel: gapText(gap), f: filtersWithPattern() }, 'push');
            shownKeys = linkedKeys();
            noteStale();
          },
          show: (gap) => app.open(gapLinkState(gap)),
          onRowCount: setRowCount,
        })
      : null;
    if (!gapTable) setRowCount(0);
    fill(
      list,
      gapTable
        ? gapTable.element
        : h(
            'p',
            { class: 'secondary', 'data-testid': 'gap-list' },
            ...(hasFilters()
              ? ['No gap matches the filters. ', link('Clear the filters', clearFilters)]
              : ['None of the listed gaps is on the chosen devices.']),
          ),
    );
  }

  /** Draws the filters without a menu, pattern and finding, each with a button that removes it. */
  function drawActiveFilters() {
    const filters = filtersValue(app.link.state.f);
    const pattern = chosenPattern();
    const id = filters.get('finding');
    const removeButton = (/** @type {string} */ key, /** @type {string} */ text) =>
      button(`${text} ×`, () => setFilter(key, ''), {
        class: 'small-button',
        title: `${text}: show all`,
        'data-testid': `off-${key}`,
      });
    fill(
      activeFilters,
      id && removeButton('finding', `explained by: ${answer.findings[id] ?? id}`),
      pattern && removeButton('pat', programsText(pattern, shortProgram)),
      hasFilters()
        ? link('Clear filters', clearFilters, { 'data-testid': 'gap-clear' })
        : null,
    );
  }

  function clearFilters() {
    const others = [...filtersValue(app.link.state.f)].filter(([key]) => !FILTERS.includes(key));
    app.link.set({ f: filtersText(new Map(others)), sel: '' }, 'push');
    draw(true);
  }

  /** The time of the filter's cause, in the listed gaps and in all: a gap contains classes other than its cause. */
  function causeText() {
    const cause = /** @type {import('../lib/routes').ClassName|undefined} */ (
      filtersValue(app.link.state.f).get('cause')
    );
    const class_ps = cause && !chosenPattern() && answer.by_class_ps[cause];
    if (!class_ps) return '';
    const listed_ps = total(listedGaps, ({ by_class_ps }) => by_class_ps[cause] ?? 0);
    return `; ${LABELS[cause]} takes ${headlineTime(listed_ps)} of these, ${headlineTime(class_ps)} of all gaps`;
  }

  /** The filters, with the pattern that `sel` names: a selected gap replaces it there. */
  function filtersWithPattern() {
    const pattern = chosenPattern();
    const filters = filtersValue(app.link.state.f);
    if (pattern) filters.set('pat', patternText(pattern));
    return filtersText(filters);
  }

  const data = createDocumentView(app, 'gaps', element, (next, nextSession) => {
    answer = { ...next, items: eachCore(next.items) };
    session = nextSession;
    byId = new Map(nextSession.devices.map((device) => [device.id, device]));
    openRows = new Set();
    return draw();
  });
  const followLink = data.whenDrawn(() => { if (shownKeys !== linkedKeys()) draw(); });
  return {
    element, followLink, open: data.open, filter: data.whenDrawn(() => draw(true)),
    show(on) {
      data.show(on);
      if (on) followLink();
    },
  };
}
