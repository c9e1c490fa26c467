/** Tables as CSV files. */

import { button, h } from './dom.js';

/**
 * A button that saves items as a CSV file.
 * @param {string} name of the file, without `.csv`
 * @param {string[]} heads keys of the items, which become the header line
 * @param {() => Record<string, any>[]|Promise<Record<string, any>[]|null>} loadItems null: no file is saved
 */
export const exportButton = (name, heads, loadItems) => button('Export CSV', async () => {
  const items = await loadItems();
  if (!items) return;
  const rows = items.map((item) => heads.map((head) => item[head]));
  const blob = new Blob([csvText(heads, rows)], { type: 'text/csv' });
  const anchor = h('a', { href: URL.createObjectURL(blob), download: `${name}.csv` });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 0);
}, { 'data-testid': 'export-csv' });

const FORMULA_START = /^[=+\-@\t\r\n]/;
const NUMBER = /^[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?$/i;

/**
 * A CSV file: values are quoted where needed, and a text that a spreadsheet would take for a formula begins with `'`.
 * Numbers written as text stay as they are, as in `xla-insights export`.
 * @param {string[]} heads
 * @param {(string|number|null)[][]} rows
 */
export function csvText(heads, rows) {
  const cell = (/** @type {string|number|null} */ value) => {
    const isFormula = typeof value === 'string' && FORMULA_START.test(value) && !NUMBER.test(value);
    const text = isFormula ? `'${value}` : String(value ?? '');
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [heads, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}
