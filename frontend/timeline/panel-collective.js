/** Arrivals and waits of the hosts in a collective, for the panels of its op and of the gap that delays it. */

import { h } from '../lib/dom.js';
import { columnUnit } from '../lib/totals.js';
import { link } from '../lib/cards.js';
import { MISSING, UNITS, plural, timeCell, timeText } from '../lib/format.js';
import { table, textColumn, timeColumn } from '../lib/table.js';

/** @typedef {import('../lib/routes').CollectiveArrivals} Collective */
/** @typedef {import('./panel-parts.js').PanelActions} PanelActions */
/**
 * A core in a collective; times are on the clock of its host.
 * @typedef {object} Core
 * @property {string} device
 * @property {number} depth of the op
 * @property {number} begin_ps when the core arrives
 * @property {number} start_ps start of its wait
 * @property {number} last_arrival_ps when the last host arrives
 * @property {number} waits_ps
 */

/** The cores of a collective, as rows. @param {Collective} collective @returns {Core[]} */
const coresOf = ({ cores }) =>
  cores.device.map((device, at) => ({
    device,
    depth: cores.depth[at],
    begin_ps: cores.begin_ps[at],
    start_ps: cores.start_ps[at],
    last_arrival_ps: cores.last_arrival_ps[at],
    waits_ps: cores.waits_ps[at],
  }));

/**
 * The number of waiting hosts and the longest wait, as text.
 * @param {Collective} collective
 * @param {string} lateHost its name, or `it`
 */
function waitingText({ hosts, waiting, longest_ps }, lateHost) {
  const subject =
    waiting < hosts - 1
      ? plural(waiting, 'host')
      : waiting === 1
        ? 'The other host'
        : `The other ${plural(waiting, 'host')}`;
  const verb = waiting === 1 ? 'waits' : 'wait up to';
  return `${subject} ${verb} ${timeText(longest_ps, 1)} for ${lateHost}`;
}

/**
 * A sentence on the collective that a gap delays; empty without one.
 * @param {Collective|null} collective
 * @param {string} device of the gap
 * @param {PanelActions} act
 */
export function delayText(collective, device, act) {
  const op = collective && coresOf(collective).find((core) => core.device === device);
  return op
    ? [
        ` ${waitingText(collective, act.shortHost(collective.last_host))} in `,
        link(collective.name, () => act.openOp(op), { title: 'Select the op on this device' }),
        '.',
      ]
    : [];
}

/**
 * The hosts in a collective; empty without one.
 * @param {Collective|null} collective
 * @param {{start_ps: number}} op that is selected
 * @param {string} device of the op
 * @param {PanelActions} act
 */
export function collectiveContent(collective, { start_ps }, device, act) {
  if (!collective) return [];
  const { hosts, last_host, waiting, uncertainty_ps } = collective;
  const items = coresOf(collective);
  const selectedCore = items.find(
    (core) => core.device === device && [core.begin_ps, core.start_ps].includes(start_ps),
  );
  const late = act.shortHost(last_host);
  const waits = selectedCore?.waits_ps
    ? `This core waits ${timeText(selectedCore.waits_ps)} for ${late}, which arrives last of ${plural(hosts, 'host')}. `
    : `${late} arrives last of ${plural(hosts, 'host')}. `;
  const hasWaitStarts = items.some((core) => core.start_ps !== core.begin_ps);
  const instantColumn = (/** @type {string} */ head, /** @type {'begin_ps'|'start_ps'|'last_arrival_ps'} */ key) =>
    timeColumn(head, UNITS.ms, (/** @type {Core} */ core) => core[key]);
  const unit = columnUnit(items, 'waits_ps');
  return [
    h('h3', null, 'Waiting for other hosts'),
    h(
      'p',
      { class: 'secondary' },
      waits,
      waiting
        ? `${waitingText(collective, 'it')}.`
        : `No host waits for it longer than the uncertainty of the clocks, ${timeText(uncertainty_ps)}.`,
    ),
    table({
      label: 'Waiting for other hosts',
      items,
      select: act.openOp,
      open: act.openOp,
      selected: (core) => core === selectedCore,
      columns: [
        textColumn('Core', ({ device: id }) => act.deviceName(id)),
        instantColumn('Arrives', 'begin_ps'),
        ...(hasWaitStarts ? [instantColumn('Waits from', 'start_ps')] : []),
        instantColumn('Last host arrives', 'last_arrival_ps'),
        timeColumn('Waits', unit, ({ waits_ps }) => waits_ps, {
          cell: ({ waits_ps }) => (waits_ps ? timeCell(waits_ps, unit) : MISSING),
        }),
        textColumn('For', ({ waits_ps }) => (waits_ps ? late : MISSING)),
      ],
    }),
    h('p', { class: 'secondary' }, 'Times are on each host\u2019s own clock, as in its rows.'),
  ];
}
