/** Tables that sort by their heads; arrow keys move between rows. Long tables draw only the rows in view. */

import { button, fill, h, onKeys } from './dom.js';
import { count, MISSING, share, timeCell, unitFor, UNITS } from './format.js';
import { accessor, total } from './totals.js';
import { roundShares, roundTimes } from './rounded-parts.js';

/** Longer tables draw only the rows in view, and some above and below. */
const MAX_ROWS_DRAWN = 200;
const ROWS_ABOVE_VIEW = 20;
const ROWS_BELOW_VIEW = 20;
/** Height of rows and of the view before they are laid out, px. */
const DEFAULT_ROW_PX = 24;
const DEFAULT_VIEW_PX = 600;

/**
 * @template T
 * @typedef {object} Column
 * @property {string} [key] its name in a link's sort order; its head by default
 * @property {string} head
 * @property {string} [name] its name for screen readers if it has no head
 * @property {boolean} [number] whether it is right-aligned and sorts descending first
 * @property {(item: T) => number|string} [value] the value to sort by; a column without it does not sort
 * @property {(item: T) => import('./dom.js').Child|import('./dom.js').Child[]} cell
 * @property {(item: T) => number|null|undefined} [ps] the exact time of the cell, in `data-ps`
 * @property {(item: T) => string} [title] the full text of a cell that may be cut
 */

/** @template T, V @typedef {import('./totals.js').Field<T, V>} Field */

/**
 * A column of times in one unit. Here and below, `more` replaces properties of the column.
 * @template T
 * @param {string} head @param {import('./format.js').Unit} unit @param {Field<T, number|null|undefined>} field ps
 * @param {Partial<Column<T>>} [more] @returns {Column<T>}
 */
export function timeColumn(head, unit, field, more) {
  const ps = accessor(field);
  return {
    key: head,
    head: `${head}, ${unit.name}`,
    number: true,
    value: (item) => ps(item) ?? -1,
    ps(item) {
      const value = ps(item);
      return value == null ? null : Math.round(value);
    },
    cell: (item) => timeCell(ps(item), unit),
    ...more,
  };
}

/**
 * @template T
 * @param {string} head
 * @param {Field<T, number|null|undefined>} field
 * @param {Partial<Column<T>>} [more]
 * @returns {Column<T>}
 */
export const countColumn = (head, field, more) => ({
  head,
  number: true,
  value: (item) => accessor(field)(item) ?? -1,
  cell: (item) => count(accessor(field)(item)),
  ...more,
});

/**
 * @template T
 * @param {string} head
 * @param {Field<T, number|null|undefined>} field a share from 0 to 1
 * @param {Partial<Column<T>>} [more]
 * @returns {Column<T>}
 */
export const shareColumn = (head, field, more) =>
  countColumn(head, field, { cell: (item) => share(accessor(field)(item)), ...more });

/**
 * @template T
 * @param {string} head
 * @param {Field<T, string|null|undefined>} field
 * @param {Partial<Column<T>>} [more]
 * @returns {Column<T>}
 */
export function textColumn(head, field, more) {
  const text = accessor(field);
  return {
    head,
    value: (item) => text(item) ?? '',
    title: (item) => text(item) ?? '',
    cell: (item) => text(item) ?? MISSING,
    ...more,
  };
}

/** The column of starts, in ms. @template T @param {Field<T, number|null|undefined>} field @returns {Column<T>} */
export const startColumn = (field) => timeColumn('Start', UNITS.ms, field, { key: 'start' });

/**
 * Parts of a whole: columns of their times and shares, rounded so that both add up, and the sum for the foot.
 * @template T
 * @param {string} head
 * @param {T[]} items
 * @param {Field<T, number>} field ps
 * @param {(text: string, item: T) => Node|string} [show] draws a time
 */
export function partColumns(head, items, field, show = (text) => text) {
  const ps = accessor(field);
  const parts = items.map(ps);
  const whole = total(parts, Number);
  const unit = unitFor(whole);
  const { texts, sum } = roundTimes(parts, unit);
  const shares = roundShares(parts);
  /** A share that rounds to 0 or 1 keeps its exact value. @param {T} item */
  const part = (item) => {
    const at = items.indexOf(item);
    return shares[at] > 0 && shares[at] < 1 ? shares[at] : parts[at] / whole;
  };
  return {
    unit,
    sum,
    texts,
    shares,
    time: timeColumn(head, unit, ps, { cell: (item) => show(texts[items.indexOf(item)], item) }),
    share: shareColumn('Share', part),
  };
}

/**
 * A sum over all hosts, shown with `≥` unless all hosts are read.
 * @param {import('./dom.js').Child} text
 */
export const sumText = (text) => h('span', { class: 'sum' }, text);

/**
 * A sorted copy; ties keep their order.
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
 * A table in a scrolling element; `refresh` redraws the rows after a change of selection, expanded rows or link.
 * @template T
 * @param {object} options
 * @param {string} options.label the table's name for screen readers
 * @param {string} [options.testid]
 * @param {Column<T>[]} options.columns
 * @param {T[]} options.items in the order of rows without a sort order, and of rows with equal values
 * @param {boolean} [options.fixed] whether no column sorts, because the order has a meaning
 * @param {string} [options.sort] `key` ascending or `-key` descending; by default the order of `items`
 * @param {() => string|undefined} [options.linkedSort] the link's order, which replaces `sort` if this table has it
 * @param {(Node|string)[]} [options.foot] one sum row: cells in the order of the columns
 * @param {(item: T) => void} [options.open] called on double click and Enter
 * @param {(item: T) => void} [options.select] called on click and Space; on Enter too if there is no `open`
 * @param {(item: T) => boolean} [options.selected]
 * @param {(order: string) => void} [options.onSort] called after the user sorted
 * @param {(item: T) => T[]} [options.innerRows] the rows below an item if it is expanded, else none; they do not sort
 * @param {(item: T) => string} [options.group] the title of an item's group; groups are in the order of `items`, each
 *   below a row with its title
 * @param {(item: T) => string} [options.name] a row's name for screen readers; its cells by default
 * @param {(item: T) => string} [options.rowTestid] a row's test id
 * @param {(item: T) => string} [options.key] a row's `data-key`
 */
export function sortableTable({
  label,
  testid,
  columns,
  items,
  fixed,
  sort = '',
  linkedSort,
  foot,
  open,
  select,
  selected,
  onSort,
  innerRows,
  group,
  name,
  rowTestid,
  key,
}) {
  const keyOf = (/** @type {Column<T>} */ { key: columnKey, head }) => columnKey ?? head;
  const isSortable = (/** @type {Column<T>} */ { value }) => Boolean(value && !fixed);
  const columnOf = (/** @type {string} */ text) =>
    columns.find((column) => column.value && keyOf(column) === text.replace(/^-/, ''));
  let order = sort;
  let shownItems = items;
  // Created once: a head that was pressed to sort keeps the focus while rows are redrawn.
  const heads = columns.map((column) => headCell(column));
  const body = h('tbody', null);
  const element = h(
    'table',
    { 'aria-label': label, 'data-testid': testid },
    h('thead', null, h('tr', null, heads)),
    body,
  );
  if (foot) {
    element.append(
      h(
        'tfoot',
        null,
        h('tr', null, ...foot.map((cell, index) => h('td', { class: columns[index].number && 'numeric' }, cell))),
      ),
    );
  }
  const scroller = h('div', { class: 'scroll' }, element);
  const long = items.length > MAX_ROWS_DRAWN;

  /** Takes the order from the link, which may have that of another view's table. */
  function refresh() {
    if (linkedSort) order = [linkedSort() ?? ''].find(columnOf) ?? sort;
    arrange();
  }

  function arrange() {
    const column = columnOf(order);
    shownItems = column?.value ? sorted(items, column.value, order.startsWith('-')) : items;
    if (group) {
      const ranks = new Map([...new Set(items.map(group))].map((text, rank) => [text, rank]));
      shownItems = sorted(shownItems, (item) => ranks.get(group(item)) ?? 0, false);
    }
    if (innerRows) shownItems = shownItems.flatMap((item) => [item, ...innerRows(item)]);
    element.setAttribute('aria-rowcount', String(shownItems.length + 1));
    columns.forEach((candidate, at) => {
      const columnKey = keyOf(candidate);
      if (isSortable(candidate)) {
        const direction = order === columnKey ? 'ascending' : order === `-${columnKey}` ? 'descending' : 'none';
        heads[at].setAttribute('aria-sort', direction);
      }
    });
    drawBody();
  }

  /** @param {Column<T>} column */
  function headCell(column) {
    const ascending = keyOf(column);
    const descending = '-' + ascending;
    return h(
      'th',
      { class: column.number && 'numeric', scope: 'col' },
      !isSortable(column)
        ? column.head || h('span', { class: 'visually-hidden' }, column.name)
        : button(column.head, () => {
            order = order === descending || (order !== ascending && !column.number) ? ascending : descending;
            arrange();
            onSort?.(order);
          }),
    );
  }

  /**
   * The index of the focused row and that of its focused button, -1 if the row itself has the focus; null if no row has
   * it.
   */
  function findFocus() {
    const active = document.activeElement;
    const row = active && body.contains(active) ? active.closest('tr') : null;
    return active && row
      ? {
          index: row.dataset.index,
          button: [...row.querySelectorAll('button')].indexOf(/** @type {HTMLButtonElement} */ (active)),
        }
      : null;
  }

  function drawBody() {
    const focus = findFocus();
    const rowHeight = body.querySelector('[data-index]')?.clientHeight || DEFAULT_ROW_PX;
    const rowsInView = Math.ceil((scroller.clientHeight || DEFAULT_VIEW_PX) / rowHeight);
    const from = long ? Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - ROWS_ABOVE_VIEW) : 0;
    const { length } = shownItems;
    const to = long ? Math.min(length, from + ROWS_ABOVE_VIEW + rowsInView + ROWS_BELOW_VIEW) : length;
    const rows = shownItems.slice(from, to).map((item, index) => bodyRow(item, from + index));
    const firstStop = (selected && rows.find((_, index) => selected(shownItems[from + index]))) ?? rows[0];
    if (firstStop) setTabStop(firstStop);
    const grouped = rows.map((row, index) =>
      group && group(shownItems[from + index]) !== (index && group(shownItems[from + index - 1]))
        ? [groupRow(group(shownItems[from + index])), row]
        : [row],
    );
    fill(body, spacer(from * rowHeight), grouped.flat(), spacer((length - to) * rowHeight));
    const refocused = focus && rows.find(({ dataset }) => dataset.index === focus.index);
    (refocused?.querySelectorAll('button')[focus?.button ?? -1] ?? refocused)?.focus();
  }

  /**
   * The row that Tab leads to, and then to the buttons in it; arrow keys lead to other rows.
   * @type {HTMLElement|null}
   */
  let tabStop = null;
  /** @param {HTMLElement} row */
  function setTabStop(row) {
    if (!select) return;
    for (const tableRow of [tabStop, row]) {
      [tableRow, ...(tableRow?.querySelectorAll('button') ?? [])].forEach((focusable) => {
        if (focusable) focusable.tabIndex = tableRow === row ? 0 : -1;
      });
    }
    tabStop = row;
  }
  body.addEventListener('focusin', ({ target }) => {
    const row = /** @type {HTMLElement|null} */ (/** @type {Element} */ (target).closest('tr[data-index]'));
    if (row) setTabStop(row);
  });

  /** @param {number} height */
  const spacer = (height) =>
    height > 0 &&
    h('tr', { 'aria-hidden': 'true' }, h('td', { colspan: columns.length, style: { height: `${height}px` } }));

  /** @param {string} text */
  const groupRow = (text) => h('tr', { class: 'group' }, h('td', { colspan: columns.length }, text));

  /** @param {T} item @param {number} index */
  function bodyRow(item, index) {
    const row = h('tr', {
      'aria-rowindex': index + 2,
      tabindex: select ? -1 : null,
      'data-index': index,
      'aria-selected': selected ? String(selected(item)) : null,
      'aria-label': name?.(item),
      'data-testid': rowTestid?.(item),
      'data-key': key?.(item),
      onclick: select && (() => select(item)),
      ondblclick: open && (() => open(item)),
    });
    row.append(
      ...columns.map(({ number, ps, title, cell }) =>
        h('td', { class: number && 'numeric', 'data-ps': ps?.(item), title: title?.(item) }, cell(item)),
      ),
    );
    if (select) {
      row.querySelectorAll('button').forEach((control) => {
        control.tabIndex = -1;
      });
    }
    return row;
  }

  /** @param {HTMLElement} row @param {'nextElementSibling'|'previousElementSibling'} side */
  function move(row, side) {
    let neighbour = row[side];
    if (neighbour?.classList.contains('group')) neighbour = neighbour[side];
    if (neighbour instanceof HTMLElement && neighbour.dataset.index) neighbour.focus();
  }
  const itemOf = (/** @type {HTMLElement} */ row) => shownItems[Number(row.dataset.index)];
  onKeys(element, 'tr', {
    Enter: (row) => (open ?? select)?.(itemOf(row)),
    ' ': (row) => select?.(itemOf(row)),
    ArrowDown: (row) => move(row, 'nextElementSibling'),
    ArrowUp: (row) => move(row, 'previousElementSibling'),
  });
  if (long) scroller.addEventListener('scroll', drawBody, { passive: true });
  refresh();
  return { element: scroller, refresh };
}

/**
 * Options of a view's main table that keep its sort order in the link, unless it is the default.
 * @param {import('./link.js').Link} link
 * @param {string} defaultOrder
 */
export const linkedOrder = (link, defaultOrder) => ({
  sort: defaultOrder,
  linkedSort: () => link.state.o,
  onSort: (/** @type {string} */ order) => link.set({ o: order === defaultOrder ? '' : order }, 'push'),
});

/**
 * Binds the keys of a search field over a table: Enter focuses a row, Escape clears the field and does the same.
 * @param {HTMLInputElement} search
 * @param {Element} list contains the table
 * @param {() => void} onClear
 */
export function bindSearchKeys(search, list, onClear) {
  const focusRow = () => /** @type {HTMLElement|null} */ (list.querySelector('tr[tabindex="0"]'))?.focus();
  onKeys(search, '*', {
    Enter: focusRow,
    Escape() {
      search.value = '';
      onClear();
      focusRow();
    },
  });
}

/**
 * A table that is never redrawn from outside.
 * @template T
 * @param {Parameters<typeof sortableTable<T>>[0]} options @returns {HTMLElement}
 */
export const table = (options) => sortableTable(options).element;
