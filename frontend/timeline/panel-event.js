/** The panel of one event: where it stands, its times, its stats, its flow partners, its occurrences. */

import { h, button } from '../lib/dom.js';
import { LABELS } from '../lib/classes.js';
import { bytes, columnUnit, count, digits, placeText, rangeText, timeCell, timeText } from '../lib/format.js';
import { table } from '../lib/table.js';
import { classMark, eventLink, frameButton, tableButton } from './panel-parts.js';

/** @typedef {import('../lib/types').EventDetail} EventDetail */
/** @typedef {import('./panel-parts.js').PanelActions} PanelActions */

/** @param {EventDetail} detail @param {PanelActions} act @returns {import('./panel-parts.js').PanelContent} */
export function eventContent(detail, act) {
  const end = detail.start_ps + detail.duration_ps;
  const body = h('div', { class: 'columns' },
    h('section', null, facts(detail, act), occurrences(detail, act)),
    h('section', null, flows(detail, act), stats(detail)));
  return {
    title: detail.name, body,
    tags: [detail.class ? LABELS[detail.class] : ''].filter(Boolean),
    note: `${timeText(detail.duration_ps)} · ${rangeText(detail.start_ps, end)} · ${detail.thread}`,
    buttons: [frameButton(act), tableButton(act)],
  };
}

/** @param {EventDetail} detail @param {PanelActions} act */
function facts(detail, act) {
  const crumbs = detail.path.flatMap((brief) => [eventLink(brief, act), h('span', { 'aria-hidden': 'true' }, '›')]);
  const entry = (/** @type {string} */ name, /** @type {Node|string} */ value) => [h('dt', null, name), h('dd', null, value)];
  const time = (/** @type {number} */ ps, /** @type {string} */ text) => h('span', { 'data-ps': ps }, text);
  return h('dl', { class: 'facts' },
    detail.title && detail.title !== detail.name ? entry('Long name', h('code', null, detail.title)) : [],
    entry('Path', h('div', { class: 'crumbs' }, crumbs, h('span', { class: 'sec' }, detail.name))),
    detail.class ? entry('Class', h('span', null, classMark(detail.class), LABELS[detail.class])) : [],
    entry('Start', time(detail.start_ps, placeText(detail.start_ps, 6))),
    entry('Duration', time(detail.duration_ps, timeText(detail.duration_ps))),
    entry('Without parts', time(detail.self_ps, timeText(detail.self_ps))),
    entry('Thread', detail.host ? `${detail.thread} on ${detail.host}` : detail.thread));
}

/** @param {EventDetail} detail @param {PanelActions} act */
function occurrences({ occurrences: all, name, duration_ps }, act) {
  const most = Math.max(1, ...all.durations_ps);
  const here = all.durations_ps.length === all.count ? all.index : -1;
  const bars = all.durations_ps.map((ps, index) => {
    const bar = h('i', { class: index === here ? 'on' : null, title: timeText(ps) });
    bar.style.height = `${Math.max(1, (ps / most) * 30)}px`;
    return bar;
  });
  const { previous, next } = all;
  return h('div', { 'data-testid': 'occurrences' },
    h('div', { class: 'row' }, h('h3', null, 'Occurrences'),
      h('span', { class: 'sec' }, `${count(all.index + 1)} of ${count(all.count)} · mean ${timeText(all.mean_ps)} · ${timeText(all.min_ps)} to ${timeText(all.max_ps)}`),
      h('span', { class: 'grow' }),
      button('‹', () => { if (previous) act.open(previous); }, { 'aria-label': 'Previous occurrence', disabled: !previous }),
      button('›', () => { if (next) act.open(next); }, { 'aria-label': 'Next occurrence', disabled: !next })),
    all.count > 1 ? h('div', { class: 'spark', role: 'img', 'aria-label': `Durations of ${name}, this one ${timeText(duration_ps)}` }, bars) : null);
}

/** @param {EventDetail} detail @param {PanelActions} act */
function flows({ flow }, act) {
  const items = [...flow.from.map((brief) => ({ brief, way: 'launched by' })), ...flow.to.map((brief) => ({ brief, way: 'launches' }))];
  if (!items.length) return h('div', { 'data-testid': 'flow-partners' }, h('h3', null, 'Flow partners'), h('p', { class: 'muted' }, 'No flow from or to this event is recorded.'));
  const unit = columnUnit(items.map(({ brief }) => brief.duration_ps));
  return h('div', { 'data-testid': 'flow-partners' }, h('h3', null, `Flow partners, ${count(items.length)}`), table({
    label: 'Flow partners', items, open: ({ brief }) => act.open(brief), select: ({ brief }) => act.select(brief),
    columns: [
      { key: 'way', head: 'Flow', cell: ({ way }) => h('span', { class: 'sec' }, way) },
      { key: 'name', head: 'Event', value: ({ brief }) => brief.name, cell: ({ brief }) => [...classMark(brief.class), eventLink(brief, act)] },
      { key: 'thread', head: 'Thread', value: ({ brief }) => brief.thread, cell: ({ brief }) => h('span', { class: 'sec' }, brief.thread) },
      { key: 'start', head: 'Start, ms', number: true, value: ({ brief }) => brief.start_ps, ps: ({ brief }) => brief.start_ps, cell: ({ brief }) => digits(brief.start_ps / 1e9, 3) },
      { key: 'time', head: `Time, ${unit.name}`, number: true, value: ({ brief }) => brief.duration_ps, ps: ({ brief }) => brief.duration_ps, cell: ({ brief }) => timeCell(brief.duration_ps, unit) },
    ],
  }));
}

/** @param {EventDetail} detail */
function stats({ stats: all }) {
  const text = (/** @type {EventDetail['stats'][number]} */ { value, kind }) => (
    kind === 'bytes' && /^\d+$/.test(value) ? bytes(Number(value)) : value);
  return h('div', { class: 'stats', 'data-testid': 'event-stats' }, h('h3', null, `Stats, ${count(all.length)}`),
    all.length ? table({
      label: 'Stats', items: all,
      columns: [
        { key: 'name', head: 'Name', value: ({ name }) => name, cell: ({ name }) => h('span', { class: 'sec' }, name) },
        { key: 'value', head: 'Value', cell: (stat) => text(stat) },
      ],
    }) : h('p', { class: 'muted' }, 'This event has no stats.'));
}
