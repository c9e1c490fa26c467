/** Tables as files. */

import { button, h } from './dom.js';

/**
 * A button that saves items as a file of comma-separated values.
 * @param {string} name
 * @param {string[]} heads fields of the items
 * @param {() => Record<string, any>[]|Promise<Record<string, any>[]>} items
 */
export const exportButton = (name, heads, items) => button('Export CSV', async () => {
  const blob = new Blob(
    [
      csvText(
        heads,
        (await items()).map((item) => heads.map((head) => item[head])),
      ),
    ],
    { type: 'text/csv' },
  );
  const anchor = h('a', { href: URL.createObjectURL(blob), download: `${name}.csv` });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 0);
}, { 'data-testid': 'export-csv' });

/**
 * Quotes where needed; a text that a spreadsheet would take for a formula gets a quote before it.
 * @param {string[]} heads
 * @param {(string|number|null)[][]} rows
 */
export function csvText(heads, rows) {
  const cell = (/** @type {string|number|null} */ value) => {
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? '');
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [heads, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}
