/** What the host did while the devices were idle: a bar, and a table whose sum row is all idle time. */

import { h } from '../lib/dom.js';
import { total } from '../lib/items.js';
import { CLASSES, LABELS, classCell } from '../lib/classes.js';
import { card, cores, emptyCard, link } from '../lib/cards.js';
import { headline, share, timeCell, unitFor } from '../lib/format.js';
import { partColumns, table, timeColumn } from '../lib/table.js';
import { stackedBar } from '../timeline/parts.js';

/** @typedef {import('../lib/types').ClassName} ClassName */

/** @param {import('../lib/views').Overview} answer @param {import('../frame/app.js').App} app */
export function idleCard({ devices: all, steps }, app) {
  if (!all.length) {
    return emptyCard('Idle time by cause', 'Idle time needs a device plane, and this capture has none.', 'The timeline shows what the host did.');
  }
  const devices = app.among(all);
  const idle = total(devices, 'idle_ps');
  const note = cores(all.length, devices.length);
  if (!idle) return card('Idle time by cause', { note }, h('p', null, 'The devices are never idle.'));
  /** @type {{name: ClassName|null, ps: number}[]} */
  const items = CLASSES.map((name) => ({ name, ps: total(devices, ({ idle_by_class_ps }) => idle_by_class_ps[name]) })).filter(({ ps }) => ps);
  const bar = stackedBar(Object.fromEntries(items.map(({ name, ps }) => [name, ps])));
  const small = idle - total(items, 'ps');
  if (small > 0) items.push({ name: null, ps: small });
  const each = Math.max(1, steps.count) * devices.length;
  const eachUnit = unitFor(idle / each);
  const label = (/** @type {ClassName|null} */ name) => (name ? LABELS[name] : 'in gaps under 10\u202fµs');
  const idleTime = partColumns('Idle', items, 'ps', (text, { name }) => (
    name ? link(text, () => app.open({ v: 'gaps', f: `cause:${name}`, sel: '' }), { title: `Gaps caused by ${label(name)}` }) : text));
  return card('Idle time by cause', { note: `${note}, ${headline(idle)} in all`, class: 'idle' },
    h('div', { 'data-testid': 'idle-bar' }, bar),
    h('div', { class: 'fill' }, table({
      label: 'Idle time by cause', testid: 'idle-table', items, sort: '-Idle',
      columns: [
        { head: 'What the host did', value: ({ name }) => label(name), cell: ({ name }) => (name ? classCell(name) : h('span', { class: 'sec' }, label(name))) },
        idleTime.time, timeColumn(steps.count ? 'Per step and core' : 'Per core', eachUnit, ({ ps }) => ps / each, { ps: undefined }), idleTime.share,
      ],
      foot: ['Idle', idleTime.sum, timeCell(idle / each, eachUnit), share(1)],
    })));
}
