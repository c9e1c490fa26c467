/** What the verdict needs in place of idle time by cause: what devices wait for, their work, or the hosts. */

import { card, link } from '../lib/cards.js';
import { h } from '../lib/dom.js';
import { table } from '../lib/table.js';

/** The view with more of each kind of table. @type {Partial<Record<NeededRows['kind'], string>>} */
const VIEWS = { waits: 'Device', work: 'Device', hosts: 'Hosts' };

/** @typedef {import('../lib/routes').NeededRows} NeededRows */

/**
 * The card; null if the verdict needs idle time by cause.
 * @param {NeededRows|null} needed
 * @param {HTMLElement|null} devices the line of devices that agree
 * @param {import('../frame/app.js').App} app
 */
export function neededCard(needed, devices, app) {
  const view = needed && VIEWS[needed.kind];
  if (!view) return null;
  const { heads, rows, last, texts } = needed;
  const [title] = heads;
  return card(
    title,
    { class: 'idle', right: link(view, () => app.open({ v: view.toLowerCase() })) },
    h(
      'div',
      { class: 'fill' },
      table({
        label: title,
        testid: 'needed-table',
        items: rows,
        fixed: true,
        columns: heads.map((head, at) => ({
          head: at ? head.charAt(0).toUpperCase() + head.slice(1) : '',
          name: head,
          number: !texts.includes(at),
          cell: (/** @type {string[]} */ row) => row[at],
        })),
        foot: last.length ? last : undefined,
      }),
    ),
    devices,
  );
}
