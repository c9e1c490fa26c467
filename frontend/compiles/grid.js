/** The graph × step grid: compilations, and runs from the cache. */

import { button, fill, h } from '../lib/dom.js';
import { columnUnit, total, groupBy } from '../lib/totals.js';
import { link } from '../lib/cards.js';
import { count, cutMiddle, digits, plural, timeCell, timeText } from '../lib/format.js';

/** @typedef {import('../lib/routes').Compiles} Compiles */
/** @typedef {import('../lib/routes').CompileRow} CompileRow */
/** @typedef {import('../lib/routes').GraphRow} CompileGraph */

const MAX_GRAPHS = 40;
/** Columns drawn at first: a page cannot hold thousands of steps. */
const MAX_STEPS = 200;
/** Up to this number of hosts, each host's step has its own column; beyond, hosts share a column per step. */
const MAX_HOSTS_APART = 4;

/** Sorts graphs with compilations first, otherwise in the server's order. @param {CompileGraph[]} graphs */
export const compiledFirst = (graphs) => [...graphs].sort((a, b) => Number(b.compiles > 0) - Number(a.compiles > 0));

/**
 * The step indices of each column; with many hosts, steps of equal number share a column.
 * @param {number[]} shown
 * @param {(number|null)[]} numbers
 * @param {string[]} hosts the host of each step
 * @returns {number[][]}
 */
export function columnsOf(shown, numbers, hosts) {
  if (new Set(shown.map((/** @type {number} */ step) => hosts[step])).size <= MAX_HOSTS_APART) {
    return shown.map((step) => [step]);
  }
  const first = new Map(hosts.map((host, step) => /** @type {[string, number]} */ ([host, step])).reverse());
  return [
    ...groupBy(shown, (/** @type {number} */ step) =>
      String(numbers[step] ?? step - (first.get(hosts[step]) ?? 0)),
    ).values(),
  ];
}

/**
 * Limits the columns, in their order: columns with compilations take precedence, then the first ones.
 * @param {number[][]} columns @param {CompileRow[]} rows @param {number} limit
 */
export function compiledIn(columns, rows, limit) {
  if (columns.length <= limit) return columns;
  const busy = new Set(rows.map(({ step }) => step ?? -1));
  const hasCompiles = (/** @type {number[]} */ column) => column.some((step) => busy.has(step));
  const ordered = [...columns.filter(hasCompiles), ...columns.filter((column) => !hasCompiles(column))];
  const drawn = new Set(ordered.slice(0, limit));
  return columns.filter((column) => drawn.has(column));
}

/**
 * Groups compilations by graph and step index; -1 stands for no step.
 * @param {CompileRow[]} rows @returns {Map<string, CompileRow[]>} by `graph\nstep`
 */
export const byCell = (rows) => groupBy(rows, (row) => `${graphOf(row)}\n${row.step ?? -1}`);

/**
 * A graph's name: its module and a shortened hash, or its id if that already begins with the module.
 * @param {{graph: string|null, module: string|null}} graph @returns {[string, string]}
 */
export function nameOf({ graph, module }) {
  const id = graph ?? '';
  if (!module || id.startsWith(module)) return [id || 'unknown graph', ''];
  return [module, id.length > 12 ? `${id.slice(0, 4)}…${id.slice(-4)}` : id];
}

/** @param {CompileRow} row */
export const graphOf = ({ graph }) => graph ?? 'unknown graph';

/** The host of each step. @param {Compiles['step_hosts']} hosts @returns {string[]} */
export const hostsOfSteps = (hosts) => hosts.flatMap(([host, steps]) => Array(steps).fill(host));

/**
 * @param {Compiles} answer @param {() => CompileRow|null} chosen @param {(row: CompileRow) => void} choose
 * @param {(host: string) => boolean} shows whether the steps of a host are shown
 */
export function createGrid({ compiles, graphs, steps, step_hosts }, chosen, choose, shows) {
  const hostOf = hostsOfSteps(step_hosts);
  const cells = byCell(compiles);
  const outside = compiles.some(({ step }) => step === null);
  const visibleSteps = [...steps.keys()].filter((step) => shows(hostOf[step]));
  const allColumns = [...(outside ? [[-1]] : []), ...columnsOf(visibleSteps, steps, hostOf)];
  const together = allColumns.some((column) => column.length > 1);
  let columns = compiledIn(allColumns, compiles, MAX_STEPS);
  const unit = columnUnit(compiles, 'duration_ps');
  const sortedGraphs = graphs.length > MAX_GRAPHS ? compiledFirst(graphs) : graphs;
  /** Steps with a known run or compilation. */
  const stepsWithRuns = new Set([
    ...compiles.map(({ step }) => step ?? -1),
    ...graphs.flatMap((graph) => Object.keys(graph.steps).map(Number)),
  ]);
  const hasNoRuns = (/** @type {number} */ step) => !stepsWithRuns.has(step);
  const stepName = (/** @type {number[]} */ [step]) => (step < 0 ? 'outside' : String(steps[step] ?? step));
  const owners = h('tr', null);
  const head = h('tr', null);
  const body = h('tbody', null);
  const more = h('p', { class: 'small muted' });
  let shownGraphs = MAX_GRAPHS;

  /** @param {number[]} column */
  const onHosts = (column) =>
    column.length > 1
      ? ` on ${plural(column.length, 'host')} together`
      : step_hosts.length > 1
        ? ` on ${hostOf[column[0]]}`
        : '';

  /** @param {CompileGraph} graph @param {number[]} column the steps of the column */
  function cell(graph, column) {
    const compiled = column.flatMap((step) => cells.get(`${graph.graph}\n${step}`) ?? []);
    if (compiled.length) {
      const ps = total(compiled, 'duration_ps');
      /** Compilations that the capture cuts took longer than recorded. */
      const plus = compiled.some(({ cut }) => cut) ? '+' : '';
      const compiledSteps = column.filter((step) => cells.has(`${graph.graph}\n${step}`));
      const place = column[0] < 0 ? 'no step' : `step ${stepName(column)}${onHosts(compiledSteps)}`;
      const title = `${graph.graph} compiled in ${place}: ${timeText(ps)}${plus}`;
      return h(
        'td',
        { class: 'c' },
        button(digits(ps / unit.ps, 1) + plus, () => choose(compiled[0]), {
          'data-testid': 'compile-cell',
          'data-ps': ps,
          title,
          'aria-pressed': 'false',
        }),
      );
    }
    const state = column.map((step) => graph.steps[String(step)]).find(Boolean);
    return state
      ? h(
          'td',
          { class: 'r', title: state === 'run' ? 'run from the cache' : state },
          h('span', { class: 'hidden' }, state),
        )
      : h('td', { class: column.every(hasNoRuns) && 'u' });
  }

  function drawRows() {
    const columnsByHost = [...groupBy(columns, (/** @type {number[]} */ [step]) => hostOf[step] ?? '')];
    fill(
      owners,
      step_hosts.length > 1 && !together
        ? [
            h('td', null),
            ...columnsByHost.map(([host, hostColumns]) =>
              h(
                'th',
                { scope: 'colgroup', colspan: hostColumns.length, class: 'of-host', title: host },
                h('span', null, host),
              ),
            ),
          ]
        : null,
    );
    fill(
      head,
      h('th', { scope: 'col' }, 'Graph'),
      columns.map((column) => h('th', { scope: 'col', class: 's' }, stepName(column))),
      h('th', { scope: 'col', class: 'num' }, `Cost, ${unit.name}`),
      h('th', { scope: 'col', class: 'num' }, 'Compiles'),
      h('th', { scope: 'col', class: 'num' }, 'Steps'),
    );
    fill(
      body,
      sortedGraphs.slice(0, shownGraphs).map((graph) =>
        h(
          'tr',
          { 'data-graph': graph.graph },
          h(
            'th',
            { scope: 'row', title: [graph.graph, ...graph.program_ids].join('\n') },
            cutMiddle(nameOf(graph)[0], 34),
            h('span', { class: 'muted small' }, ` ${nameOf(graph)[1]}`),
          ),
          columns.map((column) => cell(graph, column)),
          h('td', { class: 'num', 'data-ps': graph.cost_ps }, timeCell(graph.cost_ps, unit)),
          h('td', { class: 'num' }, count(graph.compiles)),
          h(
            'td',
            { class: 'num' },
            count(
              together
                ? allColumns.filter((column) => column.some((step) => graph.steps[String(step)])).length
                : Object.keys(graph.steps).length,
            ),
          ),
        ),
      ),
    );
    const notes = [
      sortedGraphs.length > shownGraphs &&
        `${count(shownGraphs)} of ${count(sortedGraphs.length)} graphs, those that compiled first. `,
      allColumns.length > columns.length &&
        `${count(columns.length)} of ${count(allColumns.length)} steps, those with compilations first. `,
    ];
    fill(
      more,
      notes.some(Boolean)
        ? [
            ...notes,
            link('Show all', () => {
              shownGraphs = sortedGraphs.length;
              columns = allColumns;
              drawRows();
              refresh();
            }),
          ]
        : [
            allColumns.flat().some(hasNoRuns) ? 'Hatched: no known run in that step. ' : '',
            'A graph that was compiled before the capture has only dots.',
            together && ' A column is a step of all chosen hosts; choose one host for its own steps.',
          ],
    );
  }

  function refresh() {
    const chosenRow = chosen();
    body.querySelectorAll('button').forEach((element) => element.setAttribute('aria-pressed', 'false'));
    if (!chosenRow) return;
    const tableRow = [...body.rows].find(({ dataset }) => dataset.graph === graphOf(chosenRow));
    tableRow?.cells[columns.findIndex((column) => column.includes(chosenRow.step ?? -1)) + 1]
      ?.querySelector('button')
      ?.setAttribute('aria-pressed', 'true');
  }

  drawRows();
  const element = h(
    'div',
    null,
    h(
      'div',
      { class: 'scroll' },
      h(
        'table',
        { class: 'graph-grid', 'data-testid': 'compile-grid', 'aria-label': 'Graphs and steps' },
        h('thead', null, owners, head),
        body,
      ),
    ),
    more,
  );
  return { element, refresh };
}
