/** The Propagation view: the device time and order of each annotation, and annotations lost on the device. */

import { fill, h, labelledSelect } from '../lib/dom.js';
import { createDocumentView } from '../frame/document-view.js';
import { chip, legend } from '../lib/classes.js';
import { card, deviceName, hosts, link, noDeviceCard, windowLinkState } from '../lib/cards.js';
import { count, cutMiddle, plural } from '../lib/format.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { shortPathNames } from '../lib/path-names.js';
import { showsAnnotations } from '../lib/row-ids.js';
import { windowSelection, selectionText, selectionValue } from '../timeline/selection.js';
import { phaseTone, phaseTones } from '../timeline/slice-style.js';
import { coverageCard } from './coverage.js';
import { createOrder } from './order.js';
import { noOrderCard, orderCard } from './order-card.js';
import { linesCard, lostTable, omittedNote, opsCard } from './tables.js';
import { isInside, treeTable } from './tree.js';

/** @typedef {import('../lib/routes').PropagationAnswer} PropagationAnswer */
/** @typedef {import('./types').Place} Place */
/** @typedef {import('./tree.js').Mode} Mode */

const MAX_NAME_LETTERS = 36;
const MANY_ROWS = 60;

/**
 * The query for the link's selection, if that is an annotation or a scope; otherwise null.
 * @param {string|undefined} sel
 */
export function pickedQuery(sel) {
  const { kind, row = '', start_ps, depth } = selectionValue(sel) ?? {};
  return kind === 'event' && showsAnnotations(row) ? { row, start_ps, depth } : null;
}

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function propagationView(app) {
  const element = h('div', { class: 'cards propagation' });
  const tree = h('div', { class: 'scroll' });
  const lines = h('div', { class: 'fill' });
  const readout = h('p', { class: 'small sec', 'data-testid': 'order-readout' });
  /** @type {PropagationAnswer} */
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
  /** Names of the annotations that the tables list, by path. @type {Map<string, string>} */
  let names = new Map();

  const open = (/** @type {{start_ps: number, end_ps: number}} */ { start_ps, end_ps }) =>
    app.open(windowLinkState(start_ps, end_ps));
  const pendingPick = () => app.link.state.sel !== shownSelection && pickedQuery(app.link.state.sel);
  const documentQuery = (/** @type {import('../lib/types').Ready} */ { devices }) => {
    const chosen = app.selectedDevices(devices);
    return {
      step_number: app.link.state.st,
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
  const stepOf = (/** @type {PropagationAnswer} */ { step }) => (step ? String(step.number ?? step.index) : '');
  const stepName = (/** @type {PropagationAnswer} */ document) =>
    document.step ? `step ${stepOf(document)}` : 'whole capture';
  const toneOf = (/** @type {string} */ name) => (phaseTone(name, tones) ?? -1) + 1;
  const pathLink = (/** @type {string|null} */ path) =>
    path
      ? link(cutMiddle(names.get(path) ?? path, MAX_NAME_LETTERS), () => choose(path), { title: path })
      : 'no annotation';

  /**
   * Selects a window, or an event in a timeline row, and writes the window around it to the link.
   * @param {Place} place
   * @param {string} [row]
   * @param {number} [depth]
   */
  function select([start_ps, end_ps], row, depth) {
    const selection = windowSelection(start_ps, end_ps);
    shownSelection = selectionText(row ? { ...selection, kind: 'event', row, depth: depth ?? 0 } : selection);
    app.link.set({ sel: shownSelection, w: windowLinkState(start_ps, end_ps).w }, 'push');
    mark();
  }

  /** @param {string|null|undefined} path */
  function choose(path) {
    const row = answer.tree.find((candidate) => candidate.path === path);
    const place = row?.host_interval ?? row?.device_interval;
    picked = row?.path ?? null;
    run = -1;
    if (!row || !place) return mark();
    const host = session.devices.find(({ id }) => id === answer.device?.id)?.host;
    const timelineRow = session.rows.find(
      ({ kind, host: rowHost }) => kind === 'annotations' && (!host || rowHost === host),
    );
    const isInStep = row.path.split('/')[0] === answer.step?.name;
    const isDrawn = row.host_interval && timelineRow && isInStep && row.depth < timelineRow.lanes;
    select(place, isDrawn ? timelineRow.id : '', row.depth);
    app.live.announceNow(`${row.name} is selected${row.lost ? `, lost: ${row.lost}` : ''}.`);
  }

  /** @param {number} at */
  function chooseRun(at) {
    const stretch = answer.phase_rows.device[at];
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
    const stretch = answer.phase_rows.device[run];
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
    const { devices } = answer.means;
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
      devices > 1 && mode !== 'step_'
        ? h(
            'p',
            { class: 'small muted' },
            mode === 'mean_'
              ? 'Host times are per step, device times per step and core.'
              : `Device times are sums of ${count(devices)} cores.`,
          )
        : null,
    );
    if (focused) [...tree.querySelectorAll('tr')].find(({ dataset }) => dataset.path === focused)?.focus();
  }

  /**
   * The selects of a step and a device.
   * @param {PropagationAnswer} document @param {import('../lib/types').Ready} ready
   */
  function documentChoices({ step, steps, device }, ready) {
    const selected = app.selectedDevices(ready.devices);
    const devices = ready.devices.filter((option) => selected.includes(option) || option.id === device?.id);
    return [
      step
        ? labelledSelect(
            'step',
            steps.numbers.map((number, index) => String(number ?? steps.first + index)),
            stepOf(answer),
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
    ];
  }

  /** @param {PropagationAnswer} document */
  function treeCard(document) {
    const { means, lost, left_out } = document;
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
      omittedNote(left_out.tree),
      lost.length ? [h('h3', null, 'Lost annotations'), lostTable(lost, pathLink)] : null,
    );
  }

  /** @param {PropagationAnswer} document */
  function drawOrder(document) {
    if (!document.phase_rows.device.length) return null;
    if (!document.phases.length) return noOrderCard();
    order = createOrder(document, {
      tone: (phase) => toneOf(document.phases[phase].name) || (phase % 6) + 1,
      run: chooseRun,
      phase: (phase) => choose(rowAt(phase)?.path),
      leave: () => lift(null),
    });
    return orderCard(document, order, readout, {
      stepName: stepName(document),
      isSelected: (index) => index === run,
      select: chooseRun,
      open,
    });
  }

  function drawLines() {
    const showAll = () => {
      picked = null;
      mark();
    };
    fill(lines, answer.lines.length ? linesCard(answer, picked, pathLink, showAll) : null);
  }

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
    if (next.requested_path) app.link.set({ st: stepOf(next) }, 'replace');
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
      (selection.kind === 'window' ? Math.abs(end - selection.end_ps) < 2000 : Boolean(next.requested_path));
    run = next.phase_rows.device.findIndex(({ start_ps, end_ps }) => isOwn(start_ps, end_ps));
    if (sel !== shownSelection) {
      const selected = next.tree.find(({ host_interval }) => host_interval && isOwn(...host_interval));
      picked = next.requested_path ?? selected?.path ?? null;
    }
    shownSelection = sel;
    if (!next.step && mode === 'step_') mode = next.means.steps ? 'mean_' : '';
    names = shortPathNames([
      ...next.lost.map(({ path }) => path),
      ...next.lines.map(({ path }) => path),
      ...next.shared_ops.flatMap(({ parts }) => parts.map(({ path }) => path)),
    ]);
    order = null;
    app.count('propagation', next.lost.length ? `${count(next.lost.length)} lost` : '');
    const orderPlace = drawOrder(next);
    fill(
      element,
      ready.devices.length
        ? coverageCard(next, stepName(next), documentChoices(next, ready))
        : noDeviceCard('Propagation', 'Propagation needs', 'Host times stay in the tree.'),
      treeCard(next),
      orderPlace,
      next.lines.length ? [lines, opsCard(next, pathLink, orderPlace ? '' : 'across')] : null,
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
