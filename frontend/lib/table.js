/** Tables: sorted by their heads, moved in by arrow keys, drawn as scrolled when long. */

import { h, fill } from './dom.js';

/** In panels; cards have rows of 24. */
const ROW_HEIGHT = 21;
const DRAW_ALL = 200;

/**
 * @template T
 * @typedef {object} Column
 * @property {string} key
 * @property {string} head
 * @property {boolean} [number] right-aligned, sorted descending first
 * @property {(item: T) => number|string} [value] what it sorts by; a column without it does not sort
 * @property {(item: T) => Node|string|(Node|string)[]} cell
 * @property {(item: T) => number|null|undefined} [ps] the exact time of the cell, in `data-ps`
 * @property {(item: T) => string} [title] the whole of a text that may be cut
 */

/**
 * Sorts a copy; ties keep their order.
 * @template T
 * @param {T[]} items @param {(item: T) => number|string} value @param {boolean} descending
 */
export function sorted(items, value, descending) {
  const sign = descending ? -1 : 1;
  return [...items].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return x < y ? -sign : x > y ? sign : 0;
  });
}

/**
 * @template T
 * @param {object} options
 * @param {string} options.label what the table is, for screen readers
 * @param {string} [options.testid]
 * @param {Column<T>[]} options.columns
 * @param {T[]} options.items in order of time
 * @param {string} [options.sort] `key` ascending or `-key` descending; as given without it
 * @param {(Node|string)[]} [options.foot] one sum row: cells in the order of the columns
 * @param {(item: T) => void} [options.open] Enter and double click
 * @param {(item: T) => void} [options.select] Space and click
 * @param {(item: T) => boolean} [options.selected]
 * @param {(order: string) => void} [options.ordered] the person has sorted
 * @param {(item: T) => T[]} [options.parts] rows that follow an open row
 * @param {(item: T) => string} [options.group] items come in groups, in the order of `items`; each has a row above it
 * @param {(item: T) => string} [options.rowid] test id of a row
 * @param {number} [options.rowHeight] px at a root size of 16 px
 */
export function liveTable({ label, testid, columns, items, sort, foot, open, select, selected, ordered, parts, group, rowid, rowHeight = ROW_HEIGHT }) {
  let order = sort ?? '';
  let shown = items;
  const head = h('tr', null);
  const body = h('tbody', null);
  const element = h('table', { 'aria-label': label, 'data-testid': testid, 'aria-rowcount': items.length + 1 },
    h('thead', null, head), body);
  if (foot) {
    element.append(h('tfoot', null, h('tr', null, ...foot.map((cell, index) => (
      h('td', { class: columns[index].number ? 'num' : null }, cell))))));
  }
  const scroller = h('div', { class: 'scroll' }, element);
  const long = items.length > DRAW_ALL;

  function arrange() {
    const column = columns.find(({ key }) => key === order.replace('-', ''));
    shown = column?.value ? sorted(items, column.value, order.startsWith('-')) : items;
    if (group) {
      const ranks = new Map([...new Set(items.map(group))].map((name, rank) => [name, rank]));
      shown = sorted(shown, (item) => ranks.get(group(item)) ?? 0, false);
    }
    if (parts) shown = shown.flatMap((item) => [item, ...parts(item)]);
    fill(head, columns.map((own) => headCell(own)));
    drawBody();
  }

  /** @param {Column<T>} column */
  function headCell(column) {
    const attributes = { class: column.number ? 'num' : null, scope: 'col' };
    if (!column.value) return h('th', attributes, column.head);
    const descending = order === '-' + column.key;
    const active = descending || order === column.key;
    const click = () => {
      order = active ? (descending ? column.key : '-' + column.key) : (column.number ? '-' : '') + column.key;
      arrange();
      ordered?.(order);
    };
    const direction = active ? (descending ? 'descending' : 'ascending') : 'none';
    return h('th', { ...attributes, 'aria-sort': direction }, h('button', { type: 'button', onclick: click }, column.head));
  }

  function drawBody() {
    const at = body.contains(document.activeElement) ? document.activeElement?.closest('tr')?.dataset.index : undefined;
    const from = long ? Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - 20) : 0;
    const to = long ? Math.min(shown.length, from + Math.ceil((scroller.clientHeight || 600) / rowHeight) + 40) : shown.length;
    const rows = shown.slice(from, to).map((item, index) => bodyRow(item, from + index));
    const entry = (selected && rows.find((_, index) => selected(shown[from + index]))) ?? rows[0];
    if (entry && select) entry.tabIndex = 0;
    const heads = rows.map((row, index) => (group && group(shown[from + index]) !== (index && group(shown[from + index - 1]))
      ? [groupRow(group(shown[from + index])), row] : [row]));
    fill(body, spacer(from), heads.flat(), spacer(shown.length - to));
    if (at !== undefined) rows.find((row) => row.dataset.index === at)?.focus();
  }

  /** @param {number} rows */
  function spacer(rows) {
    if (rows <= 0) return null;
    const cell = h('td', { colspan: columns.length });
    cell.style.height = `${rows * rowHeight}px`;
    return h('tr', { 'aria-hidden': 'true' }, cell);
  }

  /** @param {string} text */
  const groupRow = (text) => h('tr', { class: 'group' }, h('td', { colspan: columns.length }, text));

  /** @param {T} item @param {number} index */
  function bodyRow(item, index) {
    const row = h('tr', {
      'aria-rowindex': index + 2, tabindex: select ? -1 : null, 'data-index': index,
      'aria-selected': selected ? String(selected(item)) : null, 'data-testid': rowid?.(item),
      onclick: select && (() => select(item)),
      ondblclick: open && (() => open(item)),
    });
    row.append(...columns.map((column) => {
      const title = column.title?.(item);
      return h('td', { class: column.number ? 'num' : null, 'data-ps': column.ps?.(item), title }, column.cell(item));
    }));
    return row;
  }

  element.addEventListener('keydown', (event) => {
    const row = event.target instanceof HTMLTableRowElement ? event.target : null;
    if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
    const item = shown[Number(row.dataset.index)];
    if (event.key === 'Enter') (open ?? select)?.(item);
    else if (event.key === ' ') select?.(item);
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const side = event.key === 'ArrowDown' ? 'nextElementSibling' : 'previousElementSibling';
      let next = row[side];
      if (next?.classList.contains('group')) next = next[side];
      if (next instanceof HTMLElement && next.dataset.index) next.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  if (long) scroller.addEventListener('scroll', drawBody, { passive: true });
  arrange();
  /** Draws the rows anew: what is selected or open has changed. */
  return { element: scroller, refresh: arrange };
}

/**
 * A table that is drawn once.
 * @template T
 * @param {Parameters<typeof liveTable<T>>[0]} options @returns {HTMLElement}
 */
export const table = (options) => liveTable(options).element;
