/** The card of device time by annotation: its tree, and a note on ops without FLOP counts. */

import { toneColor } from '../lib/annotation-tones.js';
import { button, h, onKeys } from '../lib/dom.js';
import { chip } from '../lib/classes.js';
import { card, lengthBar, link, windowLinkState } from '../lib/cards.js';
import { digits, share, unitFor } from '../lib/format.js';
import { outerPath } from '../lib/path-names.js';
import { TABLES } from '../lib/table-definitions.js';
import { total } from '../lib/totals.js';
import { BOUND_WORDS, divisor, isInRow, roundTree } from './rows.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').TreeRow} TreeRow */
/**
 * @typedef {object} TreeState
 * @property {string|undefined} selectedKey
 * @property {Set<string>} collapsed keys of collapsed rows
 * @property {Map<string, number>} tones
 * @property {(key: string) => void} select
 * @property {() => void} redraw
 * @property {(state: import('../lib/link.js').LinkState) => void} open
 */

const TITLE = 'Device work by annotation';

/**
 * The chip in an annotation's tone, which the dots of its ops also have.
 * @param {string|null} path
 * @param {Map<string, number>} tones
 * @param {boolean} [hasNested] whether the row has nested ones, which have tones of their own
 */
export function toneChip(path, tones, hasNested) {
  const tone = path === null ? undefined : tones.get(path);
  if (path === null) return chip('', 'no-annotation');
  return chip(tone === undefined || hasNested ? 'surface' : toneColor(tone));
}

/** @param {import('../lib/routes').BoundBy} bound */
export const boundCell = (bound) =>
  bound === 'unknown' ? h('span', { class: 'muted' }, BOUND_WORDS[bound]) : BOUND_WORDS[bound];

/** Rows that are not inside a collapsed one. @param {TreeRow[]} rows @param {Set<string>} collapsed */
export const visibleRows = (rows, collapsed) =>
  rows.filter(({ path, key }) => ![...collapsed].some((outerKey) => key !== outerKey && isInRow(path, outerKey)));

/** Trees with more rows are collapsed at first, except for about `MAX_ROWS_AT_FIRST` rows. */
const MAX_EXPANDED_ROWS = 40;
const MAX_ROWS_AT_FIRST = 20;

/**
 * Keys of the rows collapsed at first: none if there are few rows, else those of all rows but the ones with most time.
 * @param {TreeRow[]} rows
 */
export function collapsedAtFirst(rows) {
  const isLong = rows.length > MAX_EXPANDED_ROWS;
  const collapsed = new Set(rows.flatMap(({ hasNested, key }) => (isLong && hasNested ? [key] : [])));
  /** The rows directly inside each row; under null the outermost ones. @type {Map<TreeRow|null, TreeRow[]>} */
  const nestedRows = new Map();
  /** The latest row of each depth. @type {TreeRow[]} */
  const latest = [];
  for (const row of rows) {
    latest[row.depth] = row;
    const parent = row.depth ? latest[row.depth - 1] : null;
    nestedRows.get(parent)?.push(row) ?? nestedRows.set(parent, [row]);
  }
  const byTime = (/** @type {TreeRow} */ a, /** @type {TreeRow} */ b) => b.ps - a.ps;
  let candidates = [...nestedRows.get(null) ?? []].sort(byTime);
  let visibleCount = candidates.length;
  while (collapsed.size && candidates.length) {
    const row = /** @type {TreeRow} */ (candidates.shift());
    const children = nestedRows.get(row) ?? [];
    if (children.length > 1 && visibleCount + children.length > MAX_ROWS_AT_FIRST) continue;
    collapsed.delete(row.key);
    visibleCount += children.length;
    if (children.length) candidates = [...candidates, ...children].sort(byTime);
  }
  return collapsed;
}

/**
 * @param {DeviceAnswer} document
 * @param {TreeRow[]} rows
 * @param {boolean} showsRates whether any op has rates
 * @param {TreeState} state
 */
export function treeTable(document, rows, showsRates, { selectedKey, collapsed, tones, select, redraw, open }) {
  const total_ps = document.total.self_ps / divisor(document);
  const unit = unitFor(total_ps);
  const rounded = roundTree(rows);
  const numberCell = (/** @type {any} */ content, /** @type {number|null} */ ps = null) =>
    h('td', { class: 'numeric', 'data-ps': ps === null ? null : Math.round(ps) }, content);
  const tableRows = visibleRows(rows, collapsed).map((row) => {
    const { key, name, path, depth, hasNested, interval, ps } = row;
    const { thousandths, share: roundedShare } = rounded.get(row) ?? { thousandths: 0, share: 0 };
    const time = digits(thousandths / 1000, 3);
    return h(
      'tr',
      {
        'data-key': key,
        'data-testid': `device-ann-${path === null ? 'no_annotation' : key}`,
        tabindex: -1,
        'aria-level': depth + 1,
        'aria-expanded': hasNested ? String(!collapsed.has(key)) : null,
        'aria-selected': String(key === selectedKey),
        onclick: () => select(key),
      },
      h(
        'td',
        { title: path ?? '', style: { 'padding-left': `${7 + depth * 14 + (hasNested ? 0 : 14)}px` } },
        hasNested &&
          h(
            'span',
            {
              class: 'twist',
              onclick: (/** @type {Event} */ event) => {
                event.stopPropagation();
                toggle(key);
              },
            },
            collapsed.has(key) ? '▸' : '▾',
          ),
        toneChip(path, tones, hasNested),
        h('span', { class: row.isOwnTime ? 'secondary' : '' }, name),
      ),
      numberCell(
        interval ? link(time, () => open(windowLinkState(...interval)), { title: 'Show in the timeline' }) : time,
        ps,
      ),
      h(
        'td',
        null,
        h(
          'div',
          { class: 'share' },
          lengthBar(total_ps ? ps / total_ps : 0),
          h('span', { class: 'numeric' }, share(roundedShare || (total_ps ? ps / total_ps : 0))),
        ),
      ),
      showsRates && [
        numberCell(share(row.flops_share)),
        numberCell(share(row.bytes_share)),
        h('td', null, boundCell(row.bound_by)),
      ],
    );
  });
  const tabStop = tableRows.find(({ dataset }) => dataset.key === selectedKey) ?? tableRows[0];
  if (tabStop) tabStop.tabIndex = 0;

  /** @param {string} key */
  function toggle(key) {
    if (!collapsed.delete(key)) collapsed.add(key);
    redraw();
  }

  const { path: pathDefinition, self_ps, share: shareDefinition, ...rates } = TABLES.work_by_annotation;
  const heads = [
    pathDefinition.head,
    `${self_ps.head}, ${unit.name}`,
    shareDefinition.head,
    ...(showsRates ? [rates.flops_share.head, rates.bytes_share.head, rates.bound_by.head] : []),
  ];
  const { total: sums } = document;
  const sum = digits(
    total(
      rows.filter(({ hasNested }) => !hasNested),
      (/** @type {TreeRow} */ row) => rounded.get(row)?.thousandths,
    ) / 1000,
    3,
  );
  const element = h(
    'table',
    { class: 'tight', role: 'treegrid', 'aria-label': TITLE, 'data-testid': 'device-tree' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        heads.map((text) => h('th', { scope: 'col', class: /Time|of peak/.test(text) ? 'numeric' : null }, text)),
      ),
    ),
    h('tbody', null, tableRows),
    h(
      'tfoot',
      null,
      h(
        'tr',
        { 'data-testid': 'device-sum' },
        h('td', null, 'All ops'),
        numberCell(sum, total_ps),
        h(
          'td',
          null,
          h('div', { class: 'share' }, h('span', null), h('span', { class: 'numeric' }, share(total_ps ? 1 : null))),
        ),
        showsRates && [numberCell(share(sums.flops_share)), numberCell(share(sums.bytes_share)), h('td', null)],
      ),
    ),
  );
  const focus = (/** @type {number} */ index) => tableRows[index]?.focus();
  onKeys(element, 'tr', {
    ArrowDown: (/** @type {HTMLTableRowElement} */ row) => focus(tableRows.indexOf(row) + 1),
    ArrowUp: (row) => focus(tableRows.indexOf(row) - 1),
    ArrowRight: ({ ariaExpanded, dataset: { key = '' } }) => {
      if (ariaExpanded === 'false') toggle(key);
    },
    ArrowLeft({ ariaExpanded, dataset: { key = '' } }) {
      if (ariaExpanded === 'true') toggle(key);
      else {
        const outer = outerPath(key, new Set(tableRows.map(({ dataset }) => dataset.key ?? '')));
        focus(tableRows.findIndex(({ dataset }) => dataset.key === outer));
      }
    },
    ' ': ({ dataset: { key = '' } }) => select(key),
    Enter: ({ dataset: { key = '' } }) => select(key),
  });
  return element;
}

/**
 * The note on ops without a FLOP count and on ops that are not drawn.
 * @param {DeviceAnswer} document
 * @param {boolean} showsAdvice
 * @param {() => void} toggle
 */
export function unknownNote({ notes }, showsAdvice, toggle) {
  const advice =
    notes.flop_advice &&
    button('How to add one', toggle, {
      class: 'link',
      'aria-expanded': String(showsAdvice),
      'data-testid': 'device-advice',
    });
  return h(
    'div',
    { class: 'small secondary device-unknown', 'data-testid': 'device-unknown' },
    h(
      'p',
      null,
      notes.not_counted && [notes.not_counted, ' ', advice && [advice, '. ']].flat(),
      notes.stated && `${notes.stated} `,
      notes.not_work && `${notes.not_work} `,
      notes.not_drawn,
    ),
    notes.flop_advice && showsAdvice && h('p', null, notes.flop_advice),
  );
}

/** @param {Node} tree @param {Node} note */
export const treeCard = (tree, note) =>
  card(TITLE, { note: 'own time of ops', class: 'device-tree-card' }, h('div', { class: 'scroll' }, tree), note);
