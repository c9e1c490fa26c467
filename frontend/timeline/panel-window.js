/** The panel of a window of time: what every class, thread and device did in it. */

import { h, button } from '../lib/dom.js';
import { LABELS } from '../lib/classes.js';
import { columnUnit, count, deviceTimeCell, rangeText, share, timeCell, timeText } from '../lib/format.js';
import { table } from '../lib/table.js';
import { partsTable, stackedBar } from './parts.js';
import { classMark, eventLink, frameButton, tableButton } from './panel-parts.js';

/** @typedef {import('../lib/types').WindowAnswer} WindowAnswer */
/** @typedef {import('../lib/types').ClassName} ClassName */
/** @typedef {import('./panel-parts.js').PanelActions} PanelActions */

/**
 * @param {WindowAnswer} received @param {PanelActions} act @param {string[]} hosts chosen ones; empty: all
 * @param {Map<string, string>} labels of rows: threads are called here as on the canvas
 * @returns {import('./panel-parts.js').PanelContent}
 */
export function windowContent(received, act, hosts, labels) {
  const answer = { ...received, threads: received.threads.map((thread) => ({ ...thread, name: labels.get(thread.row) ?? thread.name })) };
  const host = answer.hosts.find((own) => hosts.includes(own.host)) ?? answer.hosts[0];
  const right = h('section', null,
    answer.devices.length ? devicesTable(answer) : null, threadsTable(answer, act), topTable(answer, act));
  return {
    title: `Window of ${timeText(answer.duration_ps)}`,
    note: rangeText(answer.start_ps, answer.end_ps),
    buttons: [frameButton(act), tableButton(act)],
    body: h('div', { class: 'columns' }, hostPart(answer, host?.host ?? ''), right),
  };
}

/** @param {WindowAnswer} answer @param {string} host */
function hostPart(answer, host) {
  const section = h('section', { 'data-testid': 'window-breakdown' });
  const parts = answer.hosts.find((own) => own.host === host)?.by_class_ps ?? answer.by_class_ps;
  const threads = answer.threads.filter((thread) => !host || thread.host === host);
  const where = (/** @type {ClassName} */ name) => {
    const most = threads.reduce((best, thread) => ((thread.by_class_ps[name] ?? 0) > (best?.by_class_ps[name] ?? 0) ? thread : best),
      /** @type {WindowAnswer['threads'][number]|null} */ (null));
    return name === 'unrecorded' ? '' : most?.name ?? '';
  };
  if (answer.hosts.length > 1) {
    section.append(h('div', { class: 'row' }, h('span', { class: 'muted' }, 'Host'), ...answer.hosts.map((own) => button(own.host,
      () => section.replaceWith(hostPart(answer, own.host)), { 'aria-pressed': String(own.host === host) }))));
  }
  section.append(stackedBar(parts), partsTable(parts, 'Window', where));
  return section;
}

/** @param {WindowAnswer} answer */
function devicesTable({ devices, duration_ps, hosts }) {
  const unit = columnUnit([duration_ps]);
  return h('div', { 'data-testid': 'window-devices' }, table({
    label: 'Devices in the window', items: devices,
    columns: [
      { key: 'name', head: 'Device', value: ({ name }) => name, cell: ({ name, host }) => (hosts.length > 1 ? `${name} · ${host}` : name) },
      { key: 'bar', head: 'Busy in the window', cell: ({ busy_ps }) => shareBar(busy_ps / duration_ps) },
      { key: 'share', head: 'Share', number: true, value: ({ busy_ps }) => busy_ps, cell: ({ busy_ps }) => share(busy_ps / duration_ps) },
      { key: 'busy', head: `Busy, ${unit.name}`, number: true, value: ({ busy_ps }) => busy_ps, ps: ({ busy_ps }) => busy_ps, cell: ({ busy_ps }) => deviceTimeCell(busy_ps, unit) },
      { key: 'stall', head: `of it stalled, ${unit.name}`, number: true, value: ({ stall_ps }) => stall_ps, ps: ({ stall_ps }) => stall_ps, cell: ({ stall_ps }) => deviceTimeCell(stall_ps, unit) },
      { key: 'idle', head: `Idle, ${unit.name}`, number: true, value: ({ idle_ps }) => idle_ps, ps: ({ idle_ps }) => idle_ps, cell: ({ idle_ps }) => deviceTimeCell(idle_ps, unit) },
      { key: 'ops', head: 'Ops', number: true, value: ({ ops }) => ops, cell: ({ ops }) => count(ops) },
    ],
  }));
}

/** @param {WindowAnswer} answer @param {PanelActions} act */
function threadsTable({ threads, duration_ps }, act) {
  const unit = columnUnit([duration_ps]);
  const most = (/** @type {WindowAnswer['threads'][number]} */ { by_class_ps }) => (
    /** @type {ClassName[]} */ (Object.keys(by_class_ps)).filter((name) => name !== 'unrecorded')
      .sort((a, b) => (by_class_ps[b] ?? 0) - (by_class_ps[a] ?? 0))[0] ?? null);
  return h('div', { 'data-testid': 'window-threads' }, table({
    label: 'Threads in the window', items: threads,
    columns: [
      { key: 'name', head: 'Thread', value: ({ name }) => name, title: ({ name }) => name,
        cell: ({ name, row }) => button(name, () => act.row(row), { class: 'link' }) },
      { key: 'role', head: 'Role', value: ({ role }) => role, cell: ({ role }) => h('span', { class: 'sec' }, role.replace('_', ' ')) },
      { key: 'class', head: 'Mostly', cell: (thread) => { const name = most(thread); return name ? [...classMark(name), LABELS[name] ?? ''] : ''; } },
      { key: 'busy', head: `Busy, ${unit.name}`, number: true, value: ({ busy_ps }) => busy_ps, ps: ({ busy_ps }) => busy_ps, cell: ({ busy_ps }) => timeCell(busy_ps, unit) },
      { key: 'share', head: 'Share', number: true, value: ({ busy_ps }) => busy_ps, cell: ({ busy_ps }) => share(busy_ps / duration_ps) },
      { key: 'events', head: 'Events', number: true, value: ({ events }) => events, cell: ({ events }) => count(events) },
    ],
  }));
}

/** @param {WindowAnswer} answer @param {PanelActions} act */
function topTable({ top }, act) {
  const unit = columnUnit(top.map(({ total_ps }) => total_ps));
  return h('div', { 'data-testid': 'window-top' }, table({
    label: 'Events that take most time', items: top, sort: '-self', open: ({ longest }) => act.open(longest), select: ({ longest }) => act.select(longest),
    columns: [
      { key: 'name', head: 'Event, the longest', value: ({ name }) => name, cell: (item) => [...classMark(item.class), eventLink({ ...item.longest, name: item.name }, act)] },
      { key: 'count', head: 'Count', number: true, value: (item) => item.count, cell: (item) => count(item.count) },
      { key: 'total', head: `Time, ${unit.name}`, number: true, value: ({ total_ps }) => total_ps, ps: ({ total_ps }) => total_ps, cell: ({ total_ps }) => timeCell(total_ps, unit) },
      { key: 'self', head: `Without parts, ${unit.name}`, number: true, value: ({ self_ps }) => self_ps, ps: ({ self_ps }) => self_ps, cell: ({ self_ps }) => timeCell(self_ps, unit) },
    ],
  }));
}

/** @param {number} part from 0 to 1 */
function shareBar(part) {
  const fill = h('i', null);
  fill.style.width = `${Math.min(1, part) * 100}%`;
  return h('span', { class: 'bar' }, fill);
}
