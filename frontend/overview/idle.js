/** What the host did while the devices were idle, per step and core: a bar, and a table whose sum row is the fourth figure. */

import { h } from '../lib/dom.js';
import { LABELS, classCell } from '../lib/classes.js';
import { card, cores, emptyCard, link } from '../lib/cards.js';
import { share } from '../lib/format.js';
import { partColumns, sumText, table } from '../lib/table.js';
import { stackedBar } from '../timeline/parts.js';
import { dutyLine } from './duty.js';
import { idleParts } from './step-idle.js';

/** @typedef {import('../lib/types').ClassName} ClassName */
/** @typedef {import('./step-idle.js').IdlePart} IdlePart */

/**
 * @param {import('../lib/views').DutyDevice[]} all @param {import('../lib/views').DeviceTime[]} times @param {number} steps of one host, whole ones
 * @param {import('../lib/types').Ready} session @param {import('../frame/app.js').App} app
 */
export function idleCard(all, times, steps, session, app) {
  if (!all.length) {
    return emptyCard('Idle time by cause', 'Idle time needs a device plane, and this capture has none.', 'The timeline shows what the host did.');
  }
  const devices = app.among(all);
  const items = idleParts(app.among(times));
  const each = `${steps ? 'per step and core' : 'per core, first to last run'}${devices.length < all.length ? `, ${cores(all.length, devices.length)}` : ''}`;
  const one = all.length === 1 ? dutyLine(all, session, app) : null;
  if (!items.length) return card('Idle time by cause', { note: each }, h('p', null, 'No core is idle then.'), one);
  const show = (/** @type {ClassName} */ name) => app.open({ v: 'gaps', f: `cause:${name}`, sel: '' });
  const bar = stackedBar(Object.fromEntries(items.flatMap(({ name, ps }) => (name ? [[name, ps]] : []))), show);
  const label = (/** @type {ClassName|null} */ name) => (name ? LABELS[name] : 'in gaps under 10\u202fµs');
  const mean = partColumns('Idle', items, 'ps', (text, { name }) => (
    name ? link(text, () => show(name), { title: `Gaps caused by ${label(name)}` }) : text));
  const summed = partColumns('All cores', items, 'all_ps');
  return card('Idle time by cause', { note: `${mean.unit.name} ${each}`, class: 'idle' },
    h('div', { 'data-testid': 'idle-bar' }, bar),
    h('div', { class: 'fill' }, table({
      label: 'Idle time by cause', testid: 'idle-table', items, sort: '-Idle',
      columns: [
        { head: 'What the host did', value: ({ name }) => label(name), cell: ({ name }) => (name ? classCell(name) : h('span', { class: 'sec' }, label(name))) },
        mean.time, mean.share, summed.time,
      ],
      foot: ['Idle', mean.sum, share(1), sumText(summed.sum)],
    })), one);
}
