/** The tree of annotations: host and device time on one scale, and whether each was found on the device. */

import { h, onKeys } from '../lib/dom.js';
import { maximum, total } from '../lib/totals.js';
import { chip } from '../lib/classes.js';
import { lengthBar, link, windowLinkState } from '../lib/cards.js';
import { count, MISSING, timeCell, unitFor } from '../lib/format.js';
import { TABLES } from '../lib/table-definitions.js';

/** @typedef {import('../lib/routes').PropagationAnswer} PropagationAnswer */
/** @typedef {import('../lib/routes').AnnotationNode} AnnotationNode */
/** @typedef {import('./types').Place} Place */
/**
 * @typedef {'step_'|'mean_'|''} Mode prefix of the times' keys: of the step, of the mean step, of the whole
 *   capture
 */
/**
 * @typedef {object} TreeState
 * @property {Mode} mode @property {string|null} picked @property {Set<string>} closed paths of collapsed rows
 * @property {(row: AnnotationNode) => string} tone a colour of the style sheet
 * @property {(path: string) => void} pick @property {(path: string|null) => void} lift @property {() => void} redraw
 * @property {import('../frame/app.js').App} app
 */

/** Whether a path is nested in another. @param {string} path @param {string} outer */
export const isInside = (path, outer) => path.startsWith(`${outer}/`);

/**
 * The rows that are not inside a collapsed one, each with whether it has nested rows.
 * @param {AnnotationNode[]} rows each before its nested rows
 * @param {Set<string>} closed
 */
export function shownRows(rows, closed) {
  let hidden = '';
  return rows.flatMap((row, index) => {
    if (hidden && isInside(row.path, hidden)) return [];
    hidden = closed.has(row.path) ? row.path : '';
    return [{ row, parent: isInside(rows[index + 1]?.path ?? '', row.path) }];
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

/** @param {PropagationAnswer} answer @param {TreeState} state */
export function treeTable(
  { tree, unannotated, order, phase_rows: strips },
  { mode, picked, closed, tone, pick, lift, redraw, app },
) {
  const rest = valuesOf(unannotated, mode);
  const top = tree.filter(({ depth }) => !depth).map((row) => valuesOf(row, mode));
  const sum = total([rest, ...top], 'device');
  const longest = maximum(
    [rest, ...top].flatMap(({ host, device }) => [host, device]),
    1,
  );
  const unit = unitFor(Math.max(sum, longest));
  const cell = (/** @type {any} */ content) => h('td', { class: 'num' }, content);
  const time = (/** @type {number} */ ps, /** @type {Place|null|undefined} */ place) =>
    h(
      'td',
      { class: ps ? 'num' : 'num muted', 'data-ps': ps },
      ps && place ? link(timeCell(ps, unit), () => app.open(windowLinkState(...place))) : timeCell(ps, unit),
    );
  const bars = ({ host, device } = rest) =>
    h(
      'td',
      { class: 'duo', 'aria-hidden': 'true' },
      lengthBar(host / longest, 'var(--ink)'),
      lengthBar(device / longest, 'var(--dev)'),
    );

  const rows = shownRows(tree, closed).map(({ row, parent }) => {
    const { path } = row;
    const values = valuesOf(row, mode);
    return h(
      'tr',
      {
        'data-path': path,
        'data-testid': `annotation-${path}`,
        tabindex: -1,
        'aria-level': row.depth + 1,
        'aria-expanded': parent ? String(!closed.has(path)) : null,
        'aria-selected': String(path === picked),
        onclick: () => pick(path),
        onmouseenter: () => lift(path),
        onmouseleave: () => lift(null),
        onfocus: () => lift(path),
        onblur: () => lift(null),
      },
      h(
        'td',
        { title: path, style: { 'padding-left': `${8 + row.depth * 16 + (parent ? 0 : 11)}px` } },
        parent
          ? h(
              'span',
              {
                class: 'twist',
                onclick: (/** @type {Event} */ event) => {
                  event.stopPropagation();
                  toggle(path);
                },
              },
              closed.has(path) ? '▸' : '▾',
            )
          : null,
        chip(tone(row)),
        row.name,
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
          ? [h('span', { class: 'tag warning' }, 'lost'), h('span', { class: 'sec small' }, ` ${row.lost}`)]
          : row.device_ps
            ? h('span', { class: 'tag good' }, 'found')
            : MISSING,
      ),
    );
  });
  const entry = rows.find(({ dataset }) => dataset.path === picked) ?? rows[0];
  if (entry) entry.tabIndex = 0;

  /** @param {string} path */
  function toggle(path) {
    if (!closed.delete(path)) closed.add(path);
    redraw();
  }

  /** The intervals of the work without an annotation, and of the whole run. */
  const unscoped = mode === 'step_' ? order.by_phase.find(({ phase }) => phase === null) : null;
  const run = mode === 'step_' ? strips.device : [];
  const { path: pathDefinition, host_ps, device_ps, executions } = TABLES.annotations;
  const decimals = [100, 10, 1].findIndex((least) => longest >= least * unit.ps);
  const heads = [
    pathDefinition.head,
    `${host_ps.head}, ${unit.name}`,
    `${device_ps.head}, ${unit.name}`,
    `0 – ${timeCell(longest, unit, decimals < 0 ? 3 : decimals)} ${unit.name}`,
    'Ops',
    ...(mode ? [] : [executions.head, 'Programs']),
    'On the device',
  ];
  const last = (/** @type {string|undefined} */ text) =>
    [mode ? null : [h('td', null), h('td', null)], h('td', { class: 'sec small' }, text)].flat();
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
          h('th', { scope: 'col', class: [0, 3, heads.length - 1].includes(index) ? null : 'num' }, text),
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
        time(rest.device, unscoped && [unscoped.start_ps, unscoped.end_ps]),
        bars(),
        cell(count(rest.ops)),
        last('bare and none'),
      ),
      h(
        'tr',
        null,
        h('td', null, { step_: 'Device run', mean_: 'Mean of a step', '': 'All devices' }[mode]),
        h('td', null),
        time(sum, run[0] && [run[0].start_ps, maximum(run.map(({ end_ps }) => end_ps))]),
        h('td', null),
        cell(count(mode === 'mean_' ? null : total([rest, ...top], 'ops'))),
        last(''),
      ),
    ),
  );
  const focus = (/** @type {number} */ at) => rows[at]?.focus();
  onKeys(element, 'tr', {
    ArrowDown: (/** @type {HTMLTableRowElement} */ row) => focus(rows.indexOf(row) + 1),
    ArrowUp: (row) => focus(rows.indexOf(row) - 1),
    ArrowRight: ({ ariaExpanded, dataset: { path = '' } }) => {
      if (ariaExpanded === 'false') toggle(path);
    },
    ArrowLeft({ ariaExpanded, dataset: { path = '' } }) {
      if (ariaExpanded === 'true') toggle(path);
      else focus(rows.findIndex(({ dataset }) => dataset.path === path.slice(0, path.lastIndexOf('/'))));
    },
    ' ': ({ dataset: { path = '' } }) => pick(path),
    Enter({ dataset }) {
      const row = tree.find(({ path }) => path === dataset.path);
      const place = row?.host_interval ?? row?.device_interval;
      if (place) app.open(windowLinkState(...place));
    },
  });
  return element;
}
