/** Tables: sorted by their heads, moved in by arrow keys, drawn as scrolled when long. */

import { button, fill, h, onKeys } from './dom.js';
import { count, MISSING, share, timeCell, unitFor, UNITS } from './format.js';
import { accessor, total } from './totals.js';
import { roundShares, roundTimes } from './rounded-parts.js';

/** Longer tables draw only the rows in view. */
const MAX_ROWS_DRAWN = 200;

/**
 * @template T
 * @typedef {object} Column
 * @property {string} [key] its name in a link's order; its head by default
 * @property {string} head
 * @property {string} [name] its name for screen readers if it has no head
 * @property {boolean} [number] right-aligned, sorted descending first
 * @property {(item: T) => number|string} [value] the sort key; a column without it does not sort
 * @property {(item: T) => import('./dom.js').Child|import('./dom.js').Child[]} cell
 * @property {(item: T) => number|null|undefined} [ps] the exact time of the cell, in `data-ps`
 * @property {(item: T) => string} [title] the whole text of a cell that may be cut
 */

/** @template T, V @typedef {import('./totals.js').Field<T, V>} Field */

/**
 * A column of times in one unit. Here and below, `more` replaces parts of the column.
 * @template T
 * @param {string} head @param {import('./format.js').Unit} unit @param {Field<T, number|null|undefined>} of
 * @param {Partial<Column<T>>} [more] @returns {Column<T>}
 */
export function timeColumn(head, unit, of, more) {
  const ps = accessor(of);
  return {
    key: head,
    head: `${head}, ${unit.name}`,
    number: true,
    value: (item) => ps(item) ?? -1,
    ps: (item) => Math.round(ps(item) ?? 0),
    cell: (item) => timeCell(ps(item), unit),
    ...more,
  };
}

/**
 * @template T
 * @param {string} head
 * @param {Field<T, number|null|undefined>} of
 * @param {Partial<Column<T>>} [more]
 * @returns {Column<T>}
 */
export const countColumn = (head, of, more) => ({
  head,
  number: true,
  value: (item) => accessor(of)(item) ?? -1,
  cell: (item) => count(accessor(of)(item)),
  ...more,
});

/**
 * @template T
 * @param {string} head
 * @param {Field<T, number|null|undefined>} of a part from 0 to 1
 * @param {Partial<Column<T>>} [more]
 * @returns {Column<T>}
 */
export const shareColumn = (head, of, more) =>
  countColumn(head, of, { cell: (item) => share(accessor(of)(item)), ...more });

/**
 * @template T
 * @param {string} head
 * @param {Field<T, string|null|undefined>} of
 * @param {Partial<Column<T>>} [more]
 * @returns {Column<T>}
 */
export function textColumn(head, of, more) {
  const text = accessor(of);
  return {
    head,
    value: (item) => text(item) ?? '',
    title: (item) => text(item) ?? '',
    cell: (item) => text(item) ?? MISSING,
    ...more,
  };
}

/** The column of starts, in ms. @template T @param {Field<T, number|null|undefined>} of @returns {Column<T>} */
export const startColumn = (of) => timeColumn('Start', UNITS.ms, of, { key: 'start' });

/**
 * Parts of a whole: columns of their times and shares, rounded so that both add up, and the sum for the foot.
 * @template T
 * @param {string} head
 * @param {T[]} items
 * @param {Field<T, number>} of
 * @param {(text: string, item: T) => Node|string} [show] draws a time
 */
export function partColumns(head, items, of, show = (text) => text) {
  const ps = accessor(of);
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
 * A sum over all hosts, marked as a lower limit while hosts are still being read.
 * @param {import('./dom.js').Child} text
 */
export const sumText = (text) => h('span', { class: 'sum' }, text);

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
 * @param {string} options.label the table's name for screen readers
 * @param {string} [options.testid]
 * @param {Column<T>[]} options.columns
 * @param {T[]} options.items in order of time
 * @param {boolean} [options.fixed] the order has a meaning, so no column sorts
 * @param {string} [options.sort] `key` ascending or `-key` descending; by default the order of `items`
 * @param {(Node|string)[]} [options.foot] one sum row: cells in the order of the columns
 * @param {(item: T) => void} [options.open] Enter and double click
 * @param {(item: T) => void} [options.select] Space and click
 * @param {(item: T) => boolean} [options.selected]
 * @param {(order: string) => void} [options.ordered] called after the user sorted
 * @param {(item: T) => T[]} [options.parts] rows that follow an open row
 * @param {(item: T) => string} [options.group] items come in groups, in the order of `items`; each has a row above it
 * @param {(item: T) => string} [options.name] a row's name for screen readers; its cells by default
 * @param {(item: T) => string} [options.rowid] test id of a row
 * @param {(item: T) => string} [options.key] its `data-key`
 */
export function sortableTable({
  label,
  testid,
  columns,
  items,
  fixed,
  sort,
  foot,
  open,
  select,
  selected,
  ordered,
  parts,
  group,
  name,
  rowid,
  key,
}) {
  const keyOf = (/** @type {Column<T>} */ { key: columnKey, head }) => columnKey ?? head;
  const sorts = (/** @type {Column<T>} */ { value }) => Boolean(value && !fixed);
  let order = sort ?? '';
  let shown = items;
  // Created once: a head that was pressed to sort keeps the focus while rows are redrawn.
  const heads = columns.map((column) => headCell(column));
  const body = h('tbody', null);
  const element = h(
    'table',
    { 'aria-label': label, 'data-testid': testid, 'aria-rowcount': items.length + 1 },
    h('thead', null, h('tr', null, heads)),
    body,
  );
  if (foot) {
    element.append(
      h(
        'tfoot',
        null,
        h('tr', null, ...foot.map((cell, index) => h('td', { class: columns[index].number && 'num' }, cell))),
      ),
    );
  }
  const scroller = h('div', { class: 'scroll' }, element);
  const long = items.length > MAX_ROWS_DRAWN;

  function arrange() {
    const column = columns.find((candidate) => candidate.value && keyOf(candidate) === order.replace('-', ''));
    shown = column?.value ? sorted(items, column.value, order.startsWith('-')) : items;
    if (group) {
      const ranks = new Map([...new Set(items.map(group))].map((text, rank) => [text, rank]));
      shown = sorted(shown, (item) => ranks.get(group(item)) ?? 0, false);
    }
    if (parts) shown = shown.flatMap((item) => [item, ...parts(item)]);
    columns.forEach((candidate, at) => {
      const columnKey = keyOf(candidate);
      if (sorts(candidate)) {
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
      { class: column.number && 'num', scope: 'col' },
      !sorts(column)
        ? column.head || h('span', { class: 'hidden' }, column.name)
        : button(column.head, () => {
            order = order === descending || (order !== ascending && !column.number) ? ascending : descending;
            arrange();
            ordered?.(order);
          }),
    );
  }

  /** The focused row, and the index of its focused button; -1: the row itself has the focus. */
  function focused() {
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
    const focus = focused();
    const rowHeight = body.querySelector('[data-index]')?.clientHeight || 24;
    const from = long ? Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - 20) : 0;
    const to = long
      ? Math.min(shown.length, from + Math.ceil((scroller.clientHeight || 600) / rowHeight) + 40)
      : shown.length;
    const rows = shown.slice(from, to).map((item, index) => bodyRow(item, from + index));
    const entry = (selected && rows.find((_, index) => selected(shown[from + index]))) ?? rows[0];
    if (entry) stopAt(entry);
    const grouped = rows.map((row, index) =>
      group && group(shown[from + index]) !== (index && group(shown[from + index - 1]))
        ? [groupRow(group(shown[from + index])), row]
        : [row],
    );
    fill(body, spacer(from * rowHeight), grouped.flat(), spacer((shown.length - to) * rowHeight));
    const refocused = focus && rows.find(({ dataset }) => dataset.index === focus.index);
    (refocused?.querySelectorAll('button')[focus?.button ?? -1] ?? refocused)?.focus();
  }

  /**
   * The row that Tab leads to, and then to the buttons in it; arrow keys lead to other rows.
   * @type {HTMLElement|null}
   */
  let stop = null;
  /** @param {HTMLElement} row */
  function stopAt(row) {
    if (!select) return;
    for (const tableRow of [stop, row]) {
      [tableRow, ...(tableRow?.querySelectorAll('button') ?? [])].forEach((focusable) => {
        if (focusable) focusable.tabIndex = tableRow === row ? 0 : -1;
      });
    }
    stop = row;
  }
  body.addEventListener('focusin', ({ target }) => {
    const row = /** @type {HTMLElement|null} */ (/** @type {Element} */ (target).closest('tr[data-index]'));
    if (row) stopAt(row);
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
      'data-testid': rowid?.(item),
      'data-key': key?.(item),
      onclick: select && (() => select(item)),
      ondblclick: open && (() => open(item)),
    });
    row.append(
      ...columns.map(({ number, ps, title, cell }) =>
        h('td', { class: number && 'num', 'data-ps': ps?.(item), title: title?.(item) }, cell(item)),
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
    let next = row[side];
    if (next?.classList.contains('group')) next = next[side];
    if (next instanceof HTMLElement && next.dataset.index) next.focus();
  }
  const itemOf = (/** @type {HTMLElement} */ row) => shown[Number(row.dataset.index)];
  onKeys(element, 'tr', {
    Enter: (row) => (open ?? select)?.(itemOf(row)),
    ' ': (row) => select?.(itemOf(row)),
    ArrowDown: (row) => move(row, 'nextElementSibling'),
    ArrowUp: (row) => move(row, 'previousElementSibling'),
  });
  if (long) scroller.addEventListener('scroll', drawBody, { passive: true });
  arrange();
  /** `refresh` redraws the rows after a change of the selection or of open rows. */
  return { element: scroller, refresh: arrange };
}

/**
 * The order of a view's main table, which is in the link unless it is the usual one.
 * @param {import('./link.js').Link} link @param {string} usual
 */
export const linkedOrder = (link, usual) => ({
  sort: link.state.o || usual, ordered: (/** @type {string} */ o) => link.set({ o: o === usual ? '' : o }, 'push') });

/**
 * Keys of a search field over a table: Enter leads into the rows, Escape clears the field and does the same.
 * @param {HTMLInputElement} search @param {Element} list holds the table @param {() => void} cleared
 */
export function bindSearchKeys(search, list, cleared) {
  const enter = () => /** @type {HTMLElement|null} */ (list.querySelector('tr[tabindex="0"]'))?.focus();
  onKeys(search, '*', {
    Enter: enter,
    Escape() {
      search.value = '';
      cleared();
      enter();
    },
  });
}

/**
 * A table that is drawn once.
 * @template T
 * @param {Parameters<typeof sortableTable<T>>[0]} options @returns {HTMLElement}
 */
export const table = (options) => sortableTable(options).element;
