/** Tables as files. */

import { h } from './dom.js';

/** Saves rows as a file of comma-separated values. @param {string} name @param {string[]} heads @param {(string|number|null)[][]} rows */
export function saveCsv(name, heads, rows) {
  const blob = new Blob([csvText(heads, rows)], { type: 'text/csv' });
  const anchor = h('a', { href: URL.createObjectURL(blob), download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 0);
}

/** Quotes where needed; a text that a spreadsheet would take for a formula gets a quote before it. @param {string[]} heads @param {(string|number|null)[][]} rows */
export function csvText(heads, rows) {
  const cell = (/** @type {string|number|null} */ value) => {
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? '');
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [heads, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}
