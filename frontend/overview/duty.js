/** How long each device runs something, with the definition said and the other ones at hand. */

import { fill, h, percent } from '../lib/dom.js';
import { total } from '../lib/items.js';
import { card, cores, deviceName, lengthBar, link, noDeviceCard } from '../lib/cards.js';
import { cutMiddle, share } from '../lib/format.js';
import { partColumns, shareColumn, table } from '../lib/table.js';
import { readPref, writePref } from '../lib/prefs.js';

/** @typedef {import('../lib/views').Overview['devices'][number]} DutyDevice */
/** @typedef {import('../lib/views').DutyDefinition} DutyDefinition */
/** @typedef {import('../lib/types').Ready} Ready */

/** @type {Record<DutyDefinition, [short: string, long: string]>} */
const DEFINITIONS = {
  ops: ['busy / span, ops', 'An op runs, from the first to the last on the device.'],
  modules: ['busy / span, modules', 'A program runs, from the first to the last on the device.'],
  capture: ['busy / capture', 'An op runs, of the whole capture.'],
};

/** @param {DutyDevice[]} all @param {Ready} session @param {import('../frame/app.js').App} app */
export function dutyCard(all, session, app) {
  if (!all.length) {
    return noDeviceCard('Duty cycle', 'Duty cycle needs', 'Steps, annotations and host time by class are complete.');
  }
  const shown = app.among(all);
  let definition = /** @type {DutyDefinition} */ (readPref('duty'));
  if (!DEFINITIONS[definition]) definition = 'ops';
  const name = h('span', { class: 'small muted', 'data-testid': 'duty-definition' });
  const body = h('div', { class: 'fill' });
  const choice = h('details', { class: 'choice' }, h('summary', { class: 'link small' }, 'change'),
  h('div', { class: 'menu right', role: 'radiogroup', 'aria-label': 'Definition of the duty cycle' },
    /** @type {DutyDefinition[]} */ (Object.keys(DEFINITIONS)).map((key) => h('label', null,
      h('input', { type: 'radio', name: 'duty', value: key, checked: key === definition, onchange: () => {
        definition = key;
        writePref('duty', key);
        choice.open = false;
        draw();
      } }), h('span', null, DEFINITIONS[key][0], h('br', null), h('span', { class: 'muted small' }, DEFINITIONS[key][1]))))));
  function draw() {
    name.textContent = DEFINITIONS[definition][0];
    fill(body, dutyTable(shown, all.length, definition, session, app), stallNote(shown));
  }
  draw();
  return card('Duty cycle', { right: [name, choice], class: 'duty' }, body);
}

/** @param {DutyDevice[]} devices @param {number} all @param {DutyDefinition} definition @param {Ready} session @param {import('../frame/app.js').App} app */
function dutyTable(devices, all, definition, session, app) {
  const rows = devices.map((device) => {
    const { span_ps: whole, busy_ps: busy, stall_ps: stall } = device.duty[definition];
    return { device, whole, busy, stall, part: whole ? busy / whole : 0 };
  });
  const { time, sum } = partColumns('Idle', rows, ({ whole, busy }) => whole - busy);
  return table({
    label: 'Duty cycle', testid: 'duty-table', items: rows,
    columns: [
      { head: 'Device', value: ({ device }) => device.name, cell: ({ device }) => link(
        cutMiddle(deviceName(device, session.session.hosts), 13), () => app.open({ v: 'timeline', x: device.id, w: '', sel: '' }), { title: `${device.name} on ${device.host}` }) },
      // The part of busy in which an op only waits is hatched, at the end of the bar.
      { head: '', cell: ({ whole, busy, stall, part }) => h('span', { class: 'duty-bar' }, lengthBar(part),
        stall ? h('i', { class: 'stall', style: { left: percent((busy - stall) / whole), width: percent(stall / whole) } }) : null) },
      shareColumn('Busy', 'part'), time,
    ],
    foot: [cores(all, devices.length), '',
      share(total(rows, 'busy') / total(rows, 'whole')), sum],
  });
}

/** @param {DutyDevice[]} devices */
function stallNote(devices) {
  const part = total(devices, 'stall_ps') / total(devices, 'busy_ps');
  return part > 0 ? h('p', { class: 'small muted' }, `Hatched: busy, but an op only waits (${share(part)} of busy).`) : null;
}
