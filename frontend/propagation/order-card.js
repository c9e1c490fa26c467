/** The card that compares the order of phases on the host and on the device: the strips and their tables. */

import { h } from '../lib/dom.js';
import { columnUnit, total } from '../lib/totals.js';
import { card, emptyCard, linkedColumn } from '../lib/cards.js';
import { plural, share, timeText, unitFor } from '../lib/format.js';
import { countColumn, sortableTable, startColumn, table, textColumn, timeColumn } from '../lib/table.js';

/** @typedef {import('../lib/routes').PropagationAnswer} PropagationAnswer */
/** @typedef {import('../lib/routes').PhaseTime} PhaseRow */
/** @typedef {{start_ps: number, end_ps: number}} TimeSpan */

const TITLE = 'Host order against device order';

export const noOrderCard = () => emptyCard(TITLE, 'No annotation is inside a step, so there is no order to compare.');

/**
 * @param {PropagationAnswer} document
 * @param {ReturnType<typeof import('./order.js').createOrder>} strips
 * @param {HTMLElement} readout the line about the selected run
 * @param {object} options
 * @param {string} options.stepName
 * @param {(run: number) => boolean} options.isSelected
 * @param {(run: number) => void} options.select
 * @param {(span: TimeSpan) => void} options.open shows a span of time in the timeline
 */
export function orderCard({ order, phase_rows: { device } }, strips, readout, { stepName, isSelected, select, open }) {
  const unit = unitFor(strips.length);
  const sinceStart = (/** @type {number} */ ps) => ps - device[0].start_ps;
  const runsFold = h(
    'details',
    {
      ontoggle: () => {
        if (runsFold.children.length < 2) runsFold.append(runsTable());
      },
    },
    h(
      'summary',
      { class: 'small muted' },
      `${plural(total(device, 'merged'), 'run')} in order`,
      device.some(({ merged }) => merged > 1) && `, short and neighbouring ones together: ${device.length}`,
    ),
  );
  const runsTable = () =>
    sortableTable({
      label: 'Runs of phases',
      testid: 'order-runs',
      items: [...device.keys()],
      select,
      selected: isSelected,
      open: (run) => open(device[run]),
      columns: [
        textColumn('Phase', (run) => strips.nameOf(device[run].phase)),
        linkedColumn(
          startColumn((run) => device[run].start_ps),
          (run) => open(device[run]),
        ),
        timeColumn('Time', columnUnit(device, 'device_ps'), (run) => device[run].device_ps),
        countColumn('Ops', (run) => device[run].ops),
        textColumn('Order', (run) => (device[run].inverted ? '▼ inverted' : '')),
      ],
    }).element;
  return card(
    TITLE,
    {
      note: `phases of ${stepName} · work on the device, 0 – ${timeText(strips.length)}`,
      right: order.runs
        ? h(
            'span',
            { class: 'secondary small' },
            `${plural(order.runs, 'run')} of ${plural(order.phases, 'phase')} · inversions `,
            h('b', null, share(order.inversion_share)),
            ' of device time',
          )
        : null,
    },
    strips.element,
    readout,
    order.runs
      ? [
          h('h3', null, 'Phases on the device'),
          table({
            label: 'Phases on the device',
            testid: 'order-table',
            items: order.by_phase,
            columns: [
              textColumn('Phase', ({ phase }) => strips.nameOf(phase)),
              countColumn('Runs', 'runs'),
              linkedColumn(timeColumn('Time', unit, (/** @type {PhaseRow} */ { device_ps }) => device_ps), open),
              timeColumn('First starts', unit, (row) => sinceStart(row.start_ps)),
              timeColumn('Last ends', unit, (row) => sinceStart(row.end_ps)),
              timeColumn('Inverted', unit, (row) => (row.phase === null ? null : row.inverted_ps)),
            ],
          }),
        ]
      : null,
    runsFold,
  );
}
