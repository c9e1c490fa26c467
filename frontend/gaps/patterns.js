/** The table of recurring gaps. */

import { h, percent } from '../lib/dom.js';
import { columnUnit } from '../lib/totals.js';
import { cutName, classColor } from '../lib/cards.js';
import { definedColumn } from '../lib/defined-column.js';
import { count, MISSING, plural, share, timeCell } from '../lib/format.js';
import { TABLES } from '../lib/table-definitions.js';
import { shareColumn, sortableTable, timeColumn } from '../lib/table.js';
import { causeLabel, causeOf, reasonCell } from './cause.js';

/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('../lib/routes').GapPatternRow} GapPattern */
/** @typedef {import('./group.js').PatternRow} PatternRow */

/** Number of positions on the axis of the session. */
const TICKS = 200;

/**
 * Patterns with gaps, the one with most time first.
 * @param {PatternRow[]} recurring patterns in the order of their test ids
 * @param {(pattern: PatternRow) => GapItem[]} gapsOf
 * @param {{idle_ps: number, duration_ps: number, findings: Record<string, string>}} session idle time of the devices,
 *   length, and titles of findings by id
 * @param {{isChosen: (pattern: PatternRow) => boolean, choose: (pattern: PatternRow) => void,
 *   open: (gap: GapItem) => void}} on
 */
export function patternsTable(recurring, gapsOf, { idle_ps, duration_ps, findings }, { isChosen, choose, open }) {
  const items = recurring.filter(({ count: gapCount }) => gapCount);
  const gaps = new Map(items.map((pattern) => [pattern, gapsOf(pattern)]));
  const unit = columnUnit(items, 'total_ps');
  /** @param {'before'|'after'} key @param {string} [inside] the text for gaps inside a run */
  const program = (key, inside) =>
    definedColumn(TABLES.gap_patterns[key], {
      cell: (/** @type {PatternRow} */ pattern) =>
        inside && pattern.inside_run ? h('span', { class: 'secondary' }, inside) : cutName(pattern[key] ?? MISSING, 34),
    });
  return sortableTable({
    label: 'Recurring gaps',
    testid: 'gap-patterns',
    items,
    sort: '-total',
    rowTestid: (pattern) => `pattern-${recurring.indexOf(pattern)}`,
    select: choose,
    open: (pattern) => {
      const [gap] = gaps.get(pattern) ?? [];
      if (gap) open(gap);
    },
    selected: isChosen,
    columns: [
      program('before'),
      program('after', 'in the middle of its run'),
      definedColumn(TABLES.gap_patterns.cause, {
        value: (/** @type {PatternRow} */ pattern) => causeLabel(causeOf(pattern)),
        title: causesText,
        cell: (pattern) => causesCell(pattern, findings),
      }),
      definedColumn(TABLES.gap_patterns.count),
      definedColumn(TABLES.gap_patterns.total_ps, { timeUnit: unit }),
      timeColumn('Median', unit, 'median_ps'),
      definedColumn(TABLES.gap_patterns.mean_ps, { timeUnit: unit }),
      {
        head: `Min – max, ${unit.name}`,
        number: true,
        cell: ({ min_ps, max_ps }) => {
          const decimals = max_ps < unit.ps || min_ps < unit.ps / 20 ? 3 : 1;
          return [min_ps, max_ps].map((ps) => timeCell(ps, unit, decimals)).join(' – ');
        },
      },
      shareColumn('Of idle', (pattern) => pattern.total_ps / idle_ps),
      definedColumn(TABLES.gap_patterns.by_class_ps),
      { head: 'When, over the session', cell: (pattern) => ticks(pattern, gaps.get(pattern) ?? [], duration_ps) },
    ],
  });
}

/**
 * The cause with most time, the finding behind it, and the cause of most gaps if it differs.
 * @param {PatternRow} pattern
 * @param {Record<string, string>} findings titles by id
 */
function causesCell(pattern, findings) {
  const { causes, reason, count: gapCount } = pattern;
  const mainCause = causeOf(pattern);
  const mostFrequent = causes.find(({ count: gapsOfCause }) => 2 * gapsOfCause > gapCount);
  return h(
    'span',
    null,
    reasonCell(mainCause, findings[reason ?? '']),
    mostFrequent &&
      mostFrequent.cause !== mainCause &&
      h('small', { class: 'muted' }, `; most gaps: ${causeLabel(mostFrequent.cause)}`),
  );
}

/** `input: 80.2 % of the time, 44 of 704 gaps` @param {PatternRow} pattern */
const causesText = ({ causes, count: gaps, total_ps }) =>
  causes
    .map(
      ({ cause, count: gapsOfCause, ps }) =>
        `${causeLabel(cause)}: ${share(ps / total_ps)} of the time, ${count(gapsOfCause)} of ${plural(gaps, 'gap')}`,
    )
    .join('\n');

/**
 * Draws the gaps of a pattern on the session's axis.
 * @param {GapPattern} pattern
 * @param {GapItem[]} gaps
 * @param {number} duration_ps of the session
 */
const ticks = (pattern, gaps, duration_ps) =>
  h(
    'div',
    { class: 'ticks', 'aria-hidden': 'true' },
    [...new Set(gaps.map(({ start_ps }) => Math.round((start_ps / duration_ps) * TICKS)))].map((tick) =>
      h('i', { style: { left: percent(tick / TICKS), background: classColor(pattern.cause) } }),
    ),
  );
