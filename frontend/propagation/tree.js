/** The tree of annotations: host and device time on one scale, and whether each was found on the device. */

import { h, onKeys } from '../lib/dom.js';
import { maximum, total } from '../lib/totals.js';
import { chip } from '../lib/classes.js';
import { lengthBar, link, windowLinkState } from '../lib/cards.js';
import { count, MISSING, timeCell, unitFor } from '../lib/format.js';
import { TABLES } from '../lib/table-definitions.js';

/** @typedef {import('../lib/routes').PropagationAnswer} PropagationAnswer */
/** @typedef {import('../lib/routes').AnnotationNode} AnnotationNode */
/** @typedef {import('./types').Interval} Interval */
/**
 * @typedef {'step_'|'mean_'|''} Mode prefix of the times' keys: of the step, of the mean step, of the whole
 *   capture
 */
/**
 * @typedef {object} TreeState
 * @property {Mode} mode @property {string|null} selectedPath
 * @property {Set<string>} collapsed paths of collapsed rows
 * @property {(row: AnnotationNode) => string} tone a colour of the style sheet
 * @property {(path: string) => void} select
 * @property {(path: string|null) => void} highlight @property {() => void} redraw
 * @property {import('../frame/app.js').App} app
 */

/** Whether a path is nested in another. @param {string} path @param {string} outer */
export const isInside = (path, outer) => path.startsWith(`${outer}/`);

/**
 * The rows that are not inside a collapsed one, each with whether it has nested rows.
 * @param {AnnotationNode[]} rows each before its nested rows
 * @param {Set<string>} collapsed
 */
export function shownRows(rows, collapsed) {
  let collapsedPath = '';
  return rows.flatMap((row, index) => {
    if (collapsedPath && isInside(row.path, collapsedPath)) return [];
    collapsedPath = collapsed.has(row.path) ? row.path : '';
    return [{ row, hasNested: isInside(rows[index + 1]?.path ?? '', row.path) }];
  });
}

/**
 * A row's times in a mode; a mean has no number of ops.
 * @param {Record<string, any>} row
 * @param {Mode} mode
 * @returns {{host: number, device: number, ops: number|undefined}}
 */
export const valuesOf = (row, mode) => ({
  host: row[`${mode}host_ps`] ?? 0,
  device: row[`${mode}device_ps`],
  ops: row[`${mode}device_ops`],
});

/** The label of the sum row. @type {Record<Mode, string>} */
const SUM_LABELS = { step_: 'All ops', mean_: 'All ops, mean step', '': 'All ops, all devices' };

/** @param {PropagationAnswer} answer @param {TreeState} state */
export function treeTable(
  { tree, unannotated, order, phase_rows: strips, words },
  { mode, selectedPath, collapsed, tone, select, highlight, redraw, app },
) {
  const unannotatedValues = valuesOf(unannotated, mode);
  const outermost = tree.filter(({ depth }) => !depth).map((row) => valuesOf(row, mode));
  const sum = total([unannotatedValues, ...outermost], 'device');
  const longest = maximum(
    [unannotatedValues, ...outermost].flatMap(({ host, device }) => [host, device]),
    1,
  );
  const unit = unitFor(Math.max(sum, longest));
  const cell = (/** @type {any} */ content) => h('td', { class: 'numeric' }, content);
  const time = (/** @type {number} */ ps, /** @type {Interval|null|undefined} */ interval) =>
    h(
      'td',
      { class: ps ? 'numeric' : 'numeric muted', 'data-ps': ps },
      ps && interval ? link(timeCell(ps, unit), () => app.open(windowLinkState(...interval))) : timeCell(ps, unit),
    );
  const bars = ({ host, device } = unannotatedValues) =>
    h(
      'td',
      { class: 'bar-pair', 'aria-hidden': 'true' },
      lengthBar(host / longest, 'var(--ink)'),
      lengthBar(device / longest, 'var(--dev)'),
    );

  const rows = shownRows(tree, collapsed).map(({ row, hasNested }) => {
    const { path } = row;
    const values = valuesOf(row, mode);
    return h(
      'tr',
      {
        'data-path': path,
        'data-testid': `annotation-${path}`,
        tabindex: -1,
        'aria-level': row.depth + 1,
        'aria-expanded': hasNested ? String(!collapsed.has(path)) : null,
        'aria-selected': String(path === selectedPath),
        onclick: () => select(path),
        onmouseenter: () => highlight(path),
        onmouseleave: () => highlight(null),
        onfocus: () => highlight(path),
        onblur: () => highlight(null),
      },
      h(
        'td',
        { title: path, style: { 'padding-left': `${8 + row.depth * 16 + (hasNested ? 0 : 11)}px` } },
        hasNested
          ? h(
              'span',
              {
                class: 'twist',
                onclick: (/** @type {Event} */ event) => {
                  event.stopPropagation();
                  toggle(path);
                },
              },
              collapsed.has(path) ? '▸' : '▾',
            )
          : null,
        chip(tone(row)),
        row.name,
        row.thread && !row.depth ? h('span', { class: 'secondary small' }, ` on ${row.thread}`) : null,
      ),
      row.kind === 'scope' ? cell(MISSING) : time(values.host, row.host_interval),
      time(values.device, row.device_interval),
      bars(values),
      cell(count(values.ops)),
      mode ? null : [cell(count(row.executions)), cell(count(row.programs))],
      h(
        'td',
        null,
        row.lost
          ? [h('span', { class: 'tag warning' }, 'lost'), h('span', { class: 'secondary small' }, ` ${row.lost}`)]
          : row.device_ps
            ? h('span', { class: 'tag good' }, 'found')
            : MISSING,
      ),
    );
  });
  const tabStop = rows.find(({ dataset }) => dataset.path === selectedPath) ?? rows[0];
  if (tabStop) tabStop.tabIndex = 0;

  /** @param {string} path */
  function toggle(path) {
    if (!collapsed.delete(path)) collapsed.add(path);
    redraw();
  }

  /** The phase that stands for work without an annotation. */
  const unannotatedPhase = mode === 'step_' ? order.by_phase.find(({ phase }) => phase === null) : null;
  const runs = mode === 'step_' ? strips.device : [];
  const { path: pathDefinition, host_ps, device_ps, executions } = TABLES.annotations;
  const decimals = [100, 10, 1].findIndex((min) => longest >= min * unit.ps);
  const heads = [
    pathDefinition.head,
    `${host_ps.head}, ${unit.name}`,
    `${device_ps.head}, ${unit.name}`,
    `0 – ${timeCell(longest, unit, decimals < 0 ? 3 : decimals)} ${unit.name}`,
    'Ops',
    ...(mode ? [] : [executions.head, 'Programs']),
    'On the device',
  ];
  /** The last cells of a row of the foot. @param {string|undefined} text */
  const lastCells = (text) =>
    [mode ? null : [h('td', null), h('td', null)], h('td', { class: 'secondary small' }, text)].flat();
  const element = h(
    'table',
    { class: mode ? null : 'tight', role: 'treegrid', 'aria-label': 'Annotations', 'data-testid': 'annotation-tree' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        heads.map((text, index) =>
          h('th', { scope: 'col', class: [0, 3, heads.length - 1].includes(index) ? null : 'numeric' }, text),
        ),
      ),
    ),
    h('tbody', null, rows),
    h(
      'tfoot',
      null,
      h(
        'tr',
        { class: 'rest', 'data-testid': 'annotation-none' },
        h('td', null, chip(''), 'no annotation'),
        cell(MISSING),
        time(unannotatedValues.device, unannotatedPhase && [unannotatedPhase.start_ps, unannotatedPhase.end_ps]),
        bars(),
        cell(count(unannotatedValues.ops)),
        lastCells([...new Set([words.bare, words.none])].join(' and ')),
      ),
      h(
        'tr',
        null,
        h('td', null, SUM_LABELS[mode]),
        h('td', null),
        time(sum, runs[0] && [runs[0].start_ps, maximum(runs.map(({ end_ps }) => end_ps))]),
        h('td', null),
        cell(count(mode === 'mean_' ? null : total([unannotatedValues, ...outermost], 'ops'))),
        lastCells(''),
      ),
    ),
  );
  const focus = (/** @type {number} */ index) => rows[index]?.focus();
  onKeys(element, 'tr', {
    ArrowDown: (/** @type {HTMLTableRowElement} */ row) => focus(rows.indexOf(row) + 1),
    ArrowUp: (row) => focus(rows.indexOf(row) - 1),
    ArrowRight: ({ ariaExpanded, dataset: { path = '' } }) => {
      if (ariaExpanded === 'false') toggle(path);
    },
    ArrowLeft({ ariaExpanded, dataset: { path = '' } }) {
      if (ariaExpanded === 'true') toggle(path);
      else focus(rows.findLastIndex(({ dataset }) => dataset.path && isInside(path, dataset.path)));
    },
    ' ': ({ dataset: { path = '' } }) => select(path),
    Enter({ dataset }) {
      const row = tree.find(({ path }) => path === dataset.path);
      const interval = row?.host_interval ?? row?.device_interval;
      if (interval) app.open(windowLinkState(...interval));
    },
  });
  return element;
}
