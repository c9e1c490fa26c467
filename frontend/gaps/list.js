/** The list of gaps: gaps at the same time on several cores are one row, which opens into a row per core. */

import { button, h } from '../lib/dom.js';
import { columnUnit, maximum, total } from '../lib/totals.js';
import {
  classColor,
  cutProgram,
  deviceName,
  kindTag,
  lengthBar,
  linkedColumn,
  shortProgram,
  showButton,
} from '../lib/cards.js';
import { definedColumn } from '../lib/defined-column.js';
import { count, MISSING, plural } from '../lib/format.js';
import { gapText } from '../lib/link.js';
import { TABLES } from '../lib/table-definitions.js';
import { linkedOrder, sortableTable, textColumn, timeColumn } from '../lib/table.js';
import { causeLabel, causeOf, reasonCell } from './cause.js';
import { rowOf, stepOf } from './group.js';

/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('./group.js').GapRow} GapRow */

/**
 * @typedef {object} ListOptions
 * @property {import('../frame/app.js').App['link']} link
 * @property {Map<string, import('../lib/types').Device>} devices by id
 * @property {unknown[]} hosts of the session
 * @property {Record<string, string>} findings titles of findings by id
 * @property {Set<string>} openRows link texts of the first gaps of open rows
 * @property {(gap: GapItem) => void} select
 * @property {(gap: GapItem) => void} show in the timeline
 * @property {(rowCount: number) => void} onRowCount called at first, and when rows open or close
 */

/** Below this width of the window names are cut shorter. */
const NARROW_BELOW_PX = 1200;

/**
 * @param {GapRow[]} groups
 * @param {ListOptions} options
 */
export function gapsTable(groups, { link, devices, hosts, findings, openRows, select, show, onRowCount }) {
  const unit = columnUnit(groups, 'mean_ps');
  const longest_ps = maximum(groups.map(({ mean_ps }) => mean_ps));
  const linkedGap = link.state.sel;
  const linkedGroup = groups.find(({ gap, gaps }) => gaps.some((item) => item !== gap && gapText(item) === linkedGap));
  if (linkedGroup) openRows.add(gapText(linkedGroup.gap));
  const isOpen = (/** @type {GapRow} */ row) => row.gaps.length > 1 && openRows.has(gapText(row.gap));
  const nameOf = (/** @type {string} */ id) => {
    const device = devices.get(id);
    return device ? deviceName(device, hosts) : id;
  };
  const reportRowCount = () => onRowCount(groups.length + total(groups.filter(isOpen), ({ gaps }) => gaps.length));

  /** The title of the finding that the gap's panel shows first. @param {GapItem} gap */
  const reasonOf = ({ reason }) => (reason ? findings[reason] : undefined);
  const causeText = (/** @type {GapItem} */ gap) =>
    [causeLabel(causeOf(gap)), reasonOf(gap)].filter(Boolean).join(': ');

  /** Rows of single cores, the same ones whenever a row opens. @type {Map<GapRow, GapRow[]>} */
  const coreRowsOf = new Map();
  /** @param {GapRow} row */
  function innerRows(row) {
    if (!isOpen(row)) return [];
    const coreRows = coreRowsOf.get(row) ?? row.gaps.map((gap) => rowOf([gap], row));
    coreRowsOf.set(row, coreRows);
    return coreRows;
  }

  /** `4 cores · w-5`: with their host, in sessions with several. @param {GapRow} row */
  function coresText({ gap, gaps }) {
    const host = devices.get(gap.device)?.host;
    return `${count(gaps.length)} cores${hosts.length > 1 && host !== undefined ? ` · ${host}` : ''}`;
  }

  /** @param {GapRow} row */
  function deviceCell(row) {
    if (row.parent) return h('span', { class: 'inner' }, nameOf(row.gap.device));
    if (row.gaps.length < 2) return nameOf(row.gap.device);
    const key = gapText(row.gap);
    const toggle = () => {
      if (!openRows.delete(key)) openRows.add(key);
      table.refresh();
      reportRowCount();
    };
    return button(
      h('span', { class: 'muted', 'aria-hidden': 'true' }, isOpen(row) ? '▾' : '▸'),
      toggle,
      { class: 'fold', 'aria-expanded': String(isOpen(row)) },
      coresText(row),
    );
  }

  const table = sortableTable({
    label: 'Gaps',
    testid: 'gap-list',
    items: groups,
    ...linkedOrder(link, '-time'),
    innerRows,
    rowTestid: () => 'gap-row',
    open: ({ gap }) => show(gap),
    select: ({ gap }) => {
      select(gap);
      table.refresh();
    },
    selected: (row) => gapText(row.gap) === link.state.sel && (row.parent !== null || !isOpen(row)),
    columns: [
      linkedColumn(
        definedColumn(TABLES.gaps.start_ps, { field: (/** @type {GapRow} */ { gap }) => gap.start_ps }),
        ({ gap }) => show(gap),
      ),
      timeColumn('Time (mean)', unit, 'mean_ps', {
        key: 'time',
        title: (/** @type {GapRow} */ { gaps }) => (gaps.length > 1 ? `Mean of ${plural(gaps.length, 'core')}` : ''),
      }),
      {
        head: '',
        name: 'Bar',
        cell: ({ mean_ps, gap }) =>
          h('span', { class: 'wide-bar' }, lengthBar(mean_ps / longest_ps, classColor(gap.cause))),
      },
      definedColumn(TABLES.gaps.device, {
        field: (/** @type {GapRow} */ row) => (row.gaps.length > 1 ? coresText(row) : nameOf(row.gap.device)),
        cell: deviceCell,
        title: undefined,
      }),
      definedColumn(TABLES.gaps.step, {
        field: (/** @type {GapRow} */ { gap }) => gap.step_number ?? gap.step,
        cell: ({ gap }) => stepOf(gap) || MISSING,
      }),
      definedColumn(TABLES.gaps.kind, {
        field: (/** @type {GapRow} */ { gap }) => gap.kind,
        cell: ({ gap }) => kindTag(gap.kind),
        title: undefined,
      }),
      definedColumn(TABLES.gaps.cause, {
        value: (/** @type {GapRow} */ { gap }) => causeText(gap),
        title: ({ gap }) => causeText(gap),
        cell: ({ gap }) => reasonCell(causeOf(gap), reasonOf(gap)),
      }),
      definedColumn(TABLES.gaps.by_class_ps),
      textColumn('Before → after', ({ gap }) => programsText(gap), {
        key: 'ends',
        cell: ({ gap }) =>
          h(
            'span',
            { class: 'secondary' },
            programsText(gap, innerWidth < NARROW_BELOW_PX ? shortProgram : cutProgram),
          ),
      }),
      { head: '', name: 'Show', number: true, cell: ({ gap }) => showButton(() => show(gap), 'gap-show') },
    ],
  });
  reportRowCount();
  return table;
}

/**
 * The programs that run before and after a gap.
 * @param {Pick<GapItem, 'before'|'after'|'inside_run'>} gap
 * @param {(program: string|null) => string} name formats a program's name, by default in full
 */
export const programsText = ({ before, after, inside_run }, name = (program) => program ?? MISSING) =>
  inside_run ? `inside ${name(after)}` : `${name(before)} → ${name(after)}`;
