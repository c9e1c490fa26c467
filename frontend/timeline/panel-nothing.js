/** The panel while nothing is selected: how to select, what the colours mean, what the devices did in all. */

import { h } from '../lib/dom.js';
import { CLASSES, LABELS, chip } from '../lib/classes.js';
import { columnUnit, count, deviceTimeCell, plural, share, timeText } from '../lib/format.js';
import { table } from '../lib/table.js';
import { phaseTones } from './tones.js';
import { tableButton } from './panel-parts.js';

/** @typedef {import('../lib/types').Ready} Ready */

/** @param {Ready} session @param {import('./panel-parts.js').PanelActions} act @returns {import('./panel-parts.js').PanelContent} */
export function nothingContent(session, act) {
  const { session: own, devices, rows } = session;
  const events = own.hosts.reduce((sum, host) => sum + host.events, 0);
  const steps = rows.filter(({ kind }) => kind === 'steps').reduce((most, row) => Math.max(most, row.events), 0);
  const keys = (/** @type {string[]} */ ...names) => names.flatMap((name) => [h('kbd', null, name), ' ']);
  return {
    title: 'Nothing selected', buttons: [tableButton(act)],
    note: [timeText(own.duration_ps), plural(own.hosts.length, 'host'), plural(devices.length, 'device'), plural(steps, 'step'),
      plural(events, 'event')].join(' · '),
    body: h('div', { class: 'columns' },
      h('section', null,
        h('p', null, 'Click a slice to read its times, stats and flow partners. Drag across the lanes to read what every class, thread and device did in a window.'),
        h('p', null, 'Zoom with ', keys('w', 's'), 'or Ctrl+wheel, move with ', keys('a', 'd'), 'or on the strip above. ', keys('?'), 'lists all keys.'),
        h('h3', null, 'What the host does'),
        h('p', { class: 'legend' }, CLASSES.map((name) => h('span', null, chip(name), LABELS[name]))),
        session.phases.length ? [h('h3', null, 'Your annotations'), h('p', { class: 'legend' }, phases(session.phases))] : null),
      h('section', null, devices.length ? devicesTable(session) : null)),
  };
}

/** @param {string[]} names */
function phases(names) {
  return [...phaseTones(names)].map(([name, rank]) => {
    const mark = h('i', { class: 'chip', 'aria-hidden': 'true' });
    mark.style.setProperty('--k', `var(--p${rank + 1})`);
    return h('span', null, mark, name);
  });
}

/** @param {Ready} session */
function devicesTable({ devices, session: { hosts } }) {
  const unit = columnUnit(devices.map(({ span_ps }) => span_ps));
  /** @param {'busy_ps'|'stall_ps'|'idle_ps'} key @param {string} head @returns {import('../lib/table.js').Column<import('../lib/types').Device>} */
  const time = (key, head) => ({ key, head: `${head}, ${unit.name}`, number: true, value: (device) => device[key], ps: (device) => device[key],
    cell: (device) => deviceTimeCell(device[key], unit) });
  return table({
    label: 'Devices', items: devices,
    columns: [
      { key: 'name', head: 'Device', value: ({ name }) => name, cell: ({ name, host }) => (hosts.length > 1 ? `${name} · ${host}` : name) },
      { key: 'duty', head: 'Duty cycle', number: true, value: ({ duty_cycle }) => duty_cycle ?? 0, cell: ({ duty_cycle }) => share(duty_cycle) },
      time('busy_ps', 'Busy'), time('stall_ps', 'of it stalled'), time('idle_ps', 'Idle'),
      { key: 'modules', head: 'Modules', number: true, value: ({ modules }) => modules, cell: ({ modules }) => count(modules) },
      { key: 'ops', head: 'Ops', number: true, value: ({ ops }) => ops, cell: ({ ops }) => count(ops) },
    ],
  });
}
