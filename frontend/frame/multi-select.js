/** A menu of check boxes. */

import { h, fill } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { escapeInvisible } from '../lib/escapes.js';

/** @typedef {{value: string, label: string}} Choice */

/** More choices have a search above them. */
const MAX_WITHOUT_SEARCH = 12;

/**
 * @param {string} label
 * @param {string} testid
 * @param {(values: string[]) => void} onChange gets the checked values; none if all are checked,
 *   to keep links short, or if none is, since a choice of nothing would show nothing
 * @param {boolean} [hasLabel] whether the label is before the menu
 */
export function createMultiSelect(label, testid, onChange, hasLabel = true) {
  const summary = h('summary', { 'data-testid': testid });
  const menu = h('div', { class: 'menu', role: 'group', 'aria-label': label });
  const details = h('details', null, summary, menu);
  const element = h('span', { class: 'pick hidden', title: label }, hasLabel && h('span', null, label), details);
  const search = h('input', { type: 'search', placeholder: 'Search', 'aria-label': `Search ${label}` });
  let draw = () => {};
  // There may be thousands of choices: the menu is built when it opens.
  details.addEventListener('toggle', () => { if (details.open) draw(); });
  return {
    element,
    /**
     * @param {Choice[]} choices
     * @param {string[]} chosen
     * @param {{choiceCount?: number, text?: string, note?: string}} [shown] the total to show, if there are more
     *   choices than the listed ones, or the whole text; a note below the choices
     */
    set(choices, chosen, { choiceCount = choices.length, text = '', note = '' } = {}) {
      element.classList.toggle('hidden', !choices.length);
      summary.textContent = text || (
        chosen.length === 1
          ? escapeInvisible(choices.find(({ value }) => value === chosen[0])?.label ?? '')
          : `${count(chosen.length)} of ${count(choiceCount)}`
      );
      summary.ariaLabel = `${label}, ${summary.textContent}`;
      draw = () => drawMenu(choices, chosen, note);
      if (details.open) draw();
    },
  };

  /** @param {Choice[]} choices @param {string[]} chosen @param {string} note */
  function drawMenu(choices, chosen, note) {
    const focused = menu.contains(document.activeElement) && document.activeElement?.getAttribute('value');
    const chosenValues = new Set(chosen);
    const reportChoice = () => {
      const checked = boxes.filter((box) => box.checked).map((box) => box.value);
      onChange(checked.length < choices.length ? checked : []);
    };
    const boxes = choices.map(({ value }) =>
      h('input', { type: 'checkbox', value, checked: chosenValues.has(value), onchange: reportChoice }),
    );
    const labels = choices.map(({ label: text }, at) => h('label', null, boxes[at], text));
    const isLong = choices.length > MAX_WITHOUT_SEARCH;
    const filter = () => {
      const text = isLong ? search.value.toLowerCase() : '';
      labels.forEach((item, at) => { item.hidden = !choices[at].label.toLowerCase().includes(text); });
    };
    search.oninput = filter;
    filter();
    fill(menu, isLong && h('span', { class: 'field' }, search), labels, note && h('p', { class: 'small muted' }, note));
    boxes.find(({ value }) => value === focused)?.focus();
  }
}

/** Makes Escape, which returns the focus, and a press elsewhere close the open menu. */
export function bindMenuClosing() {
  const openMenu = () => /** @type {HTMLDetailsElement|null} */ (document.querySelector('details[open]:has(> .menu)'));
  addEventListener('pointerdown', ({ target }) => {
    const menu = openMenu();
    if (menu && !menu.contains(/** @type {Node} */ (target))) menu.open = false;
  });
  addEventListener('keydown', (event) => {
    const menu = openMenu();
    if (event.key !== 'Escape' || !menu) return;
    menu.open = false;
    menu.querySelector('summary')?.focus();
    event.preventDefault();
  });
}
