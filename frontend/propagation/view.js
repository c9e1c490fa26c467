/** The Propagation view: the device time and order of each annotation, and annotations lost on the device. */

import { fill, h, labelledSelect } from '../lib/dom.js';
import { columnUnit } from '../lib/totals.js';
import { createDocumentView } from '../frame/document-view.js';
import { chip, legend } from '../lib/classes.js';
import {
  card,
  codeCell,
  cutName,
  deviceName,
  emptyCard,
  hosts,
  link,
  linkedColumn,
  noDeviceCard,
  windowPlace,
} from '../lib/cards.js';
import { count, cutMiddle, plural, share, timeText, unitFor } from '../lib/format.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { countColumn, sortableTable, partColumns, startColumn, table, textColumn, timeColumn } from '../lib/table.js';
import { showsAnnotations } from '../lib/row-ids.js';
import { ofWindow, selectionText, selectionValue } from '../timeline/selection.js';
import { phaseOf, phaseTones } from '../timeline/slice-style.js';
import { isInside, treeTable } from './tree.js';
import { createOrder } from './order.js';

/** @typedef {import('./types').Propagation} Propagation */
/** @typedef {import('./types').Place} Place */
/** @typedef {import('./tree.js').Mode} Mode */

/** How the scope of an op was found. */
const STATES = Object.entries({
  direct: 'scope in the op’s own metadata',
  recovered: 'from the computations it calls, or its neighbours',
  bare: 'an op name without a scope, as in the backward pass',
  none: 'no name, as copies and other ops made by the compiler',
});
const MANY_ROWS = 60;

/**
 * The query for the link's selection, if that is an annotation or a scope; otherwise null.
 * @param {string|undefined} sel
 */
export function pickedQuery(sel) {
  const { kind, row = '', start_ps, depth } = selectionValue(sel) ?? {};
  return kind === 'event' && showsAnnotations(row) ? { row, start_ps, depth } : null;
}

/** The last part of a path. @param {string} path */
const leaf = (path) => path.slice(path.lastIndexOf('/') + 1);

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function propagationView(app) {
  const element = h('div', { class: 'cards propagation' });
  const tree = h('div', { class: 'scroll' });
  const lines = h('div', { class: 'fill' });
  const readout = h('p', { class: 'small sec', 'data-testid': 'order-readout' });
  /** @type {Propagation} */
  let answer;
  /** @type {import('../lib/types').Ready} */
  let session;
  /** @type {ReturnType<typeof createOrder>|null} */
  let order = null;
  /** @type {Mode} */
  let mode = 'step_';
  /** The path selected in the tree; `run` is the index of the selected run, or -1. @type {string|null} */
  let picked = null;
  let run = -1;
  /** @type {Set<string>} */
  let closed = new Set();
  /** The link's selection that the view shows. @type {string|undefined} */
  let shownSelection;
  let tones = new Map();

  const open = (/** @type {{start_ps: number, end_ps: number}} */ { start_ps, end_ps }) =>
    app.open(windowPlace(start_ps, end_ps));
  const pendingPick = () => app.link.state.sel !== shownSelection && pickedQuery(app.link.state.sel);
  const documentQuery = (/** @type {import('../lib/types').Ready} */ { devices }) => {
    const chosen = app.selectedDevices(devices);
    return {
      st: app.link.state.st,
      ...(pendingPick() || {
        device: filtersValue(app.link.state.f).get('device') ?? (chosen.length < devices.length ? chosen[0].id : null),
      }),
    };
  };
  /** The row of a phase, or of the first of its repetitions. @param {number|null|undefined} phase */
  const rowAt = (phase) =>
    answer.tree.find(
      (row) => row.phase !== null && phase != null && (row.phase === phase || row.name === answer.phases[phase].name),
    );
  /** The phase of a path, or around it. @param {string|null} path */
  const phaseAt = (path) =>
    answer.tree.find((row) => row.phase !== null && path !== null && (row.path === path || isInside(path, row.path)))
      ?.phase ?? null;
  const stepOf = (/** @type {Propagation} */ { step }) => (step ? String(step.number ?? step.index) : '');
  const stepName = (/** @type {Propagation} */ document) =>
    document.step ? `step ${stepOf(document)}` : 'whole capture';
  const toneOf = (/** @type {string} */ name) => (phaseOf(name, tones) ?? -1) + 1;
  const pathLink = (/** @type {string|null} */ path) =>
    path ? link(leaf(path), () => choose(path), { title: path }) : 'no annotation';

  /**
   * Selects a window, or an event in a timeline row, and writes the window around it to the link.
   * @param {Place} place
   * @param {string} [row]
   * @param {number} [depth]
   */
  function select([start_ps, end_ps], row, depth) {
    const selection = ofWindow(start_ps, end_ps);
    shownSelection = selectionText(row ? { ...selection, kind: 'event', row, depth: depth ?? 0 } : selection);
    app.link.set({ sel: shownSelection, w: windowPlace(start_ps, end_ps).w }, 'push');
    mark();
  }

  /** @param {string|null|undefined} path */
  function choose(path) {
    const row = answer.tree.find((candidate) => candidate.path === path);
    const place = row?.host_place ?? row?.device_place;
    picked = row?.path ?? null;
    run = -1;
    if (!row || !place) return mark();
    const host = session.devices.find(({ id }) => id === answer.device?.id)?.host;
    const lane = session.rows.find(({ kind, host: rowHost }) => kind === 'annotations' && (!host || rowHost === host));
    const drawn = row.host_place && lane && row.path.split('/')[0] === answer.step?.name && row.depth < lane.depths;
    select(place, drawn ? lane.id : '', row.depth);
    app.live.announceNow(`${row.name} is selected${row.lost ? `, lost: ${row.lost}` : ''}.`);
  }

  /** @param {number} at */
  function chooseRun(at) {
    const stretch = answer.strips.device[at];
    if (!stretch) return;
    run = at;
    picked = rowAt(stretch.phase)?.path ?? null;
    select([stretch.start_ps, stretch.end_ps]);
    app.live.announceNow(readout.textContent ?? '');
  }

  /** Shows the selection in all cards. */
  function mark() {
    drawTree();
    drawLines();
    order?.mark(phaseAt(picked), run);
    lift(null);
    const stretch = answer.strips.device[run];
    fill(
      readout,
      stretch && order
        ? [`${order.titleOf(run)} `, link('Show', () => open(stretch))]
        : 'A ribbon or a run selects its window; arrows move along a strip.',
    );
  }

  /** @param {string|null} path */
  function lift(path) {
    const phase = phaseAt(path ?? picked);
    order?.lift(
      path === null && run >= 0 ? (_, at) => at === run : phase === null ? null : (stretch) => stretch.phase === phase,
    );
  }

  function drawTree() {
    const focused =
      tree.contains(document.activeElement) && /** @type {HTMLElement} */ (document.activeElement).dataset.path;
    fill(
      tree,
      treeTable(answer, {
        mode,
        picked,
        closed,
        pick: choose,
        lift,
        redraw: drawTree,
        app,
        tone: (row) => (toneOf(row.path) && row.depth ? `p${toneOf(row.path)}` : 'surface-2'),
      }),
    );
    if (focused) [...tree.querySelectorAll('tr')].find(({ dataset }) => dataset.path === focused)?.focus();
  }

  /** @param {Propagation} document @param {import('../lib/types').Ready} ready */
  function coverageCard(document, ready) {
    const { coverage, total, steps, device } = document;
    const [parts, wholes] = [coverage, total].map((sums) =>
      STATES.map(([name]) => sums[/** @type {'direct_ps'} */ (`${name}_ps`)]),
    );
    const items = [...STATES.keys()];
    const inStep = partColumns('Time', items, (/** @type {number} */ index) => parts[index]);
    const inCapture = partColumns('Whole capture, all devices', items, (/** @type {number} */ index) => wholes[index]);
    const chosen = app.selectedDevices(ready.devices);
    const devices = ready.devices.filter((option) => chosen.includes(option) || option.id === device?.id);
    const backward = document.lost.some(({ reason }) => reason === 'autograd thread');
    const bar = STATES.map(([name], index) => {
      const text = `${name}${name === 'bare' && backward ? ' (backward)' : ''} ${inStep.texts[index]}` +
        `\u202f${inStep.unit.name} · ${share(inStep.shares[index])}`;
      const part = inStep.shares[index];
      const shown = part > 0.12 ? text : part > 0.03 ? share(part) : '';
      return parts[index]
        ? h(
            'div',
            { class: `of-${name}`, title: text, 'data-ps': parts[index], style: { flex: `${part} 1 0` } },
            h('span', null, shown),
          )
        : null;
    });
    return card(
      'Where the device time went',
      {
        class: 'across',
        note: [stepName(document), device?.name, `${timeText(coverage.device_ps)} on the device`]
          .filter(Boolean)
          .join(', '),
        right: [
          document.step
            ? labelledSelect(
                'step',
                steps.numbers.map((number, index) => String(number ?? steps.first + index)),
                stepOf(document),
                (st) => ask({ st }),
                'propagation-step',
              )
            : null,
          devices.length > 1
            ? labelledSelect(
                'device',
                devices.map((option) => [option.id, deviceName(option, ready.session.hosts)]),
                device?.id,
                (id) => ask({ f: filtersText(filtersValue(app.link.state.f).set('device', id)) }),
                'propagation-device',
              )
            : null,
        ],
      },
      document.hint &&
        h(
          'p',
          { 'data-testid': 'propagation-hint' },
          document.state === 'flag_off' ? 'The trace has no scopes: record with XLA_HLO_DEBUG=1. ' : '',
          h('span', { class: 'sec' }, document.hint),
        ),
      coverage.device_ps
        ? [
            h('div', { class: 'coverage', 'data-testid': 'coverage-bar' }, bar),
            h(
              'details',
              null,
              h(
                'summary',
                { class: 'small muted' },
                STATES.filter((_, index) => parts[index])
                  .map((state) => state.join(': '))
                  .join(' · '),
              ),
              table({
                label: 'Coverage',
                testid: 'coverage-table',
                items,
                foot: ['Device run', inStep.sum, share(1), inCapture.sum, ''],
                columns: [
                  { head: 'Scope', cell: (index) => STATES[index][0] },
                  inStep.time,
                  inStep.share,
                  inCapture.time,
                  { head: 'From', cell: (index) => STATES[index][1] },
                ],
              }),
            ),
          ]
        : null,
    );
  }

  /** @param {Propagation} document */
  function treeCard(document) {
    const { means, lost, left_off } = document;
    /** @type {[string, string][]} */
    const modes = [
      ['step_', stepName(document)],
      ['mean_', `mean of ${plural(means.steps, 'step')}`],
      ['', 'whole capture'],
    ];
    const hostCount = session.session.hosts.length;
    const hostNames = document.hosts.length <= 3 ? `: ${document.hosts.join(', ')}` : '';
    return card(
      'Annotations',
      {
        note: document.hosts.length < hostCount ? `${hosts(hostCount, document.hosts.length)}${hostNames}` : null,
        right: [
          legend([
            [chip('ink'), 'host'],
            [chip('dev'), 'device'],
          ]),
          labelledSelect(
            'times',
            modes.filter(([name]) => !name || (name === 'step_' ? document.step : means.steps)),
            mode,
            (value) => {
              mode = /** @type {Mode} */ (value);
              drawTree();
            },
            'propagation-times',
          ),
        ],
      },
      tree,
      more(left_off.tree),
      means.devices > 1
        ? h(
            'p',
            { class: 'small muted' },
            `Means are per step and core; the whole capture adds up ${count(means.devices)} devices.`,
          )
        : null,
      lost.length
        ? [
            h('h3', null, 'Lost annotations'),
            table({
              label: 'Lost annotations',
              testid: 'lost-table',
              items: lost,
              columns: [
                pathColumn,
                textColumn('Reason', 'reason'),
                {
                  head: 'What would bring it back',
                  cell: (row) =>
                    h(
                      'span',
                      { class: 'sec wrap' },
                      lost.find(({ reason }) => reason === row.reason) === row ? row.advice : 'as above',
                    ),
                },
              ],
            }),
          ]
        : null,
    );
  }

  /** @param {Propagation} document */
  function orderCard(document) {
    const { order: summary, strips: { device } } = document;
    if (!device.length) return null;
    if (!document.phases.length) {
      return emptyCard(
        'Host order against device order',
        'No annotations lie within steps, so there is no order to compare.',
      );
    }
    const strips = (order = createOrder(document, {
      tone: (phase) => toneOf(document.phases[phase].name) || (phase % 6) + 1,
      run: chooseRun,
      phase: (phase) => choose(rowAt(phase)?.path),
      leave: () => lift(null),
    }));
    const unit = unitFor(strips.length);
    const after = (/** @type {number} */ ps) => ps - device[0].start_ps;
    const runUnit = columnUnit(device, 'device_ps');
    const fold = h(
      'details',
      {
        ontoggle: () => {
          if (fold.children.length < 2) fold.append(runs());
        },
      },
      h('summary', { class: 'small muted' }, `All ${plural(device.length, 'run')} in order`),
    );
    const runs = () =>
      sortableTable({
        label: 'Runs of phases',
        testid: 'order-runs',
        items: [...device.keys()],
        select: chooseRun,
        selected: (at) => at === run,
        open: (at) => open(device[at]),
        columns: [
          textColumn('Phase', (at) => strips.nameOf(device[at].phase)),
          linkedColumn(
            startColumn((at) => device[at].start_ps),
            (at) => open(device[at]),
          ),
          timeColumn('Time', runUnit, (at) => device[at].device_ps),
          countColumn('Ops', (at) => device[at].ops),
          textColumn('Order', (at) => (device[at].inverted ? '▼ inverted' : '')),
        ],
      }).element;
    return card(
      'Host order against device order',
      {
        note: `phases of ${stepName(document)} · device time, 0 – ${timeText(strips.length)}`,
        right: summary.runs
          ? h(
              'span',
              { class: 'sec small' },
              `${count(summary.runs)} runs of ${plural(summary.phases, 'phase')} · inversions `,
              h('b', null, share(summary.inversion_share)),
              ' of device time',
            )
          : null,
      },
      strips.element,
      readout,
      summary.runs ? h('h3', null, 'Phases on the device') : null,
      summary.runs
        ? table({
            label: 'Phases on the device',
            testid: 'order-table',
            items: summary.by_phase,
            columns: [
              textColumn('Phase', ({ phase }) => strips.nameOf(phase)),
              countColumn('Runs', 'runs'),
              linkedColumn(
                timeColumn('Time', unit, (/** @type {typeof summary.by_phase[number]} */ { device_ps }) => device_ps),
                open,
              ),
              timeColumn('First', unit, (row) => after(row.start_ps)),
              timeColumn('Last ends', unit, (row) => after(row.end_ps)),
              timeColumn('Inverted', unit, (row) => (row.phase === null ? null : row.inverted_ps)),
            ],
          })
        : null,
      fold,
    );
  }

  /**
   * Ops by their device time, the longest first.
   * @template {{device_ps: number}} T
   * @param {string} label
   * @param {string} testid
   * @param {T[]} items
   * @param {...import('../lib/table.js').Column<T>} columns
   */
  const opsTable = (label, testid, items, ...columns) =>
    table({
      label,
      testid,
      items,
      columns: [
        ...columns,
        timeColumn(
          'Time',
          columnUnit(items, ({ device_ps }) => device_ps),
          ({ device_ps }) => device_ps,
        ),
      ],
    });
  const pathColumn = textColumn('Annotation', (/** @type {{path: string|null}} */ { path }) => path, {
    cell: ({ path }) => pathLink(path),
  });
  const lineColumn = textColumn('Line', (/** @type {{source: string}} */ { source }) => source, {
    cell: ({ source }) => (source ? codeCell(source, 36) : 'no line recorded'),
  });
  const more = (/** @type {number} */ left) =>
    left ? h('p', { class: 'small muted' }, `and ${count(left)} more, which take less time`) : null;

  /** Draws the Python lines behind the ops of the selected annotation, or of all. */
  function drawLines() {
    const items = answer.lines.filter(({ path }) => !picked || path === picked || isInside(path ?? '', picked));
    fill(
      lines,
      h(
        'p',
        { class: 'small sec' },
        picked
          ? [
              `of ${cutMiddle(picked, 60)} `,
              link('show all', () => {
                picked = null;
                mark();
              }),
            ]
          : 'of all ops; a picked annotation shows its own',
      ),
      opsTable('Lines of Python', 'source-table', items, lineColumn, pathColumn, countColumn('Ops', 'ops')),
      more(answer.left_off.lines),
    );
  }

  /** @param {Propagation} own */
  const opsCard = ({ unexplained, mixed, left_off }) =>
    card(
      'Ops without an annotation, and of several',
      { class: 'ops' },
      unexplained.length
        ? opsTable(
            'Ops without an annotation',
            'unexplained-table',
            unexplained,
            textColumn('Op', 'op', { cell: ({ op }) => cutName(op, 34) }),
            textColumn('Scope', 'state'),
            lineColumn,
            countColumn('Ops', 'count'),
          )
        : h('p', { class: 'sec' }, 'Every op has an annotation.'),
      more(left_off.unexplained),
      mixed.length
        ? [
            h('h3', null, 'Mixed: time divided by the share of their parts'),
            opsTable(
              'Mixed ops',
              'mixed-table',
              mixed,
              textColumn('Op', 'name', { cell: ({ name }) => cutName(name, 30) }),
              {
                head: 'Annotations',
                cell: ({ parts, unscoped_share }) => [
                  ...parts.flatMap((part) => [pathLink(part.path), ` ${share(part.share)} `]),
                  unscoped_share ? `(${share(unscoped_share)} of its parts have none)` : '',
                ],
              },
            ),
            more(left_off.mixed),
          ]
        : null,
    );

  const data = createDocumentView(app, 'propagation', element, (next, ready) => {
    const { sel } = app.link.state;
    if (session !== ready) {
      closed = new Set(
        next.tree.length > MANY_ROWS ? next.tree.filter(({ depth }) => depth === 1).map(({ path }) => path) : [],
      );
    }
    session = ready;
    answer = next;
    tones = phaseTones(ready.phases);
    if (next.picked) app.link.set({ st: stepOf(next) }, 'replace');
    if (next.stale) app.addNote({ id: 'stale', message: 'The linked selection is not in this session.' });
    const selection = selectionValue(sel);
    /**
     * Whether an interval is the link's selection: links round windows to ns, and have only the start of events.
     * @param {number} start
     * @param {number} end
     */
    const isOwn = (start, end) =>
      selection !== null &&
      Math.abs(start - selection.start_ps) < 1000 &&
      (selection.kind === 'window' ? Math.abs(end - selection.end_ps) < 2000 : Boolean(next.picked));
    run = next.strips.device.findIndex(({ start_ps, end_ps }) => isOwn(start_ps, end_ps));
    if (sel !== shownSelection) {
      picked = next.picked ?? next.tree.find(({ host_place }) => host_place && isOwn(...host_place))?.path ?? null;
    }
    shownSelection = sel;
    if (!next.step && mode === 'step_') mode = next.means.steps ? 'mean_' : '';
    order = null;
    app.count('propagation', next.lost.length ? `${count(next.lost.length)} lost` : '');
    fill(
      element,
      ready.devices.length
        ? coverageCard(next, ready)
        : noDeviceCard('Propagation', 'Propagation needs', 'Host times stay in the tree.'),
      treeCard(next),
      orderCard(next),
      next.lines.length ? [card('Lines of Python', { class: 'ops' }, lines), opsCard(next)] : null,
    );
    mark();
    return ready.devices.length || next.tree.length ? 'ready' : 'empty';
  }, documentQuery);

  /** @param {import('../lib/link.js').LinkState} changes another step or device */
  function ask(changes) {
    app.link.set(changes, 'push');
    data.reload();
  }

  /** Reloads if another view has selected an annotation, a scope or a window. */
  const move = data.whenDrawn(() => {
    const { sel, st } = app.link.state;
    const windowChanged = sel !== shownSelection && sel?.startsWith('win:');
    if (pendingPick() || windowChanged || (st && st !== stepOf(answer))) data.reload();
  });

  return {
    element, move, filter: data.reload,
    open(next) {
      picked = null;
      shownSelection = undefined;
      mode = 'step_';
      data.open(next);
    },
    show(on) {
      data.show(on);
      if (on) move();
    },
  };
}
