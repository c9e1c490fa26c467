/** One tab per view, the environment at the right, and a bar under them while a request runs. */

import { h, button } from '../lib/dom.js';

/** @param {{id: string, label: string}[]} views @param {(id: string) => void} chosen */
export function createTabs(views, chosen) {
  const tabs = views.map(({ id, label }) => button(label, () => chosen(id), {
    role: 'tab', id: `tab-${id}`, 'data-testid': `tab-${id}`, 'data-view': id }));
  const note = h('span', { class: 'note', 'data-testid': 'environment' });
  const bar = h('div', { class: 'busy' }, h('i', null));
  const row = h('div', { role: 'tablist', 'data-testid': 'tabs', 'aria-label': 'Views' }, tabs);
  row.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = tabs.findIndex((tab) => tab === event.target);
    if (!step || at < 0) return;
    event.stopPropagation();
    event.preventDefault();
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
  return {
    element: h('nav', { class: 'tabs' }, row, h('span', { class: 'grow' }), note, bar),
    /** @param {string} id */
    select(id) {
      tabs.forEach((tab) => {
        const on = tab.dataset.view === id;
        tab.setAttribute('aria-selected', String(on));
        tab.tabIndex = on ? 0 : -1;
      });
    },
    /** @param {string} text */
    environment(text) { note.textContent = text; },
    /** @param {boolean} on */
    busy(on) { bar.classList.toggle('on', on); },
  };
}
