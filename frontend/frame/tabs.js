/** The tabs, one per view, with the environment at the right and a moving bar below while requests run. */

import { h, button, onKeys } from '../lib/dom.js';
import { MISSING } from '../lib/format.js';

/** @param {{id: string, label: string}[]} views @param {(id: string) => void} onChoose */
export function createTabs(views, onChoose) {
  const tabs = views.map(({ id, label }) =>
    button(
      label,
      () => onChoose(id),
      { role: 'tab', id: `tab-${id}`, 'aria-controls': 'panel', 'data-testid': `tab-${id}`, 'data-view': id },
      h('b', null),
    ),
  );
  const note = h('span', { class: 'note', 'data-testid': 'environment' });
  const bar = h('div', { class: 'busy' }, h('i', null));
  const row = h('div', { role: 'tablist', 'data-testid': 'tabs', 'aria-label': 'Views' }, tabs);
  const move = (/** @type {HTMLElement} */ from, /** @type {number} */ by) => {
    const target = tabs[(tabs.findIndex((tab) => tab === from) + by + tabs.length) % tabs.length];
    target.focus();
    target.click();
  };
  onKeys(row, '[role=tab]', { ArrowRight: (tab) => move(tab, 1), ArrowLeft: (tab) => move(tab, -1) });
  /**
   * Shows the count of a view, or that it has nothing to show.
   * @param {string} id @param {string} text @param {string} [nothing] why there is nothing
   */
  function setCount(id, text, nothing = '') {
    const tab = tabs.find(({ dataset }) => dataset.view === id);
    if (!tab) return;
    tab.children[0].textContent = nothing ? MISSING : text;
    tab.classList.toggle('nothing', Boolean(nothing));
    tab.title = nothing;
  }

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
    setCount,
    /** Removes the counts when another session opens. */
    clearCounts() { views.forEach(({ id }) => setCount(id, '')); },
    /** @param {string} text */
    setEnvironment(text) { note.textContent = text; },
    /** @param {boolean} on */
    setBusy(on) { bar.classList.toggle('on', on); },
  };
}
