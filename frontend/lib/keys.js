/**
 * Keyboard shortcuts, by the key's position or character. They are off in text fields, while a dialog is open, and with
 * Ctrl, Alt or Meta.
 */

import { usesKeys } from './dom.js';

/**
 * @typedef {object} Key
 * @property {string} [code] `event.code`, the position
 * @property {string} [character] `event.key`, for a character whose position depends on the layout
 * @property {boolean} [shift] whether Shift must or must not be held; either if absent
 * @property {string} [label] the keys as the help dialog writes them; several keys may share a line
 * @property {string} [does] what the keys do, as the help dialog writes it
 * @property {(event: KeyboardEvent) => boolean|void} run returns false to leave the key to the browser
 */

export function createKeys() {
  /** @type {Key[][]} */
  const groups = [];
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (document.querySelector('dialog[open]') || usesKeys(event.target)) return;
    for (const key of groups.flat()) {
      if (key.character ? key.character !== event.key : key.code !== event.code) continue;
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
    /** The lines of the help dialog. @returns {{label: string, does: string}[]} */
    list() {
      return groups.flat().flatMap(({ label, does }) => (label && does ? [{ label, does }] : []));
    },
  };
}
/** @typedef {ReturnType<typeof createKeys>} Keys */
