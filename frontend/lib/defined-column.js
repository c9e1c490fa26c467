/** Table columns from the definitions that the terminal, the HTML report and CSV files share. */

import { codeCell, miniBar } from './cards.js';
import { classCell, LABELS } from './classes.js';
import { bytes, UNITS } from './format.js';
import { countColumn, shareColumn, textColumn, timeColumn } from './table.js';
import { accessor } from './totals.js';

const MAX_NAME_LETTERS = 40;

/** @typedef {import('./table-definitions.js').ColumnDefinition} ColumnDefinition */
/**
 * What replaces properties of a column: `field` selects the value of an item, by default the field with the
 * definition's key; `timeUnit` is the unit of columns of times, except those that are always in ms.
 * @template T
 * @typedef {Partial<import('./table.js').Column<T>> & {
 *   field?: import('./totals.js').Field<T, any>, timeUnit?: import('./format.js').Unit}} ColumnOptions
 */

/**
 * A column with the heading, unit and alignment of its definition. Links name it by the definition's key without `_ps`.
 * @template T
 * @param {ColumnDefinition} definition
 * @param {ColumnOptions<T>} [options]
 * @returns {import('./table.js').Column<T>}
 */
export function definedColumn({ key, head, unit }, { field, timeUnit = UNITS.ms, ...overrides } = {}) {
  const value = field === undefined ? (/** @type {any} */ item) => item[key] : accessor(field);
  const options = { key: key.replace(/_ps$/, ''), ...overrides };
  switch (unit) {
    case 'time':
    case 'change':
      return timeColumn(head, timeUnit, value, options);
    case 'ms':
      return timeColumn(head, UNITS.ms, value, options);
    case 'share':
      return shareColumn(head, value, options);
    case 'bytes':
      return countColumn(head, value, { cell: (item) => bytes(value(item)), ...options });
    case 'count':
    case 'number':
      return countColumn(head, value, options);
    case 'code':
      return textColumn(head, value, { cell: (item) => codeCell(value(item), MAX_NAME_LETTERS), ...options });
    case 'words':
      return textColumn(head, (item) => value(item)?.replaceAll('_', ' '), options);
    case 'class':
      return textColumn(head, (item) => LABELS[/** @type {import('./classes.js').ClassName} */ (value(item))], {
        cell: (item) => classCell(value(item)),
        title: undefined,
        ...options,
      });
    case 'by class':
      return { head, cell: (item) => miniBar(value(item)), ...options };
    default:
      return textColumn(head, value, options);
  }
}

/**
 * All columns of a table in their order.
 * @template T
 * @template {Record<string, ColumnDefinition>} Columns
 * @param {Columns} columns
 * @param {{[K in keyof Columns]?: ColumnOptions<T>|null}} [options] by key; null leaves the column out
 */
export const definedColumns = (columns, options = {}) =>
  Object.entries(columns).flatMap(([key, definition]) => {
    const ofColumn = options[key];
    return ofColumn === null ? [] : [definedColumn(definition, ofColumn)];
  });

/**
 * The keys of a table's columns for a CSV file: those that its rows have. The values of derived columns are computed.
 * @param {Record<string, ColumnDefinition>} columns
 */
export const csvKeys = (columns) =>
  Object.values(columns).filter(({ derived }) => !derived).map(({ key }) => key);
