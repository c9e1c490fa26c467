/** What the verdict needs in place of idle time by cause: what devices wait for, their work, or the hosts. */

import { card, link } from '../lib/cards.js';
import { h } from '../lib/dom.js';
import { table } from '../lib/table.js';

/** The view with more of each kind of table. @type {Partial<Record<NeededRows['kind'], string>>} */
const VIEWS = { waits: 'Device', work: 'Device', hosts: 'Hosts', iteration: 'Iterations' };
/** The section of the Device view with more of waits for asynchronous ops. */
const ENGINES = { label: 'Engines', state: { v: 'device', ds: 'engines' } };

/** @typedef {import('../lib/routes').NeededRows} NeededRows */

/**
 * The card; null if the verdict needs idle time by cause.
 * @param {import('../lib/routes').Overview} answer
 * @param {HTMLElement|null} devices the line of devices that agree
 * @param {import('../frame/app.js').App} app
 */
export function neededCard({ needed, counts }, devices, app) {
  const view = needed && VIEWS[needed.kind];
  if (!view) return null;
  const { heads, rows, last, texts, kind } = needed;
  const more =
    kind === 'waits' && counts.async_ops ? ENGINES : { label: view, state: { v: view.toLowerCase(), ds: '' } };
  const [title] = heads;
  return card(
    title,
    { class: 'idle', right: link(more.label, () => app.open(more.state)) },
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
