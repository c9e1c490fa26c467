/** The Propagation view: the device time and order of each annotation, and annotations lost on the device. */

import { fill, h, labelledSelect } from '../lib/dom.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote, staleStepText, staleText } from '../frame/stale-note.js';
import { chip, legend } from '../lib/classes.js';
import { card, deviceName, hostCountText, link, noDeviceCard, windowLinkState } from '../lib/cards.js';
import { count, cutMiddle, plural, UNITS } from '../lib/format.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { stepArgument } from '../lib/link.js';
import { shortPathNames } from '../lib/path-names.js';
import { showsAnnotations } from '../lib/row-ids.js';
import { isWindowOf, windowSelection, selectionText, selectionValue } from '../timeline/selection.js';
import { annotationTones, toneColor } from '../lib/annotation-tones.js';
import { annotationOf } from '../timeline/slice-style.js';
import { coverageCard } from './coverage.js';
import { createOrder } from './order.js';
import { noOrderCard, orderCard } from './order-card.js';
import { linesCard, lostTable, omittedNote, opsCard } from './tables.js';
import { isInside, treeTable, valuesOf } from './tree.js';

/** @typedef {import('../lib/routes').PropagationAnswer} PropagationAnswer */
/** @typedef {import('./types').Interval} Interval */
/** @typedef {import('./tree.js').Mode} Mode */

const MAX_NAME_LETTERS = 36;
/** A tree with more rows shows only its two outer levels at first. */
const MAX_EXPANDED_ROWS = 60;
const MAX_NAMED_HOSTS = 3;

/**
 * The query for the link's selection, if that is an annotation or a scope; otherwise null.
 * @param {string|undefined} sel
 */
export function selectionQuery(sel) {
  const { kind, row = '', start_ps, depth } = selectionValue(sel) ?? {};
  return kind === 'event' && showsAnnotations(row) ? { row, start_ps, depth } : null;
}

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function propagationView(app) {
  const element = h('div', { class: 'cards propagation' });
  const tree = h('div', { class: 'scroll' });
  const lines = h('div', { class: 'fill' });
  const readout = h('p', { class: 'small secondary', 'data-testid': 'order-readout' });
  /** @type {PropagationAnswer} */
  let answer;
  /** @type {import('../lib/types').Ready} */
  let session;
  /** @type {ReturnType<typeof createOrder>|null} */
  let order = null;
  /** @type {Mode} */
  let mode = 'step_';
  /** The path selected in the tree. @type {string|null} */
  let selectedPath = null;
  /** Index of the selected run; -1 without one. */
  let selectedRun = -1;
  /** Paths of collapsed rows of the tree. @type {Set<string>} */
  let collapsed = new Set();
  /** The link's selection that the view shows. @type {string|undefined} */
  let shownSelection;
  /** The link's step and device that the view shows, as JSON. */
  let shownChoices = '';
  /** Tones of annotations, by name. @type {Map<string, number>} */
  let tones = new Map();
  /** Names of the annotations that the tables list, by path. @type {Map<string, string>} */
  let names = new Map();

  const open = (/** @type {{start_ps: number, end_ps: number}} */ { start_ps, end_ps }) =>
    app.open(windowLinkState(start_ps, end_ps));
  const noteStale = createStaleNote(app, 'propagation');
  /** The link's device, unless it is known not to be in the session. @param {import('../lib/types').Ready} ready */
  function linkedDevice({ devices, chosen_hosts }) {
    const linked = filtersValue(app.link.state.f).get('device');
    return chosen_hosts || devices.some(({ id }) => id === linked) ? linked : undefined;
  }
  /** The query for the link's selection, unless the view shows it already. */
  const pendingQuery = () => app.link.state.sel !== shownSelection && selectionQuery(app.link.state.sel);
  const linkedChoices = () =>
    JSON.stringify([stepArgument(app.link.state.st), filtersValue(app.link.state.f).get('device')]);
  const documentQuery = (/** @type {import('../lib/types').Ready} */ ready) => {
    const selected = app.selectedDevices(ready.devices);
    const firstSelected = selected.length < ready.devices.length ? selected[0]?.id : null;
    return {
      step_number: stepArgument(app.link.state.st),
      ...(pendingQuery() || { device: linkedDevice(ready) ?? firstSelected }),
    };
  };
  /** The row of a phase, or of the first of its repetitions. @param {number|null|undefined} phase */
  const rowOfPhase = (phase) =>
    answer.tree.find(
      (row) => row.phase !== null && phase != null && (row.phase === phase || row.name === answer.phases[phase].name),
    );
  /** The phase that a path names or is inside of. @param {string|null} path */
  const phaseOfPath = (path) =>
    answer.tree.find((row) => row.phase !== null && path !== null && (row.path === path || isInside(path, row.path)))
      ?.phase ?? null;
  const stepOf = (/** @type {PropagationAnswer} */ { step }) => (step ? String(step.number ?? step.index) : '');
  const stepName = (/** @type {PropagationAnswer} */ document) =>
    document.step ? `step ${stepOf(document)}` : 'whole capture';
  /** The tone of a phase or a path; undefined without one. @param {string} name */
  const toneOf = (name) => tones.get(annotationOf(name, tones) ?? '');
  const pathLink = (/** @type {string|null} */ path) =>
    path
      ? link(cutMiddle(names.get(path) ?? path, MAX_NAME_LETTERS), () => selectPath(path), { title: path })
      : 'no annotation';

  /**
   * Writes a selected interval to the link, as a window or as an event of a timeline row, and draws the selection.
   * @param {Interval} interval
   * @param {string} [row]
   * @param {number} [depth]
   */
  function linkSelection([start_ps, end_ps], row, depth) {
    const selection = windowSelection(start_ps, end_ps);
    shownSelection = selectionText(row ? { ...selection, kind: 'event', row, depth: depth ?? 0 } : selection);
    app.link.set({ sel: shownSelection, w: windowLinkState(start_ps, end_ps).w }, 'push');
    noteStaleLink(false);
    drawSelection();
  }

  /** Notes a selection, step or device of the link that the session or its shown host does not have. */
  function noteStaleLink(/** @type {boolean} */ isSelectionStale) {
    const { st, f } = app.link.state;
    const linked = filtersValue(f).get('device');
    const { devices, session: { hosts } } = session;
    const shownHost = devices.find(({ id }) => id === answer.device?.id)?.host;
    // Other hosts may have the step.
    const place = hosts.length < 2 ? undefined : shownHost ? `on ${shownHost}` : 'on the hosts shown';
    noteStale(
      isSelectionStale && staleText('selection'),
      stepArgument(st) !== stepOf(answer) && staleStepText(st, answer.step ? `${stepName(answer)} is` : '', place),
      devices.length > 0 && linked && !linkedDevice(session) && staleText(`device ${linked}`, 'another one is'),
    );
  }

  /** @param {string|null|undefined} path */
  function selectPath(path) {
    const row = answer.tree.find((candidate) => candidate.path === path);
    const interval = row?.host_interval ?? row?.device_interval;
    selectedPath = row?.path ?? null;
    selectedRun = -1;
    if (!row || !interval) return drawSelection();
    const host = session.devices.find(({ id }) => id === answer.device?.id)?.host;
    const timelineRow = session.rows.find(
      ({ kind, host: rowHost }) => kind === 'annotations' && (!host || rowHost === host),
    );
    const stepPath = answer.step?.name ?? '';
    const isInStep = row.path === stepPath || isInside(row.path, stepPath);
    const isInTimeline = row.host_interval && timelineRow && isInStep && row.depth < timelineRow.lanes;
    linkSelection(interval, isInTimeline ? timelineRow.id : '', row.depth);
    app.live.announceNow(`${row.name} is selected${row.lost ? `, lost: ${row.lost}` : ''}.`);
  }

  /** @param {number} index */
  function selectRun(index) {
    const run = answer.phase_rows.device[index];
    if (!run) return;
    selectedRun = index;
    selectedPath = rowOfPhase(run.phase)?.path ?? null;
    linkSelection([run.start_ps, run.end_ps]);
    app.live.announceNow(readout.textContent ?? '');
  }

  /** Shows the selection in all cards. */
  function drawSelection() {
    drawTree();
    drawLines();
    order?.mark(phaseOfPath(selectedPath), selectedRun);
    highlight(null);
    const run = answer.phase_rows.device[selectedRun];
    fill(
      readout,
      run && order
        ? [`${order.titleOf(selectedRun)} `, link('Show', () => open(run))]
        : 'Click a run to select its window; the arrow keys move along a strip.',
    );
  }

  /** Highlights the ribbons of a path; without one, those of the selection. @param {string|null} path */
  function highlight(path) {
    if (path === null && selectedRun >= 0) return order?.highlight((_, index) => index === selectedRun);
    const phase = phaseOfPath(path ?? selectedPath);
    order?.highlight(phase === null ? null : (run) => run.phase === phase);
  }

  function drawTree() {
    const { devices } = answer.means;
    const focused =
      tree.contains(document.activeElement) && /** @type {HTMLElement} */ (document.activeElement).dataset.path;
    fill(
      tree,
      treeTable(answer, {
        mode,
        selectedPath,
        collapsed,
        select: selectPath,
        highlight,
        redraw: drawTree,
        app,
        tone(row) {
          const tone = toneOf(row.path);
          return tone !== undefined && row.depth ? toneColor(tone) : 'surface-2';
        },
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
            (st) => request({ st }),
            'propagation-step',
          )
        : null,
      devices.length > 1
        ? labelledSelect(
            'device',
            devices.map((option) => [option.id, deviceName(option, ready.session.hosts)]),
            device?.id,
            (id) => request({ f: filtersText(filtersValue(app.link.state.f).set('device', id)) }),
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
    const hostNames = document.hosts.length <= MAX_NAMED_HOSTS ? `: ${document.hosts.join(', ')}` : '';
    return card(
      'Annotations',
      {
        note:
          document.hosts.length < hostCount
            ? `${hostCountText(hostCount, document.hosts.length)}${hostNames}`
            : null,
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
  function buildOrderCard(document) {
    if (!document.phase_rows.device.length) return null;
    if (!document.phases.length) return noOrderCard();
    order = createOrder(document, {
      tone: (phase) => toneOf(document.phases[phase].name) ?? phase % 8,
      run: selectRun,
      phase: (phase) => selectPath(rowOfPhase(phase)?.path),
      leave: () => highlight(null),
    });
    return orderCard(document, order, readout, {
      stepName: stepName(document),
      isSelected: (index) => index === selectedRun,
      select: selectRun,
      open,
    });
  }

  function drawLines() {
    const showAll = () => {
      selectedPath = null;
      drawSelection();
    };
    fill(lines, answer.lines.length ? linesCard(answer, selectedPath, pathLink, showAll) : null);
  }

  const data = createDocumentView(app, 'propagation', element, (next, ready) => {
    const { sel } = app.link.state;
    if (session !== ready) {
      const isLong = next.tree.length > MAX_EXPANDED_ROWS;
      collapsed = new Set(next.tree.flatMap(({ depth, path }) => (isLong && depth === 1 ? path : [])));
    }
    session = ready;
    answer = next;
    tones = annotationTones(ready.annotations);
    if (next.requested_path) app.link.set({ st: stepOf(next) }, 'replace');
    noteStaleLink(next.stale);
    const selection = selectionValue(sel);
    /**
     * Whether an interval is the link's selection; links have only the start of events.
     * @param {number} start
     * @param {number} end
     */
    const isLinked = (start, end) =>
      isWindowOf(selection, start, end) ||
      (selection?.kind === 'event' && next.requested_path !== null &&
        Math.abs(start - selection.start_ps) < UNITS.ns.ps);
    selectedRun = next.phase_rows.device.findIndex(({ start_ps, end_ps }) => isLinked(start_ps, end_ps));
    if (sel !== shownSelection) {
      const linkedRow = next.tree.find(({ host_interval }) => host_interval && isLinked(...host_interval));
      selectedPath = next.requested_path ?? linkedRow?.path ?? null;
    }
    shownSelection = sel;
    shownChoices = linkedChoices();
    // Work that is in no step has no mean.
    const means = [...next.tree, next.unannotated].map((row) => valuesOf(row, 'mean_'));
    const hasMeans = means.some(({ host, device }) => host || device);
    if (!next.step && mode === 'step_') mode = hasMeans ? 'mean_' : '';
    names = shortPathNames(
      [
        ...next.lost.map(({ path }) => path),
        ...next.lines.map(({ path }) => path),
        ...next.shared_ops.flatMap(({ parts }) => parts.map(({ path }) => path)),
      ],
      new Set(next.tree.map(({ path }) => path)),
    );
    order = null;
    app.setCount('propagation', next.lost.length ? `${count(next.lost.length)} lost` : '');
    const orderElement = buildOrderCard(next);
    fill(
      element,
      ready.devices.length
        ? coverageCard(next, stepName(next), documentChoices(next, ready))
        : noDeviceCard('Propagation', 'Propagation needs', 'The tree still has the host times.'),
      treeCard(next),
      orderElement,
      next.lines.length ? [lines, opsCard(next, pathLink, orderElement ? '' : 'across')] : null,
    );
    drawSelection();
    return ready.devices.length || next.tree.length ? 'ready' : 'empty';
  }, documentQuery);

  /** Requests another step or device. @param {import('../lib/link.js').LinkState} changes */
  function request(changes) {
    app.link.set(changes, 'push');
    data.reload();
  }

  /** Reloads if the link has another selection, step or device, as after Back or a selection in another view. */
  const followLink = data.whenDrawn(() => {
    if (app.link.state.sel !== shownSelection || linkedChoices() !== shownChoices) data.reload();
  });

  return {
    element, followLink, filter: data.reload,
    open(next) {
      selectedPath = null;
      shownSelection = undefined;
      mode = 'step_';
      data.open(next);
    },
    show(on) {
      data.show(on);
      if (on) followLink();
    },
  };
}
