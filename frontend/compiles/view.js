/** The Compiles view: which graph was compiled in which step, what it cost, and why it was new. */

import { fill, h } from '../lib/dom.js';
import { columnUnit, total } from '../lib/totals.js';
import { createDocumentView } from '../frame/document-view.js';
import {
  card,
  codeCell,
  coreCountText,
  cutName,
  emptyCard,
  hostCountText,
  link,
  linkedColumn,
  showButton,
  windowLinkState,
} from '../lib/cards.js';
import { count, cutMiddle, MISSING, plural, timeText } from '../lib/format.js';
import { exportButton } from '../lib/csv.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import {
  countColumn,
  linkedOrder,
  sortableTable,
  sumText,
  table,
  textColumn,
  timeColumn,
} from '../lib/table.js';
import { isWindowOf, selectionValue } from '../timeline/selection.js';
import { MAX_GRAPH_LETTERS, createGrid, graphName, graphOf } from './grid.js';
import { metricsCard } from './metrics-card.js';

const MAX_LISTED_GRAPHS = 8;

/** @typedef {import('../lib/routes').Compiles} Compiles */
/** @typedef {import('../lib/routes').CompileRow} CompileRow */

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function compilesView(app) {
  const element = h('div', { class: 'cards compiles' });
  const whyPlace = h('div', null);
  /** @type {Compiles} */
  let answer;
  /** The answer with the compilations on the chosen hosts only. @type {Compiles} */
  let filtered;
  /** @type {CompileRow|null} */
  let chosen = null;
  /** @type {import('../lib/types').Device[]} */
  let sessionDevices = [];
  let devices = sessionDevices;
  /** Number of hosts of the session. */
  let hostCount = 1;
  /** @type {ReturnType<typeof sortableTable>|null} */
  let compileTable = null;
  /** @type {ReturnType<typeof createGrid>|null} */
  let grid = null;

  const linkStateOf = (/** @type {CompileRow} */ { start_ps, duration_ps }) =>
    windowLinkState(start_ps, start_ps + duration_ps);
  /** The link's compilation, else the longest one after the warm-up, else the longest one. */
  const findChosen = () => {
    const longest =
      [...filtered.compiles].sort(
        (a, b) => Number(a.warm_up) - Number(b.warm_up) || b.duration_ps - a.duration_ps,
      )[0] ?? null;
    const linked = selectionValue(app.link.state.sel);
    return (
      filtered.compiles.find((row) => linkStateOf(row).sel === app.link.state.sel) ??
      filtered.compiles.find(({ start_ps, duration_ps }) => isWindowOf(linked, start_ps, start_ps + duration_ps)) ??
      longest
    );
  };
  const idleOf = (/** @type {CompileRow} */ { idle_ps }) => total(devices, ({ id }) => idle_ps[id]);
  const showInTimeline = (/** @type {CompileRow} */ row) => app.open(linkStateOf(row));

  /** @param {CompileRow} row */
  function choose(row) {
    app.link.set({ sel: linkStateOf(row).sel }, 'push');
    showChosen();
    app.live.announceNow(`${graphName(row)[0]}, compiled in ${timeText(row.duration_ps)}.`);
  }

  function showChosen() {
    chosen = findChosen();
    compileTable?.refresh();
    grid?.refresh();
    fill(whyPlace, chosen && whyCard(chosen, filtered));
  }

  function draw() {
    const selectedHosts = new Set(app.selection().hosts);
    const isShown = (/** @type {string} */ host) => selectedHosts.has(host);
    const compiles = answer.compiles.filter(({ host }) => isShown(host));
    const graphs = answer.graphs.map((graph) => {
      const compilesOfGraph = compiles.filter((row) => graphOf(row) === graph.graph);
      return { ...graph, compiles: compilesOfGraph.length, cost_ps: total(compilesOfGraph, 'duration_ps') };
    });
    filtered = { ...answer, compiles, graphs };
    const afterWarmUp = compiles.filter(({ warm_up }) => !warm_up);
    if (!compiles.length && !graphs.length) {
      fill(
        element,
        emptyCard(
          'Compiles',
          'No compilation in this capture.',
          'All graphs came from the cache, or the capture began after they were compiled.',
        ),
        metricsCard(answer.metrics),
      );
      return 'empty';
    }
    const cost = total(afterWarmUp, 'duration_ps');
    chosen = findChosen();
    grid = createGrid(filtered, () => chosen, choose, isShown);
    compileTable = compiles.length ? listTable(compiles) : null;
    fill(
      element,
      card(
        'Graphs and steps',
        {
          note: 'a filled cell is a compilation with its cost · a dot is a run from the cache',
          class: 'grid-card',
          right: h(
            'span',
            { class: 'small secondary', 'data-testid': 'compile-count' },
            sumText(plural(afterWarmUp.length, 'compilation')),
            ' after warm-up',
            afterWarmUp.length > 0 && [' · ', sumText(timeText(cost))],
            hostCount > 1 && `, ${hostCountText(hostCount, app.selection().hosts.length)}`,
          ),
        },
        grid.element,
      ),
      compileTable
        ? card(
            'Compilations',
            {
              class: 'list-card',
              right: exportButton(
                'compiles',
                [
                  ...(hostCount > 1 ? ['host'] : []),
                  'start_ps',
                  'duration_ps',
                  'idle_ps',
                  'step',
                  'graph',
                  'graph_hash',
                  'annotation',
                  'cause',
                  'frame',
                  'warm_up',
                  'cut',
                  'what_is_new',
                ],
                () => compiles.map((row) => ({ ...row, idle_ps: idleOf(row), step: row.step_number ?? row.step })),
              ),
            },
            h(
              'div',
              { class: compiles.some((row) => row.what_is_new) ? 'fill compile-table' : 'fill' },
              compileTable.element,
            ),
          )
        : card(
            'Compilations',
            {},
            h(
              'p',
              { 'data-testid': 'compile-list' },
              `No compilation ${answer.compiles.length ? 'on the chosen hosts' : 'in this capture'}.`,
            ),
          ),
      whyPlace,
      metricsCard(answer.metrics),
    );
    showChosen();
    return 'ready';
  }

  /** @param {CompileRow[]} items */
  function listTable(items) {
    const unit = columnUnit(items, 'duration_ps');
    return sortableTable({
      label: 'Compilations',
      testid: 'compile-list',
      items,
      ...linkedOrder(app.link, '-time'),
      select: choose,
      open: showInTimeline,
      selected: (row) => row === chosen,
      columns: [
        linkedColumn(definedColumn(TABLES.compiles.start_ps), showInTimeline),
        definedColumn(TABLES.compiles.duration_ps, { timeUnit: unit, key: 'time' }),
        timeColumn(
          devices.length > 1 ? `Idle for it, ${coreCountText(devices.length)}` : 'Device idle for it',
          unit,
          idleOf,
          { key: 'idle' },
        ),
        definedColumn(TABLES.compiles.step, {
          field: (/** @type {CompileRow} */ row) => row.step_number ?? row.step,
          cell: ({ step, step_number }) => String(step_number ?? step ?? MISSING),
        }),
        definedColumn(TABLES.compiles.graph_hash, {
          field: (/** @type {CompileRow} */ row) => graphName(row).join(),
          key: 'graph',
          title: (row) => [row.module, graphOf(row)].filter(Boolean).join('\n'),
          cell: (row) => {
            const [name, suffix] = graphName(row);
            return [cutName(name, MAX_GRAPH_LETTERS), h('span', { class: 'muted small' }, ` ${suffix}`)];
          },
        }),
        definedColumn(TABLES.compiles.annotation, {
          field: (/** @type {CompileRow} */ { annotation }) => annotation?.split('/').join(' › '),
          key: 'during',
        }),
        definedColumn(TABLES.compiles.state, { key: 'when' }),
        ...columnsWithValues(items),
        ...(hostCount > 1 ? [definedColumn(TABLES.compiles.host)] : []),
        { head: '', name: 'Show', number: true, cell: (row) => showButton(() => showInTimeline(row), 'compile-show') },
      ],
    });
  }

  /** The card about the reason for a compilation. @param {CompileRow} row @param {Compiles} document */
  function whyCard(row, document) {
    return card(
      cutMiddle(row.heading, 90),
      { note: document.note, class: 'why' },
      h(
        'div',
        { class: 'two-columns' },
        h(
          'div',
          { 'data-testid': 'compile-diff' },
          h('p', null, row.reason),
          row.nearest?.different_count ? diff(row.nearest, document) : null,
          row.graphs_of_same_name[0]
            ? [
                h('h3', null, 'Graphs of the same name'),
                h(
                  'ul',
                  { class: 'plain', 'data-testid': 'compile-graphs' },
                  row.graphs_of_same_name
                    .slice(0, MAX_LISTED_GRAPHS)
                    .map((graph) => h('li', null, graphLink(graph, document))),
                ),
                row.graphs_of_same_name.length > MAX_LISTED_GRAPHS &&
                  h(
                    'p',
                    { class: 'muted small' },
                    `and ${count(row.graphs_of_same_name.length - MAX_LISTED_GRAPHS)} more`,
                  ),
              ]
            : null,
          row.advice ? [h('h3', null, 'What to do'), h('p', { class: 'secondary' }, row.advice)] : null,
        ),
        h(
          'div',
          null,
          h('h3', null, 'Python frames'),
          row.frame
            ? h(
                'pre',
                { 'data-testid': 'compile-frame' },
                h(
                  'code',
                  null,
                  row.frames.map((line) => [h(line === row.frame ? 'b' : 'span', null, line), '\n']).flat(),
                ),
              )
            : h('p', { class: 'secondary', 'data-testid': 'compile-frame' }, document.how_to_record_causes),
        ),
      ),
    );
  }

  /**
   * The differences from the nearest graph with known parameters.
   * @param {NonNullable<CompileRow['nearest']>} nearest
   * @param {Compiles} document
   */
  const diff = ({ graph, parameters, different_count }, document) => [
    h('h3', null, 'Parameters that differ from ', graphLink(graph, document)),
    h(
      'div',
      { class: 'compact' },
      table({
        label: 'Parameters that differ',
        items: parameters,
        columns: [
          countColumn('Parameter', 'index'),
          textColumn('That graph', 'before', {
            cell: (/** @type {{before: string|null}} */ { before }) => h('code', null, before),
          }),
          textColumn('This graph', 'after', {
            cell: (/** @type {{before: string|null, after: string|null}} */ { before, after }) =>
              h('code', null, changedParts(before ?? '', after ?? '').map(([text, changed]) =>
                changed ? h('mark', null, text) : text)),
          }),
        ],
      }),
    ),
    different_count > parameters.length &&
      h('p', { class: 'muted small' }, `and ${count(different_count - parameters.length)} more`),
  ];

  /** @param {string} name @param {Compiles} document */
  function graphLink(name, document) {
    const row = document.compiles.find(({ graph }) => graph === name);
    return row ? link(graphName(row).filter(Boolean).join(' '), () => choose(row)) : name;
  }

  function filter() {
    devices = app.selectedDevices(sessionDevices);
    return draw();
  }

  const data = createDocumentView(app, 'compiles', element, (next, session) => {
    answer = next;
    sessionDevices = session.devices;
    hostCount = session.session.hosts.length;
    return filter();
  });
  const followLink = data.whenDrawn(showChosen);
  return {
    element, followLink, open: data.open, filter: data.whenDrawn(filter),
    show(on) {
      data.show(on);
      if (on) followLink();
    },
  };
}

/**
 * The tokens of a shape, each with whether it differs from the token at the same position of another shape.
 * @param {string} before
 * @param {string} after
 * @returns {[token: string, changed: boolean][]}
 */
function changedParts(before, after) {
  const tokens = (/** @type {string} */ shape) => shape.match(/\w+|\W+/g) ?? [];
  const tokensBefore = tokens(before);
  return tokens(after).map((token, index) => [token, token !== tokensBefore[index]]);
}

/**
 * The columns that only some captures fill: what is new, and cause and frame from a debug log.
 * @param {CompileRow[]} items
 * @returns {import('../lib/table.js').Column<CompileRow>[]}
 */
function columnsWithValues(items) {
  const { difference, cause, frame } = TABLES.compiles;
  return [
    ...(items.some((row) => row.what_is_new)
      ? [definedColumn(difference, { field: (/** @type {CompileRow} */ row) => row.what_is_new, key: 'new' })]
      : []),
    ...(items.some((row) => row.cause) ? [definedColumn(cause)] : []),
    ...(items.some((row) => row.frame)
      ? [
          definedColumn(frame, {
            cell: (/** @type {CompileRow} */ row) => codeCell(row.frame && row.frame.split('\n')[0], 48),
          }),
        ]
      : []),
  ];
}
