/** Keys by their position on the keyboard or by their sign, off while typing and with Ctrl, Alt or Meta. */

import { isTextField } from './dom.js';

/**
 * @typedef {object} Key
 * @property {string} [code] `event.code`: the position
 * @property {string} [sign] `event.key`, for a sign that each layout has elsewhere
 * @property {boolean} [shift] must or must not be held; either way when absent
 * @property {string} [label] as written on the key, for the help sheet; several keys may share one line
 * @property {string} [does] what it does, for the help sheet
 * @property {(event: KeyboardEvent) => boolean|void} run answering false leaves the key to the browser
 */

export function createKeys() {
  /** @type {Key[][]} */
  const groups = [];
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (document.querySelector('dialog[open]') || isTextField(event.target)) return;
    for (const key of groups.flat()) {
      if (key.sign ? key.sign !== event.key : key.code !== event.code) continue;
      if (key.shift !== undefined && key.shift !== event.shiftKey) continue;
      if (key.run(event) !== false) event.preventDefault();
      return;
    }
  });
  return {
    /** @param {Key[]} keys @returns {() => void} removes them */
    add(keys) {
      groups.push(keys);
      return () => { groups.splice(groups.indexOf(keys), 1); };
    },
    /** What the help sheet lists. @returns {{label: string, does: string}[]} */
    list() {
      return groups.flat().flatMap(({ label, does }) => (label && does ? [{ label, does }] : []));
    },
  };
}
/** @typedef {ReturnType<typeof createKeys>} Keys */
