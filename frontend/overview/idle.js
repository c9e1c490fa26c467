/**
 * What the host did while the devices were idle, per step and core: a bar, and a table whose sum row equals the
 * verdict's idle figure if all devices are selected.
 */

import { h } from '../lib/dom.js';
import { LABELS, SHORT_GAPS, classCell } from '../lib/classes.js';
import { total } from '../lib/totals.js';
import { card, coreCountText, emptyCard, link, windowLinkState } from '../lib/cards.js';
import { roundTimes } from '../lib/rounded-parts.js';
import { share } from '../lib/format.js';
import { definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { partColumns, sumText, table } from '../lib/table.js';
import { stackedBar } from '../timeline/panel-parts.js';
import { NO_SELECTED_DEVICE } from './duty.js';
import { idleParts } from './step-idle.js';

/** @typedef {import('../lib/routes').ClassName} ClassName */
/** @typedef {import('./step-idle.js').IdlePart} IdlePart */

/**
 * @param {import('../lib/views').DutyDevice[]} allDevices
 * @param {import('../lib/views').DeviceTime[]} times
 * @param {import('../lib/routes').Overview} answer
 * @param {HTMLElement|null} line of devices that agree @param {import('../frame/app.js').App} app
 */
export function idleCard(allDevices, times, { step_idle, gap_causes, counts, steps }, line, app) {
  if (!allDevices.length) {
    return emptyCard(
      'Idle time by cause',
      'Idle time needs a device plane, and this capture has none.',
      'The timeline shows what the host did.',
    );
  }
  const devices = app.selectedDevices(allDevices);
  if (!devices.length) return card('Idle time by cause', {}, h('p', null, NO_SELECTED_DEVICE));
  const items = idleParts(app.selectedDevices(times));
  const basis = `${step_idle.steps ? 'per core, mean of all steps' : 'per core, first to last run'}` +
    `${devices.length < allDevices.length ? `, ${coreCountText(allDevices.length, devices.length)}` : ''}`;
  if (!items.length) {
    const text = `No core is idle ${step_idle.steps ? 'in a whole step' : 'between its first and its last run'}.`;
    return card('Idle time by cause', { note: basis, class: 'idle' }, h('p', null, text), line);
  }
  const { start_ps: [start], duration_ps: [duration] } = steps.columns;
  const label = (/** @type {ClassName|null} */ name) => (name ? LABELS[name] : SHORT_GAPS);
  /**
   * Shows the gaps that a class causes or, if the session has no gaps, the first step; null otherwise.
   * @param {ClassName} name
   */
  const actionOf = (name) => {
    if (gap_causes.includes(name)) {
      const state = { v: 'gaps', f: `cause:${name}`, sel: '' };
      return { title: `Gaps caused by ${label(name)}`, run: () => app.open(state) };
    }
    if (counts.gaps || start === undefined) return null;
    return { title: 'The first step in the timeline', run: () => app.open(windowLinkState(start, start + duration)) };
  };
  const byClass = Object.fromEntries(items.flatMap(({ name, ps }) => (name ? [[name, ps]] : [])));
  const bar = stackedBar(byClass, (name) => actionOf(name)?.run);
  /** A class's time, as a link if it has an action. @param {ClassName} name @param {string} text */
  const linkToClass = (name, text) => {
    const action = actionOf(name);
    return action ? link(text, action.run, { title: action.title }) : text;
  };
  const { class: classDefinition, idle_ps, all_cores_ps } = TABLES.idle;
  const mean = partColumns(idle_ps.head, items, 'ps', (text, { name }) => (name ? linkToClass(name, text) : text));
  const sum = partColumns(all_cores_ps.head, items, 'all_ps');
  return card(
    'Idle time by cause',
    { note: `${mean.unit.name} ${basis}`, class: 'idle' },
    h('div', { 'data-testid': 'idle-bar' }, bar),
    h(
      'div',
      { class: 'fill' },
      table({
        label: 'Idle time by cause',
        testid: 'idle-table',
        items,
        sort: `-${idle_ps.head}`,
        columns: [
          definedColumn(classDefinition, {
            value: (/** @type {IdlePart} */ { name }) => label(name),
            cell: ({ name }) => (name ? classCell(name) : h('span', { class: 'secondary' }, label(name))),
          }),
          mean.time,
          mean.share,
          sum.time,
        ],
        foot: [idle_ps.head, mean.sum, share(1), sumText(sum.sum)],
      }),
    ),
    edgesNote(times, items, sum.unit, app),
    line,
  );
}

/**
 * A sentence on the idle time before a core's first run and after its last; null without such time.
 * @param {import('../lib/views').DeviceTime[]} times
 * @param {IdlePart[]} items
 * @param {import('../lib/format.js').Unit} unit of the column of all cores
 * @param {import('../frame/app.js').App} app
 */
function edgesNote(times, items, unit, app) {
  const edges = total(app.selectedDevices(times), 'edges_ps');
  const [edgesText, gapText] = roundTimes([edges, total(items, 'all_ps') - edges], unit).texts
    .map((text) => `${text}\u202f${unit.name}`);
  return edges
    ? h(
        'p',
        { class: 'small muted', 'data-testid': 'idle-edges' },
        `All cores: ${gapText} between first and last run, which Gaps lists, and ${edgesText} before or after.`,
      )
    : null;
}
