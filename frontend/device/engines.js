/** The section Engines of the Device view: what a device's engines do in one run, and what the device waits for. */

import { tickMarks } from '../lib/axis.js';
import {
  answerSection, card, deviceName, emptyCard, eventLinkState, link, rung, rungAxis, tableCard, windowLinkState,
} from '../lib/cards.js';
import { chip, fillColors, legend } from '../lib/classes.js';
import { definedColumns } from '../lib/defined-column.js';
import { fill, h, keepFocus, labelledSelect, percent } from '../lib/dom.js';
import { count, MISSING, plural, share, timeText, unitFor } from '../lib/format.js';
import { roundTimes } from '../lib/rounded-parts.js';
import { TABLES } from '../lib/table-definitions.js';
import { textColumn, timeColumn } from '../lib/table.js';
import { total } from '../lib/totals.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote } from '../frame/stale-note.js';
import { devicesByKey } from './filters.js';

/** @typedef {import('../lib/routes').EnginesAnswer} EnginesAnswer */
/** @typedef {NonNullable<EnginesAnswer['of_device']>} EnginesOfDevice */
/** @typedef {EnginesOfDevice['waits'][number]} WaitRow */
/** @typedef {EnginesOfDevice['slice_transfers'][number]} SliceTransfer */
/** @typedef {EnginesOfDevice['shown']} ShownRun */
/** @typedef {import('../lib/types').Ready} Ready */

/** Narrower pieces have no text. */
const MIN_LABEL_SHARE = 0.07;

/** Colour and texture of a piece, by what the core does meanwhile. @type {Record<string, [string, string]>} */
const LOOKS = {
  computing: ['dev', ''], hidden: ['dev', ''], collective: ['dev-coll', ''], waiting: ['c-wait', 'k-wait'],
  busy: ['surface', ''], under_way: ['surface', ''],
};
const JOINS = { none: MISSING, id: 'by its id', flow: 'by flow', order: 'by order' };
const NO_ASYNC_OPS = 'No asynchronous op in this capture: nothing runs beside the device’s own units.';

/** Why the section has nothing to show; empty if it has. @param {{async_ops: number}} counts */
export const noEnginesText = ({ async_ops }) => (async_ops ? '' : NO_ASYNC_OPS);

/** @type {import('./view.js').CreateSection} */
export function enginesSection(app, sectionSwitch) {
  const filters = h('div', { class: 'filters across', 'data-testid': 'engines-filters' }, sectionSwitch());
  const element = h('div', { class: 'cards' }, filters);
  const noteStale = createStaleNote(app, 'device', 'engines');
  /** @type {EnginesAnswer} */
  let answer;
  /** @type {Ready} */
  let session;
  /** The device that the drawn document was requested for. @type {string|null} */
  let requested;

  /** The id of the link's device, else of the first selected one; null if all are selected. @param {Ready} of */
  function deviceId(of) {
    const selected = app.selectedDevices(of.devices);
    const chosen = devicesByKey(of).get(app.link.state.dd ?? '');
    return (chosen ?? (selected.length < of.devices.length ? selected[0] : null))?.id ?? null;
  }

  function draw() {
    const { async_ops, device: shown, of_device } = answer;
    requested = deviceId(session);
    const { devices: all, session: { hosts } } = session;
    const listed = new Set(app.selectedDevices(all));
    const devices = [...devicesByKey(session)].filter(([, device]) => device.id === shown || listed.has(device));
    fill(filters, sectionSwitch());
    if (!async_ops || !of_device) {
      fill(element, filters, emptyCard('Engines', NO_ASYNC_OPS));
      return /** @type {'empty'} */ ('empty');
    }
    filters.append(labelledSelect(
      'device',
      devices.map(([key, device]) => /** @type {[string, string]} */ ([key, deviceName(device, hosts)])),
      devices.find(([, { id }]) => id === shown)?.[0] ?? '',
      (dd) => {
        app.link.set({ dd }, 'push');
        data.reload();
      },
      'engines-device',
    ));
    fill(
      element,
      filters,
      answerSection('What the device does', of_device.headline, of_device.details, 'engines-answer'),
      runCard(of_device),
      of_device.waits.length > 0 && waitsCard(of_device),
      of_device.slice_transfers.length > 0 && transfersCard(of_device),
    );
    return /** @type {'ready'} */ ('ready');
  }

  /** One run on an axis, a row per engine and per asynchronous op. @param {EnginesOfDevice} of_device */
  function runCard({ program, runs, shown: { start_ps, duration_ps, engines, windows } }) {
    const [own, ...cores] = engines;
    /** @param {{kind: string, op?: string|null, start_ps: number, end_ps: number, ps: number}} piece */
    function pieceElement({ kind, op, start_ps: from, end_ps: to, ps }) {
      const [color, texture] = LOOKS[kind];
      const width = (to - from) / duration_ps;
      return h(
        'span',
        {
          class: `${kind === 'under_way' ? 'outline' : ''} ${texture}`,
          title: [op, timeText(ps)].filter(Boolean).join(' '),
          style: { ...fillColors(color), left: percent(from / duration_ps), width: percent(width) },
        },
        width > MIN_LABEL_SHARE && h('b', null, op ?? timeText(ps, 1)),
      );
    }
    /**
     * @param {string} testid @param {import('../lib/dom.js').Child} name @param {number|null} ps
     * @param {Parameters<typeof pieceElement>[0][]} pieces @param {import('../lib/dom.js').Child[]} note
     */
    const row = (testid, name, ps, pieces, ...note) =>
      rung(name, ps === null ? MISSING : timeText(ps, 1), pieces.map(pieceElement), note, testid);
    /** A link to an interval of the run. @param {string} text @param {number} from @param {number} to */
    const shows = (text, from, to) =>
      link(text, () => app.open(windowLinkState(start_ps + from, start_ps + to)), { title: `${text} in the timeline` });
    return card(
      'Engines',
      {
        note: runs > 1 ? `of ${count(runs)} runs of ${program}, that of median duration` : `the run of ${program}`,
        class: 'across engines',
        right: legend([
          [chip(...LOOKS.computing), 'the core computes'],
          [chip(...LOOKS.collective), 'is in a collective'],
          [chip(...LOOKS.waiting), 'waits'],
        ]),
      },
      h(
        'div',
        { class: 'ladder', role: 'list', 'data-testid': 'engines' },
        row('engine-0', shows(own.name, 0, duration_ps), duration_ps, own.pieces,
          `computes ${share(own.computing_ps / duration_ps)}`),
        cores.map(({ name, traced, busy_ps, computing_ps, pieces }, index) =>
          row(`engine-${index + 1}`, name, traced ? busy_ps : null, pieces, traced
            ? `busy ${share(busy_ps / duration_ps)}, hidden ${timeText(computing_ps, 1)}`
            : 'not traced')),
        windows.length > 0 &&
          h('p', { class: 'small secondary', role: 'listitem' }, 'asynchronous ops, from start to done'),
        windows.map(({ op, ops, window_ps, hidden_ps, hidden, pieces }) =>
          row(
            `window-${op ?? 'others'}`,
            op && pieces.length
              ? shows(op, pieces[0].start_ps, pieces[0].end_ps)
              : op ?? plural(ops, windows.length > 1 ? 'other op' : 'op'),
            window_ps,
            pieces,
            h('span', { class: `tag ${{ hidden: 'good', partly_hidden: 'warning', exposed: 'critical' }[hidden]}` },
              hidden.replace('_', ' ')),
            ` ${share(window_ps ? hidden_ps / window_ps : 1)} hidden`,
          )),
        rungAxis(tickMarks(duration_ps, unitFor(duration_ps), 'run-tick')),
      ),
    );
  }

  /** @param {EnginesOfDevice} of_device */
  function waitsCard({ runs, program, duration_ps, duty_cycle_xprof, waits }) {
    const unit = unitFor(duration_ps / runs);
    const { texts, sum } = roundTimes(waits.map(({ wait_ps }) => wait_ps / runs), unit);
    const hasJobs = waits.some(({ join }) => join !== 'none');
    /** What only SparseCores have. @template T @param {T[]} items */
    const ofJobs = (items) => (hasJobs ? items : []);
    const { op: opDefinition, engine, wait_ps, wait_own_ps, wait_queue_ps, hidden_ps, cause } = TABLES.async_ops;
    /** A time of one run. @param {'wait_ps'|'wait_own_ps'|'wait_queue_ps'|'start_up_ps'|'hidden_ps'} key */
    const ofRun = (key) => (/** @type {WaitRow} */ { [key]: ps }) => (ps === null ? null : ps / runs);
    /** @param {Parameters<typeof ofRun>[0]} key */
    const time = (key) => ({ timeUnit: unit, field: ofRun(key) });
    return tableCard(
      'What it waits for',
      {
        note: [
          `${runs > 1 ? `mean of ${count(runs)} runs` : 'the run'} of ${program}`,
          hasJobs && 'own: its job runs · queue: others run before it',
        ].filter(Boolean).join('; '),
        class: 'across device-waits',
      },
      {
        testid: 'device-waits',
        items: waits,
        linkedSort: () => app.link.state.o,
        onSort: (o) => app.link.set({ o }, 'replace'),
        columns: [
          ...definedColumns({ opDefinition, engine, wait_ps, ...(hasJobs && { wait_own_ps, wait_queue_ps }) }, {
            opDefinition: { cell: opCell },
            engine: { field: 'engine_name' },
            wait_ps: {
              ...time('wait_ps'),
              cell: (/** @type {WaitRow} */ row) => h('b', null, texts[waits.indexOf(row)]),
            },
            wait_own_ps: time('wait_own_ps'),
            wait_queue_ps: time('wait_queue_ps'),
          }),
          ...ofJobs([timeColumn('Start-up', unit, ofRun('start_up_ps'))]),
          ...definedColumns({ hidden_ps, cause }, {
            hidden_ps: time('hidden_ps'),
            cause: { field: 'why', cell: (/** @type {WaitRow} */ { why }) => wrapped(why) },
          }),
          textColumn('What to do', 'advice', { cell: ({ advice }) => wrapped(advice) }),
          ...ofJobs([textColumn('Joined', (/** @type {WaitRow} */ { join }) => JOINS[join])]),
        ],
        foot: [
          plural(total(waits, 'ops'), 'op'), '', sum, ...ofJobs(['', '', '']), '',
          duty_cycle_xprof === null ? '' : `xprof’s duty cycle: ${share(duty_cycle_xprof)}`, '', ...ofJobs(['']),
        ],
      },
    );
  }

  /** Means of the device's transfers between slices. @param {EnginesOfDevice} of_device */
  function transfersCard({ slice_transfers: items, more_slice_transfers: more }) {
    const timeUnit = unitFor(Math.max(...items.map(({ window_ps }) => window_ps)));
    return tableCard(
      'Transfers between slices',
      {
        note: ['means of all runs; slack: what the program leaves', more && `${count(more)} more`]
          .filter(Boolean).join('; '),
        class: 'across',
      },
      {
        testid: 'slice-transfers',
        items,
        columns: definedColumns(TABLES.slice_transfers, {
          peers: {
            value: (/** @type {SliceTransfer} */ { peers }) => peers[0] ?? -1,
            cell: (/** @type {SliceTransfer} */ { peers }) => peers.join(', ') || MISSING,
            title: (/** @type {SliceTransfer} */ { peers }) => peers.join(', '),
          },
          slack_mean_ps: { timeUnit },
          network_mean_ps: { timeUnit },
          wait_mean_ps: { timeUnit },
          wait_ps: { timeUnit },
          late: {
            title: (/** @type {SliceTransfer} */ { late_steps }) => late_steps.map((step) => `step ${step}`).join(', '),
          },
          cause: { field: 'why', cell: (/** @type {SliceTransfer} */ { why }) => wrapped(why) },
        }),
      },
    );
  }

  /** @param {WaitRow} row */
  function opCell({ op, ops, longest }) {
    if (!op || !longest) return ops ? plural(ops, 'other op') : 'others';
    return link(op, () => app.open(eventLinkState(longest)), { title: 'Its longest wait in the timeline' });
  }

  /** @param {string} text */
  const wrapped = (text) => (text ? h('span', { class: 'wrap' }, text) : MISSING);

  const data = createDocumentView(app, 'engines', element, (next, openSession) => {
    [answer, session] = [next, openSession];
    noteStale(next.stale && 'The linked device is not in this session; another one is shown.');
    return draw();
  }, (openSession) => ({ device: deviceId(openSession) }));

  const followLink = data.whenDrawn(() => {
    if (deviceId(session) !== requested) data.reload();
    else keepFocus(element, draw);
  });

  return { element, followLink, open: data.open, show: data.show, filter: data.reload };
}
