/** A choice of some of many in the header: a menu of boxes. */

import { h, fill } from '../lib/dom.js';

/** @typedef {{value: string, label: string, note?: string}} Choice */

/**
 * All are chosen when none is named, so that "all" is never a long list.
 * @param {string} label @param {string} testid @param {(values: string[]) => void} changed empty: all
 */
export function pickSome(label, testid, changed) {
  const summary = h('summary', { 'data-testid': testid, 'aria-label': label });
  const menu = h('div', { class: 'menu', role: 'group', 'aria-label': label });
  const details = h('details', null, summary, menu);
  const element = h('span', { class: 'pick none' }, h('span', null, label), details);
  /** @type {Choice[]} */
  let choices = [];
  const boxes = () => [...menu.querySelectorAll('input')];
  const close = () => { details.open = false; };
  const read = () => {
    const on = boxes().filter((box) => box.checked).map((box) => box.value);
    if (!on.length) boxes().forEach((box) => { box.checked = true; });
    const values = on.length === choices.length ? [] : on;
    name(values);
    changed(values);
  };
  /** @param {string[]} values */
  const name = (values) => {
    const one = values.length === 1 || choices.length === 1
      ? choices.find(({ value }) => !values.length || value === values[0]) : null;
    summary.textContent = one?.label ?? `${values.length || choices.length} of ${choices.length}`;
  };
  addEventListener('pointerdown', (event) => { if (!element.contains(/** @type {Node} */ (event.target))) close(); });
  details.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !details.open) return;
    event.stopPropagation();
    close();
    summary.focus();
  });
  return {
    element,
    /** @param {Choice[]} next @param {string[]} values */
    set(next, values) {
      choices = next;
      element.classList.toggle('none', next.length === 0);
      fill(menu, next.map(({ value, label: text, note }) => {
        const box = h('input', { type: 'checkbox', value, onchange: read });
        box.checked = !values.length || values.includes(value);
        return h('label', null, box, text, note ? h('span', { class: 'num' }, note) : null);
      }), next.length > 1 && h('p', { class: 'small muted' }, 'Numbers beside the tabs are of the whole session.'));
      name(values);
    },
  };
}
