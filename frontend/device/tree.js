/** The tree of device time by annotation, and a note on ops without FLOP counts. */

import { button, h, onKeys } from '../lib/dom.js';
import { chip } from '../lib/classes.js';
import { card, lengthBar, link, windowLinkState } from '../lib/cards.js';
import { digits, plural, share, timeText, unitFor } from '../lib/format.js';
import { TABLES } from '../lib/table-definitions.js';
import { total } from '../lib/totals.js';
import { BOUND_WORDS, divisor, hasRates, isOf, treeTexts } from './rows.js';
import { placed } from './layout.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').TreeRow} TreeRow */
/** @typedef {import('./types').OpRow} OpRow */
/**
 * @typedef {object} TreeState
 * @property {string|undefined} an key of the selected row
 * @property {Set<string>} closed keys of collapsed rows
 * @property {Map<string, number>} tones
 * @property {(key: string) => void} select
 * @property {() => void} redraw
 * @property {(place: import('../lib/link.js').LinkState) => void} open
 */

/**
 * The chip with an annotation's tone, the same as its dots'.
 * @param {string|null} path
 * @param {Map<string, number>} tones
 * @param {boolean} [parent]
 */
export function toneChip(path, tones, parent) {
  const tone = path === null ? undefined : tones.get(path);
  return path === null ? chip('', 'no-annotation') : chip(tone === undefined || parent ? 'surface' : `p${tone + 1}`);
}

/** @param {import('../lib/routes').BoundBy} bound */
export const boundCell = (bound) =>
  bound === 'unknown' ? h('span', { class: 'muted' }, BOUND_WORDS[bound]) : BOUND_WORDS[bound];

/** Rows that are not inside a collapsed one. @param {TreeRow[]} rows @param {Set<string>} closed */
export const openRows = (rows, closed) =>
  rows.filter(({ path, key }) => ![...closed].some((outer) => key !== outer && isOf(path, outer)));

const MANY_ROWS = 40;
/** Rows shown at first, if there are many. */
const AT_FIRST = 20;

/**
 * Keys of the rows collapsed at first: none of few rows; of many, those with most time stay open up to `AT_FIRST`.
 * @param {TreeRow[]} rows
 */
export function closedAtFirst(rows) {
  const closed = new Set(rows.length > MANY_ROWS ? rows.flatMap(({ parent, key }) => (parent ? [key] : [])) : []);
  /** @type {Map<number, TreeRow[]>} */
  const inside = new Map();
  /** @type {number[]} */
  const around = [];
  rows.forEach((row, at) => {
    around[row.depth] = at;
    const place = row.depth ? around[row.depth - 1] : -1;
    inside.get(place)?.push(row) ?? inside.set(place, [row]);
  });
  const places = new Map(rows.map((row, at) => [row, at]));
  const byTime = (/** @type {TreeRow} */ a, /** @type {TreeRow} */ b) => b.ps - a.ps;
  let waiting = [...inside.get(-1) ?? []].sort(byTime);
  let openCount = waiting.length;
  while (closed.size && waiting.length) {
    const row = /** @type {TreeRow} */ (waiting.shift());
    const children = inside.get(places.get(row) ?? -1) ?? [];
    if (children.length > 1 && openCount + children.length > AT_FIRST) continue;
    closed.delete(row.key);
    openCount += children.length;
    if (children.length) waiting = [...waiting, ...children].sort(byTime);
  }
  return closed;
}

/**
 * @param {DeviceAnswer} document
 * @param {TreeRow[]} rows
 * @param {boolean} shares whether any op has rates
 * @param {TreeState} state
 */
export function treeTable(document, rows, shares, { an, closed, tones, select, redraw, open }) {
  const totalPs = document.total.self_ps / divisor(document);
  const unit = unitFor(totalPs);
  const texts = treeTexts(rows);
  const number = (/** @type {any} */ content, /** @type {number|null} */ ps = null) =>
    h('td', { class: 'num', 'data-ps': ps === null ? null : Math.round(ps) }, content);
  const cells = openRows(rows, closed).map((row) => {
    const { key, name, path, depth, parent, place, ps } = row;
    const { text, share: part } = texts.get(row) ?? { text: 0, share: 0 };
    const time = digits(text / 1000, 3);
    return h(
      'tr',
      {
        'data-key': key,
        'data-testid': `device-ann-${path === null ? 'no_annotation' : key}`,
        tabindex: -1,
        'aria-level': depth + 1,
        'aria-expanded': parent ? String(!closed.has(key)) : null,
        'aria-selected': String(key === an),
        onclick: () => select(key),
      },
      h(
        'td',
        { title: path ?? '', style: { 'padding-left': `${7 + depth * 14 + (parent ? 0 : 14)}px` } },
        parent &&
          h(
            'span',
            {
              class: 'twist',
              onclick: (/** @type {Event} */ event) => {
                event.stopPropagation();
                toggle(key);
              },
            },
            closed.has(key) ? '▸' : '▾',
          ),
        toneChip(path, tones, parent),
        h('span', { class: row.own ? 'sec' : '' }, name),
      ),
      number(place ? link(time, () => open(windowLinkState(...place)), { title: 'Show in the timeline' }) : time, ps),
      h(
        'td',
        null,
        h(
          'div',
          { class: 'share' },
          lengthBar(totalPs ? ps / totalPs : 0),
          h('span', { class: 'num' }, share(part || (totalPs ? ps / totalPs : 0))),
        ),
      ),
      shares && [
        number(share(row.flops_share)),
        number(share(row.bytes_share)),
        h('td', null, boundCell(row.bound_by)),
      ],
    );
  });
  const entry = cells.find(({ dataset }) => dataset.key === an) ?? cells[0];
  if (entry) entry.tabIndex = 0;

  /** @param {string} key */
  function toggle(key) {
    if (!closed.delete(key)) closed.add(key);
    redraw();
  }

  const { path: pathDefinition, self_ps, share: shareDefinition, ...rates } = TABLES.work_by_annotation;
  const heads = [
    pathDefinition.head,
    `${self_ps.head}, ${unit.name}`,
    shareDefinition.head,
    ...(shares ? [rates.flops_share.head, rates.bytes_share.head, rates.bound_by.head] : []),
  ];
  const { total: sums } = document;
  const sum = digits(
    total(
      rows.filter(({ parent }) => !parent),
      (/** @type {TreeRow} */ row) => texts.get(row)?.text,
    ) / 1000,
    3,
  );
  const element = h(
    'table',
    { class: 'tight', role: 'treegrid', 'aria-label': 'What the device works on', 'data-testid': 'device-tree' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        heads.map((text) => h('th', { scope: 'col', class: /Time|of peak/.test(text) ? 'num' : null }, text)),
      ),
    ),
    h('tbody', null, cells),
    h(
      'tfoot',
      null,
      h(
        'tr',
        { 'data-testid': 'device-sum' },
        h('td', null, 'All ops'),
        number(sum, totalPs),
        h(
          'td',
          null,
          h('div', { class: 'share' }, h('span', null), h('span', { class: 'num' }, share(totalPs ? 1 : null))),
        ),
        shares && [number(share(sums.flops_share)), number(share(sums.bytes_share)), h('td', null)],
      ),
    ),
  );
  const focus = (/** @type {number} */ at) => cells[at]?.focus();
  onKeys(element, 'tr', {
    ArrowDown: (/** @type {HTMLTableRowElement} */ row) => focus(cells.indexOf(row) + 1),
    ArrowUp: (row) => focus(cells.indexOf(row) - 1),
    ArrowRight: ({ ariaExpanded, dataset: { key = '' } }) => {
      if (ariaExpanded === 'false') toggle(key);
    },
    ArrowLeft({ ariaExpanded, dataset: { key = '' } }) {
      if (ariaExpanded === 'true') toggle(key);
      else focus(cells.findIndex(({ dataset }) => dataset.key === key.slice(0, key.lastIndexOf('/'))));
    },
    ' ': ({ dataset: { key = '' } }) => select(key),
    Enter: ({ dataset: { key = '' } }) => select(key),
  });
  return element;
}

const ADVICE =
  'Your own kernel can state its cost: pl.pallas_call(…, cost_estimate=pl.CostEstimate(flops=…, ' +
  'transcendentals=…, bytes_accessed=…)). The compiler writes it into the custom call, so the next capture has it.';
const MAX_NAMED = 3;

/**
 * The note on ops without a FLOP count and on ops that are not drawn.
 * @param {DeviceAnswer} document
 * @param {OpRow[]} rows
 * @param {boolean} explained
 * @param {() => void} toggle
 */
export function unknownNote(document, rows, explained, toggle) {
  const { total: { self_ps, flops_unknown_ps, other_ps, flops_known_ps }, ops_without_flops: unknown } = document;
  const divideBy = divisor(document);
  const part = (/** @type {number} */ ps) => `${timeText(ps / divideBy)}, ${share(self_ps ? ps / self_ps : null)}`;
  // Ops of different programs may share a name.
  const named = [...new Set(unknown.map(({ op }) => op))].slice(0, MAX_NAMED);
  const more = unknown.filter(({ op }) => !named.includes(op)).length;
  const names = more
    ? `${named.join(', ')} and ${unknown.length < 20 ? plural(more, 'more op') : 'others'}`
    : named.length > 1
      ? `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`
      : (named[0] ?? '');
  const empty = rows.filter((row) => row.kind === 'work' && row.flops !== null && !placed([row]).length);
  const hasDots = placed(rows).length > 0;
  const tpu = document.peaks.devices.every(({ kind }) => kind.startsWith('TPU'));
  const custom =
    tpu &&
    rows.some(({ category, flops, kind }) => kind === 'work' && flops === null && category.startsWith('custom-call'));
  const several = unknown.length > 1;
  return h(
    'div',
    { class: 'small sec device-unknown', 'data-testid': 'device-unknown' },
    h(
      'p',
      null,
      hasRates(rows) &&
        flops_known_ps > 0 &&
        flops_unknown_ps > 0 &&
        [
          `${names} ${several ? 'have' : 'has'} no FLOP count (${part(flops_unknown_ps)}). ` +
          `${several ? 'They count' : 'It counts'} as 0, so MFU is a lower bound` +
          `${hasDots ? `, and ${several ? 'are' : 'is'} not in the picture` : ''}. `,
          custom && [
            button('How to add one', toggle, {
              class: 'link',
              'aria-expanded': String(explained),
              'data-testid': 'device-advice',
            }),
            '. ',
          ],
        ].flat(),
      other_ps > 0 && `Collectives, transfers and waits compute nothing (${part(other_ps)}). `,
      hasDots &&
        empty.length > 0 &&
        `Of the ${share(flops_known_ps / self_ps)} with a FLOP count, ${plural(empty.length, 'op')} without FLOPs or ` +
        `HBM traffic, such as copies, cannot be drawn (${part(total(empty, 'ps') * divideBy)}).`,
    ),
    custom && explained && h('p', null, ADVICE),
  );
}

/** @param {Node} tree @param {Node} unknown */
export const treeCard = (tree, unknown) =>
  card(
    'What the device works on',
    { note: 'by annotation, own time of ops', class: 'device-tree-card' },
    h('div', { class: 'scroll' }, tree),
    unknown,
  );

