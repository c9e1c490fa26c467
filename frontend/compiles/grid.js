/** The graph × step grid: compilations, and runs from the cache. */

import { button, fill, h } from '../lib/dom.js';
import { columnUnit, total, groupBy } from '../lib/totals.js';
import { link } from '../lib/cards.js';
import { count, cutMiddle, digits, plural, timeCell, timeText } from '../lib/format.js';

/** @typedef {import('../lib/routes').Compiles} Compiles */
/** @typedef {import('../lib/routes').CompileRow} CompileRow */
/** @typedef {import('../lib/routes').GraphRow} CompileGraph */

const MAX_GRAPHS = 40;
export const MAX_GRAPH_LETTERS = 34;
/** The number of columns drawn at first: thousands of them would slow the page down. */
const MAX_STEPS = 200;
/** Up to this number of hosts, each host's step has its own column; with more, hosts share a column per step. */
const MAX_HOSTS_APART = 4;

/** Sorts graphs with compilations first, otherwise in the server's order. @param {CompileGraph[]} graphs */
export const compiledFirst = (graphs) => [...graphs].sort((a, b) => Number(b.compiles > 0) - Number(a.compiles > 0));

/**
 * The step indices of each column. With many hosts, steps of equal number share a column, in the order of the numbers;
 * steps without numbers, for which the answer has their indices, count from their host's first one.
 * @param {number[]} shown indices of steps
 * @param {number[]} numbers the number of each step
 * @param {string[]} hosts the host of each step
 * @returns {number[][]}
 */
export function columnsOf(shown, numbers, hosts) {
  if (new Set(shown.map((/** @type {number} */ step) => hosts[step])).size <= MAX_HOSTS_APART) {
    return shown.map((step) => [step]);
  }
  const firstSteps = new Map(hosts.map((host, step) => /** @type {[string, number]} */ ([host, step])).reverse());
  const hasNumbers = numbers.some((number, step) => number !== step);
  const numberOf = (/** @type {number} */ step) =>
    hasNumbers ? numbers[step] : step - (firstSteps.get(hosts[step]) ?? 0);
  return [...groupBy(shown, numberOf)].sort(([a], [b]) => a - b).map(([, column]) => column);
}

/**
 * At most `limit` of the columns, in their order: those with compilations take precedence, then the first ones.
 * @param {number[][]} columns @param {CompileRow[]} rows @param {number} limit
 */
export function limitColumns(columns, rows, limit) {
  if (columns.length <= limit) return columns;
  const compiledSteps = new Set(rows.map(({ step }) => step ?? -1));
  const hasCompiles = (/** @type {number[]} */ column) => column.some((step) => compiledSteps.has(step));
  const byPrecedence = [...columns.filter(hasCompiles), ...columns.filter((column) => !hasCompiles(column))];
  const drawn = new Set(byPrecedence.slice(0, limit));
  return columns.filter((column) => drawn.has(column));
}

/**
 * The number of columns in which a graph was compiled or ran.
 * @param {Pick<CompileGraph, 'steps'>} graph @param {number[][]} columns
 */
export const countColumns = ({ steps }, columns) =>
  columns.filter((column) => column.some((step) => steps[String(step)])).length;

/**
 * Groups compilations by graph and step index; -1 stands for no step.
 * @param {CompileRow[]} rows @returns {Map<string, CompileRow[]>} by `graph\nstep`
 */
export const groupByCell = (rows) => groupBy(rows, (row) => `${graphOf(row)}\n${row.step ?? -1}`);

/**
 * A graph's name: its module and its shortened id, or the id alone if it already begins with the module.
 * @param {{graph: string|null, module: string|null}} graph @returns {[name: string, suffix: string]}
 */
export function graphName({ graph, module }) {
  const id = graph ?? '';
  if (!module || id.startsWith(module)) return [id || 'unknown graph', ''];
  return [module, id.length > 12 ? `${id.slice(0, 4)}…${id.slice(-4)}` : id];
}

/** The id of a compilation's graph. @param {CompileRow} row */
export const graphOf = ({ graph }) => graph ?? 'unknown graph';

/** The host of each step. @param {Compiles['step_hosts']} hosts with their numbers of steps @returns {string[]} */
export const hostsOfSteps = (hosts) => hosts.flatMap(([host, steps]) => Array(steps).fill(host));

/**
 * The grid; `refresh` shows the chosen compilation.
 * @param {Compiles} answer @param {() => CompileRow|null} chosen @param {(row: CompileRow) => void} choose
 * @param {(host: string) => boolean} isShown whether the steps of a host are shown
 */
export function createGrid({ compiles, graphs, graph_count, steps, step_hosts }, chosen, choose, isShown) {
  const hosts = hostsOfSteps(step_hosts);
  const cells = groupByCell(compiles);
  const hasCompilesOutsideSteps = compiles.some(({ step }) => step === null);
  const visibleSteps = [...steps.keys()].filter((step) => isShown(hosts[step]));
  const allColumns = [...(hasCompilesOutsideSteps ? [[-1]] : []), ...columnsOf(visibleSteps, steps, hosts)];
  const hostsShareColumns = allColumns.some((column) => column.length > 1);
  let columns = limitColumns(allColumns, compiles, MAX_STEPS);
  const unit = columnUnit(compiles, 'duration_ps');
  const sortedGraphs = graphs.length > MAX_GRAPHS ? compiledFirst(graphs) : graphs;
  /** Steps with a known run or compilation. */
  const stepsWithRuns = new Set([
    ...compiles.map(({ step }) => step ?? -1),
    ...graphs.flatMap((graph) => Object.keys(graph.steps).map(Number)),
  ]);
  const hasNoRuns = (/** @type {number} */ step) => !stepsWithRuns.has(step);
  const stepName = (/** @type {number[]} */ [step]) => (step < 0 ? 'outside' : String(steps[step] ?? step));
  const hostHeads = h('tr', null);
  const head = h('tr', null);
  const body = h('tbody', null);
  const note = h('p', { class: 'small muted' });
  let shownGraphs = MAX_GRAPHS;

  /** @param {number[]} column */
  const onHosts = (column) =>
    column.length > 1
      ? ` on ${plural(column.length, 'host')} together`
      : step_hosts.length > 1
        ? ` on ${hosts[column[0]]}`
        : '';

  /** @param {CompileGraph} graph @param {number[]} column the steps of the column */
  function cell(graph, column) {
    const compiled = column.flatMap((step) => cells.get(`${graph.graph}\n${step}`) ?? []);
    if (compiled.length) {
      const ps = total(compiled, 'duration_ps');
      /** Compilations that the capture cuts took longer than recorded. */
      const plus = compiled.some(({ cut }) => cut) ? '+' : '';
      const compiledSteps = column.filter((step) => cells.has(`${graph.graph}\n${step}`));
      const place = column[0] < 0 ? 'outside of steps' : `in step ${stepName(column)}${onHosts(compiledSteps)}`;
      const title = `${graph.graph} compiled ${place}: ${timeText(ps)}${plus}`;
      return h(
        'td',
        { class: 'compiled' },
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
          { class: 'cached', title: state === 'run' ? 'run from the cache' : state },
          h('span', { class: 'visually-hidden' }, state),
        )
      : h('td', { class: column.every(hasNoRuns) && 'no-run' });
  }

  function drawRows() {
    const columnsByHost = [...groupBy(columns, (/** @type {number[]} */ [step]) => hosts[step] ?? '')];
    fill(
      hostHeads,
      step_hosts.length > 1 && !hostsShareColumns
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
      h('th', { scope: 'col', class: 'numeric' }, `Cost, ${unit.name}`),
      h('th', { scope: 'col', class: 'numeric' }, 'Compiles'),
      h('th', { scope: 'col', class: 'numeric' }, 'Steps'),
    );
    fill(
      body,
      sortedGraphs.slice(0, shownGraphs).map((graph) => {
        const [name, suffix] = graphName(graph);
        return h(
          'tr',
          { 'data-graph': graph.graph },
          h(
            'th',
            { scope: 'row', title: [graph.graph, ...graph.program_ids].join('\n') },
            cutMiddle(name, MAX_GRAPH_LETTERS),
            h('span', { class: 'muted small' }, ` ${suffix}`),
          ),
          columns.map((column) => cell(graph, column)),
          h('td', { class: 'numeric', 'data-ps': graph.cost_ps }, timeCell(graph.cost_ps, unit)),
          h('td', { class: 'numeric' }, count(graph.compiles)),
          h(
            'td',
            { class: 'numeric' },
            count(countColumns(graph, allColumns)),
          ),
        );
      }),
    );
    const rowCount = Math.min(shownGraphs, sortedGraphs.length);
    // The server leaves graphs out too.
    const canShowMore = rowCount < sortedGraphs.length || columns.length < allColumns.length;
    const notes = [
      rowCount < graph_count &&
        `${count(rowCount)} of ${count(graph_count)} graphs; those with compilations take precedence. `,
      allColumns.length > columns.length &&
        `${count(columns.length)} of ${count(allColumns.length)} steps; those with compilations take precedence. `,
    ];
    fill(
      note,
      notes.some(Boolean)
        ? [
            ...notes,
            canShowMore && link('Show all', () => {
              shownGraphs = sortedGraphs.length;
              columns = allColumns;
              drawRows();
              refresh();
            }),
          ]
        : [
            allColumns.some((column) => column.every(hasNoRuns)) ? 'Hatched: no known run in that step. ' : '',
            'A graph that was compiled before the capture has only dots.',
            hostsShareColumns && ' A column is a step of all chosen hosts; choose one host for its own steps.',
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
        h('thead', null, hostHeads, head),
        body,
      ),
    ),
    note,
  );
  return { element, refresh };
}
