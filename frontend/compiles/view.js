/** Compiles: which graph was compiled in which step, what it cost, and why it was new. */

import { h, fill } from '../lib/dom.js';
import { loadOnce } from '../frame/once.js';
import { card, emptyCard, link, placeAround, showButton, windowPlace } from '../lib/cards.js';
import { columnUnit, count, cutMiddle, digits, MISSING, plural, timeCell, timeText } from '../lib/format.js';
import { saveCsv } from '../lib/csv.js';
import { msText } from '../lib/link.js';
import { liveTable } from '../lib/table.js';
import { createGrid, graphOf, nameOf } from './grid.js';

/** @typedef {import('../lib/views').Compiles} Compiles */
/** @typedef {import('../lib/views').CompileRow} CompileRow */

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function create(app) {
  const element = h('div', { class: 'cards compiles' });
  const why = h('div', null);
  /** @type {Compiles|null} */
  let answer = null;
  /** @type {ReturnType<typeof liveTable>|null} */
  let rows = null;
  /** @type {ReturnType<typeof createGrid>|null} */
  let grid = null;

  const keyOf = (/** @type {CompileRow} */ row) => `win:${msText(row.start_ps)}+${msText(row.duration_ps)}`;
  /** The compile of the link, else the longest one after the warm-up. */
  const chosen = () => {
    const all = answer?.compiles ?? [];
    const longest = [...all].sort((a, b) => Number(a.warm_up) - Number(b.warm_up) || b.duration_ps - a.duration_ps)[0] ?? null;
    return all.find((row) => keyOf(row) === app.link.state.sel) ?? longest;
  };
  const show = (/** @type {CompileRow} */ row) => app.open({ ...windowPlace(row.start_ps, row.start_ps + row.duration_ps),
    w: placeAround(row.start_ps, row.start_ps + row.duration_ps) });

  /** @param {CompileRow} row */
  function choose(row) {
    app.link.set({ sel: keyOf(row) }, 'push');
    mark();
    app.live.answer(`${nameOf(row)[0]}, compiled in ${timeText(row.duration_ps)}.`);
  }

  function mark() {
    rows?.refresh();
    grid?.refresh();
    const own = chosen();
    fill(why, own && answer ? whyCard(own, answer) : null);
  }

  function draw() {
    if (!answer) return 'empty';
    const { compiles, graphs } = answer;
    const late = compiles.filter(({ warm_up }) => !warm_up);
    app.count('compiles', count(late.length));
    if (!compiles.length && !graphs.length) {
      fill(element, emptyCard('Compiles', 'No compilation in this capture.', 'All graphs came from the cache, or the capture began after they were compiled.'));
      return 'empty';
    }
    const cost = late.reduce((sum, { duration_ps }) => sum + duration_ps, 0);
    grid = createGrid(answer, chosen, choose);
    rows = compiles.length ? listTable(compiles) : null;
    fill(element,
      card('Graphs and steps', { note: 'a filled cell is a compilation, its cost inside · a dot is a run from the cache', class: 'grid-card',
        right: h('span', { class: 'small sec', 'data-testid': 'compile-count' }, `${plural(late.length, 'compilation')} after the first steps · ${timeText(cost)}`) }, grid.element),
      rows ? card('Compilations', { class: 'list-card', right: h('button', { type: 'button', 'data-testid': 'export-csv', onclick: save }, 'Export CSV') }, h('div', { class: 'fill' }, rows.element))
        : card('Compilations', {}, h('p', { 'data-testid': 'compile-list' }, 'No compilation in this capture.')), why);
    mark();
    return 'ready';
  }

  /** @param {CompileRow[]} items */
  function listTable(items) {
    const unit = columnUnit(items.map(({ duration_ps }) => duration_ps));
    const idle = items.some(({ idle_ps }) => idle_ps != null);
    return liveTable({
      label: 'Compilations', testid: 'compile-list', items, rowHeight: 24, sort: app.link.state.o || '-time', ordered: (o) => app.link.set({ o: o === '-time' ? '' : o }, 'push'),
      select: choose, open: show, selected: (row) => row === chosen(),
      columns: [
        { key: 'start', head: 'Start, ms', number: true, value: ({ start_ps }) => start_ps, ps: ({ start_ps }) => start_ps, cell: (row) => link(digits(row.start_ps / 1e9, 3), () => show(row)) },
        { key: 'time', head: `Time, ${unit.name}`, number: true, value: ({ duration_ps }) => duration_ps, ps: ({ duration_ps }) => duration_ps, cell: ({ duration_ps }) => timeCell(duration_ps, unit) },
        { key: 'step', head: 'Step', number: true, value: (row) => row.step_number ?? row.step ?? -1, cell: (row) => stepText(row) },
        { key: 'graph', head: 'Graph', value: (row) => nameOf(row).join(), title: (row) => [row.module, graphOf(row)].filter(Boolean).join('\n'),
          cell: (row) => [cutMiddle(nameOf(row)[0], 34), h('span', { class: 'muted small' }, ` ${nameOf(row)[1]}`)] },
        { key: 'during', head: 'During', value: ({ annotation }) => annotation ?? '', title: ({ annotation }) => annotation ?? '', cell: ({ annotation }) => (annotation ? annotation.split('/').join(' › ') : MISSING) },
        { key: 'cause', head: 'Cause', value: ({ cause }) => cause ?? '', title: ({ cause }) => cause ?? '', cell: (row) => row.cause ?? (row.warm_up ? h('span', { class: 'muted' }, 'warm-up') : MISSING) },
        { key: 'frame', head: 'Frame', value: ({ frame }) => frame ?? '', title: ({ frame }) => frame ?? '', cell: ({ frame }) => (frame ? h('code', null, cutMiddle(frame.split('\n')[0], 48)) : MISSING) },
        ...(idle ? [{ key: 'idle', head: `Device idle for it, ${unit.name}`, number: true, value: (/** @type {CompileRow} */ { idle_ps }) => idle_ps ?? -1, cell: (/** @type {CompileRow} */ { idle_ps }) => timeCell(idle_ps, unit) }] : []),
        { key: 'show', head: '', number: true, cell: (row) => showButton(() => show(row), 'compile-show') },
      ],
    });
  }

  /** @param {CompileRow} row @param {Compiles} all */
  function whyCard(row, all) {
    const kin = (row.kin ?? []).filter((name) => name !== graphOf(row));
    const known = all.compiles.some(({ cause, frame }) => cause || frame);
    const again = all.compiles.filter(({ module, warm_up }) => module === row.module && !warm_up).length;
    const title = row.warm_up ? `${cutMiddle(nameOf(row)[0], 60)} was compiled in the warm-up` : `Why ${cutMiddle(nameOf(row)[0], 60)} is a new graph`;
    return card(title, { note: known ? 'from the debug log beside the trace' : null, class: 'why' }, h('div', { class: 'two' },
      h('div', { 'data-testid': 'compile-diff' },
        h('p', null, row.cause ? [h('b', null, 'Cause: '), row.cause] : row.warm_up ? 'The first steps compile each graph once: nothing to mend.' : 'The trace does not say why the graph is new.'),
        kin.length ? [h('h3', null, 'Graphs of the same program'), h('ul', { class: 'plain' }, kin.slice(0, 8).map((name) => h('li', null, graphLink(name, all)))),
          kin.length > 8 ? h('p', { class: 'muted small' }, `and ${count(kin.length - 8)} more`) : null] : null,
        row.warm_up ? null : [h('h3', null, 'What to do'), h('p', { class: 'sec' }, 'Keep shapes the same from step to step: pad to a few fixed lengths (buckets), and run each length once before training. Avoid control flow that depends on data.'),
          again > 1 ? h('p', { class: 'sec' }, `${count(again)} compilations of ${row.module} in this capture come after the first steps.`) : null]),
      h('div', null, h('h3', null, 'Python frames at the sync'),
        row.frame ? h('pre', { 'data-testid': 'compile-frame' }, h('code', null, row.frame))
          : h('p', { class: 'sec', 'data-testid': 'compile-frame' }, 'No frames. Run with PT_XLA_DEBUG=1 and put what it prints on stderr beside the trace: then cause and frame are shown here.'))));
  }

  /** @param {string} name @param {Compiles} all */
  function graphLink(name, all) {
    const row = all.compiles.find(({ graph }) => graph === name);
    return row ? link(nameOf(row).filter(Boolean).join(' '), () => choose(row)) : name;
  }

  function save() {
    saveCsv('compiles.csv', ['start_ps', 'duration_ps', 'step', 'graph', 'graph_hash', 'annotation', 'cause', 'frame', 'warm_up'],
      (answer?.compiles ?? []).map((row) => [row.start_ps, row.duration_ps, row.step_number ?? row.step, row.graph, row.graph_hash, row.annotation, row.cause, row.frame, String(row.warm_up)]));
  }

  const data = loadOnce(app, 'compiles', element, (/** @type {Compiles} */ next) => {
    answer = next;
    return draw();
  });
  return { element, open: data.open, filter() {}, move: mark, show: data.show, recolor() {} };
}

/** @param {CompileRow} row */
const stepText = ({ step, step_number }) => String(step_number ?? step ?? MISSING);
