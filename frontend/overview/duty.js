/** How long each device runs something, with the definition said and the other ones at hand. */

import { h, fill } from '../lib/dom.js';
import { card, cores, emptyCard, lengthBar, link } from '../lib/cards.js';
import { columnUnit, cutMiddle, digits, share } from '../lib/format.js';
import { roundParts } from '../lib/parts.js';
import { table } from '../lib/table.js';
import { readPref, writePref } from '../lib/prefs.js';

/** @typedef {import('../lib/views').Overview['devices'][number]} DutyDevice */
/** @typedef {import('../lib/views').DutyDefinition} DutyDefinition */
/** @typedef {import('../lib/types').Ready} Ready */

/** @type {Record<DutyDefinition, {short: string, long: string}>} */
const DEFINITIONS = {
  ops: { short: 'busy / span, ops', long: 'An op runs, from the first to the last on the device.' },
  modules: { short: 'busy / span, modules', long: 'A program runs, from the first to the last on the device.' },
  capture: { short: 'busy / capture', long: 'An op runs, of the whole capture.' },
};

/**
 * Busy and whole time of a device by a definition: their quotient is the duty cycle.
 * @param {DutyDevice} device @param {DutyDefinition} definition @param {number} duration of the session
 */
export function dutyOf(device, definition, duration) {
  const whole = definition === 'capture' ? duration : device.span_ps;
  const share = device.duty[definition];
  const busy = definition === 'modules' ? Math.round((share ?? 0) * whole) : device.busy_ps;
  return { share, busy, whole, idle: Math.max(0, whole - busy) };
}

/** @param {DutyDevice[]} all @param {Ready} session @param {import('../frame/app.js').App} app */
export function dutyCard(all, session, app) {
  const { hosts, devices } = app.chosen();
  const shown = all.filter(({ id, host }) => (!devices.length || devices.includes(id)) && (!hosts.length || hosts.includes(host)));
  if (!all.length) {
    return emptyCard('Duty cycle', 'Duty cycle needs a device plane, and this capture has none.',
      'Record again while the device is running, with the profiler server in the process that owns the device. Steps, annotations and host time by class are complete.');
  }
  let definition = /** @type {DutyDefinition} */ (readPref('duty'));
  if (!DEFINITIONS[definition]) definition = 'ops';
  const name = h('span', { class: 'small muted', 'data-testid': 'duty-definition' });
  const body = h('div', { class: 'fill' });
  const choice = h('details', { class: 'choice' }, h('summary', { class: 'link small' }, 'change'),
    h('div', { class: 'menu right', role: 'radiogroup', 'aria-label': 'Definition of the duty cycle' },
      /** @type {DutyDefinition[]} */ (Object.keys(DEFINITIONS)).map((key) => {
        const { short, long } = DEFINITIONS[key];
        return h('label', null, h('input', { type: 'radio', name: 'duty', value: key, checked: key === definition, onchange: () => {
          definition = key;
          writePref('duty', key);
          choice.open = false;
          draw();
        } }), h('span', null, short, h('br', null), h('span', { class: 'muted small' }, long)));
      })));
  function draw() {
    name.textContent = DEFINITIONS[definition].short;
    fill(body, dutyTable(shown, all.length, definition, session, app), stallNote(shown));
  }
  draw();
  const element = card('Duty cycle', { right: [name, choice], class: 'duty' }, body);
  element.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && choice.open) {
      choice.open = false;
      choice.querySelector('summary')?.focus();
      event.stopPropagation();
    }
  });
  return element;
}

/** @param {DutyDevice[]} devices @param {number} all @param {DutyDefinition} definition @param {Ready} session @param {import('../frame/app.js').App} app */
function dutyTable(devices, all, definition, session, app) {
  const rows = devices.map((device) => ({ device, ...dutyOf(device, definition, session.session.duration_ps) }));
  const several = session.session.hosts.length > 1;
  const [busy, whole, idle] = /** @type {const} */ (['busy', 'whole', 'idle']).map((key) => rows.reduce((sum, row) => sum + row[key], 0));
  const unit = columnUnit([idle]);
  const rounded = roundParts(rows.map((row) => row.idle), unit.ps / 1000);
  const texts = new Map(rows.map((row, index) => [row, digits(rounded[index] / 1000, 3)]));
  return table({
    label: 'Duty cycle', testid: 'duty-table', items: rows,
    columns: [
      { key: 'device', head: 'Device', value: ({ device }) => device.name, cell: ({ device }) => link(
        several ? cutMiddle(`${device.name} · ${device.host}`, 18) : device.name, () => app.open({ v: 'timeline', x: device.id, w: '', sel: '' }), { title: `${device.name} on ${device.host}` }) },
      { key: 'bar', head: '', cell: ({ device, share: part }) => h('span', { class: 'duty-bar' }, lengthBar(part ?? 0),
        device.stall_ps > 0 && part ? stall((device.stall_ps / device.busy_ps) * part, part) : null) },
      { key: 'duty', head: 'Busy', number: true, value: (row) => row.share ?? -1, cell: (row) => share(row.share) },
      { key: 'idle', head: `Idle, ${unit.name}`, number: true, value: (row) => row.idle, ps: (row) => row.idle, cell: (row) => texts.get(row) ?? '' },
    ],
    foot: [devices.length < all ? `${devices.length} of ${cores(all)}` : cores(all), '', share(whole ? busy / whole : null),
      h('span', { 'data-ps': idle }, digits(rounded.reduce((sum, part) => sum + part, 0) / 1000, 3))],
  });
}

/** The part of busy in which an op only waits, hatched at the end of the bar. @param {number} part @param {number} busy */
function stall(part, busy) {
  const mark = h('i', { class: 'stall' });
  mark.style.left = `${(busy - part) * 100}%`;
  mark.style.width = `${part * 100}%`;
  return mark;
}

/** @param {DutyDevice[]} devices */
function stallNote(devices) {
  const sum = (/** @type {'stall_ps'|'busy_ps'} */ key) => devices.reduce((all, device) => all + device[key], 0);
  const part = sum('stall_ps') / sum('busy_ps');
  return part > 0 ? h('p', { class: 'small muted' }, `Hatched: busy, but an op only waits (${share(part)} of busy).`) : null;
}
