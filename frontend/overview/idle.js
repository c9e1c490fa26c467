/** What the host did while the devices were idle: a bar, and a table whose sum row is all idle time. */

import { h } from '../lib/dom.js';
import { CLASSES, LABELS } from '../lib/classes.js';
import { card, classCell, cores, emptyCard, link } from '../lib/cards.js';
import { columnUnit, digits, headline, share, timeCell } from '../lib/format.js';
import { roundParts, roundShares } from '../lib/parts.js';
import { table } from '../lib/table.js';
import { stackedBar } from '../timeline/parts.js';

/** @typedef {import('../lib/types').ClassName} ClassName */

/** @param {import('../lib/views').Overview} answer @param {import('../frame/app.js').App} app */
export function idleCard({ idle, devices, steps }, app) {
  if (!devices.length) {
    return emptyCard('Idle time by cause', 'Idle time needs a device plane, and this capture has none.', 'The timeline shows what the host did.');
  }
  const { total_ps, by_class_ps } = idle;
  const names = CLASSES.filter((name) => (by_class_ps[name] ?? 0) > 0);
  /** @type {{name: ClassName|null, ps: number}[]} */
  const parts = names.map((name) => ({ name, ps: by_class_ps[name] ?? 0 }));
  const small = total_ps - parts.reduce((sum, { ps }) => sum + ps, 0);
  if (small > 0) parts.push({ name: null, ps: small });
  const unit = columnUnit([total_ps]);
  const rounded = roundParts(parts.map(({ ps }) => ps), unit.ps / 1000);
  const shares = roundShares(parts.map(({ ps }) => ps));
  const items = parts.map((part, index) => ({ ...part, text: digits(rounded[index] / 1000, 3), share: shares[index] }));
  const each = Math.max(1, steps.count) * devices.length;
  const eachUnit = columnUnit([total_ps / each]);
  const labelOf = (/** @type {ClassName|null} */ name) => (name ? LABELS[name] : 'in gaps under 10\u202fµs');
  if (!total_ps) return card('Idle time by cause', { note: cores(devices.length) }, h('p', null, 'The devices are never idle.'));
  return card('Idle time by cause', { note: `${cores(devices.length)}, ${headline(total_ps)} in all` },
    h('div', { 'data-testid': 'idle-bar' }, stackedBar(by_class_ps)),
    h('div', { class: 'fill' }, table({
      label: 'Idle time by cause', testid: 'idle-table', items, sort: '-idle',
      columns: [
        { key: 'class', head: 'What the host did', value: ({ name }) => labelOf(name), cell: ({ name }) => (name ? classCell(name) : h('span', { class: 'sec' }, labelOf(name))) },
        { key: 'idle', head: `Idle, ${unit.name}`, number: true, value: ({ ps }) => ps, ps: ({ ps }) => ps,
          cell: ({ name, text }) => (name ? link(text, () => app.open({ v: 'gaps', f: `cause:${name}`, sel: '' }), { title: `Gaps caused by ${labelOf(name)}` }) : text) },
        { key: 'each', head: steps.count ? `Per step and core, ${eachUnit.name}` : `Per core, ${eachUnit.name}`, number: true, value: ({ ps }) => ps, cell: ({ ps }) => timeCell(ps / each, eachUnit) },
        { key: 'share', head: 'Share', number: true, value: ({ ps }) => ps, cell: (item) => (item.share ? share(item.share) : share(item.ps / total_ps)) },
      ],
      foot: ['Idle', h('span', { 'data-ps': total_ps }, digits(rounded.reduce((sum, part) => sum + part, 0) / 1000, 3)), timeCell(total_ps / each, eachUnit), share(1)],
    })));
}
