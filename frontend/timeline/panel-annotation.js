/** The parts of an event's panel that lead to the devices: what an annotation became there, what a call launches. */

import { h, button } from '../lib/dom.js';
import { codeCell } from '../lib/cards.js';
import { count, plural, timeText } from '../lib/format.js';
import { columnUnit, total } from '../lib/totals.js';
import { countColumn, partColumns, table, textColumn, timeColumn } from '../lib/table.js';
import { eventLink } from './panel-parts.js';

/** @typedef {import('../lib/routes').EventDetails} EventDetails */
/** @typedef {import('./panel-parts.js').PanelActions} PanelActions */

const MAX_NAMED_DEVICES = 2;

/**
 * The launches of an event: `XRTExecute as train on 8 cores, 170.5 ms`; of a call, without calls.
 * @param {EventDetails} detail
 * @param {PanelActions} act
 */
export function launchesOf({ launches, launches_left_out: leftOut, class: className, on_device: work }, act) {
  return [
    ...launches.flatMap(({ call, run, program, devices, duration_ps }, at) => {
      const names = devices.map(act.deviceName);
      const cores = names.length > MAX_NAMED_DEVICES ? plural(names.length, 'core') : names.join(' and ');
      return [
        at ? '; ' : '',
        ...(call && (work || !className) ? [eventLink(call, act), ' as '] : []),
        run ? eventLink({ ...run, name: program }, act) : program,
        h('span', { title: names.join(', ') }, ` on ${cores}, ${timeText(duration_ps)}`),
      ];
    }),
    leftOut ? `; and ${count(leftOut)} more` : '',
  ];
}

/**
 * What an annotation became on the device that is shown first, and on the others.
 * @param {EventDetails} detail
 * @param {NonNullable<EventDetails['on_device']>} work
 * @param {PanelActions} act
 * @returns {[Node, Node|null]} in words, and the table of its pieces
 */
export function annotationWork(detail, { path, missing, devices }, act) {
  const shown = act.tracedDevices(devices.map((work) => ({ ...work, id: work.device })))[0] ?? devices[0];
  const words = h('div', { class: 'on-device' },
    h('p', { 'data-testid': 'on-the-device' },
      h('b', null, missing ? 'Not on the device' : `On the device: ${shown.text}`), missing ? `: ${missing}` : '.'),
    shown && h('p', { class: 'secondary' }, shown.note),
    detail.launches.length > 0 && h('p', null, 'Launched by ', launchesOf(detail, act), '.'),
    h('div', { class: 'row' }, button('Open in Propagation', () => act.openView({ v: 'propagation' })),
      shown && button('Ops in Device', () => act.openView({ v: 'device', an: path }))),
  );
  return [words, shown ? piecesTable(shown, act) : null];
}

/** @param {import('../lib/routes').DeviceWork} work @param {PanelActions} act */
function piecesTable({ pieces, count: pieceCount, ops }, act) {
  const { time, sum } = partColumns('Time', pieces, 'device_ps');
  const lengthOf = (/** @type {typeof pieces[number]} */ { longest }) => longest?.duration_ps ?? 0;
  return table({
    label: 'Pieces on the device',
    testid: 'device-pieces',
    items: pieces,
    select: act.showSpan,
    columns: [
      textColumn('Piece', (piece) => {
        const before = total(pieces.slice(0, pieces.indexOf(piece)), 'count');
        return piece.count > 1 ? `${count(before + 1)} – ${count(before + piece.count)}` : count(before + 1);
      }, { value: (piece) => pieces.indexOf(piece) }),
      timeColumn('After its run’s start', columnUnit(pieces, 'after_ps'), 'after_ps'),
      time,
      countColumn('Ops', 'ops'),
      textColumn('Named', 'named'),
      { head: 'Longest op', cell: ({ longest }) => (longest ? eventLink(longest, act) : null) },
      timeColumn('Its time', columnUnit(pieces, lengthOf), lengthOf),
      { head: 'Line', cell: ({ source }) => (source ? codeCell(source, 36) : null) },
    ],
    foot: [count(pieceCount), '', sum, count(ops), '', '', '', ''],
  });
}
