/** The panel of an event: path, times, stats, flow partners, occurrences. */

import { h, button } from '../lib/dom.js';
import { columnUnit, maximum } from '../lib/totals.js';
import { LABELS, classCell } from '../lib/classes.js';
import { count, instantText, rangeText, timeText } from '../lib/format.js';
import { startColumn, table, timeColumn } from '../lib/table.js';
import { annotationWork, launchesOf } from './panel-annotation.js';
import { eventColumn, eventLink, frameButton, quietColumn, tableButton } from './panel-parts.js';

/** @typedef {import('../lib/routes').EventDetails} EventDetails */
/** @typedef {import('./panel-parts.js').PanelActions} PanelActions */

/**
 * @param {EventDetails} detail
 * @param {PanelActions} act
 * @param {Node} hosts the table of the hosts in the event's collective; empty for other events
 * @returns {import('./panel-parts.js').PanelContent}
 */
export function eventContent(detail, act, hosts) {
  const { name, class: className, title, thread, host, path, path_left_out: leftOut } = detail;
  const { start_ps, duration_ps, self_ps } = detail;
  const back = act.back();
  const time = (/** @type {number} */ ps, text = timeText(ps)) => h('span', { 'data-ps': ps }, text);
  const separator = () => h('span', { 'aria-hidden': 'true' }, '›');
  // The server leaves out the middle of a long path.
  const crumbs = path.flatMap((summary, at) => [
    ...(leftOut && at === path.length / 2
      ? [h('span', { class: 'secondary' }, `… ${count(leftOut)} more …`), separator()]
      : []),
    eventLink(summary, act),
    separator(),
  ]);
  /** @type {[string, import('../lib/dom.js').Child|Node[]][]} */
  const facts = [
    ['Long name', title && title !== name && h('code', null, title)],
    ['Path', h('div', { class: 'crumbs' }, crumbs, h('span', { class: 'secondary' }, name))],
    ['Class', className && h('span', null, classCell(className))],
    ['Start', time(start_ps, instantText(start_ps, 6))],
    ['Duration', time(duration_ps)],
    ['Own time', time(self_ps)],
    ['Thread', host ? `${thread} on ${host}` : thread],
    [className ? 'Launches' : 'Launched by', detail.launches.length > 0 && h('p', null, launchesOf(detail, act))],
  ];
  const [words, pieces] = detail.on_device ? annotationWork(detail, detail.on_device, act) : [];
  return {
    title: name,
    tags: className ? [LABELS[className]] : [],
    note: `${timeText(duration_ps)} · ${rangeText(start_ps, start_ps + duration_ps)} · ${thread}`,
    buttons: [
      ...(back ? [button('Back to the gap', back, { 'data-testid': 'back-to-gap' })] : []),
      frameButton(act),
      tableButton(act),
    ],
    body: h(
      'div',
      { class: 'columns' },
      h(
        'section',
        null,
        words,
        h(
          'dl',
          { class: 'facts' },
          (words ? facts.filter(([head]) => head === 'Path') : facts).flatMap(([head, value]) =>
            value ? [h('dt', null, head), h('dd', null, value)] : [],
          ),
        ),
        occurrences(detail, act),
      ),
      h('section', null, hosts, pieces, words ? null : flows(detail, act), stats(detail)),
    ),
  };
}

/** The highest bar of the durations of occurrences. */
const MAX_BAR_PX = 30;

/** The events with the same name. @param {EventDetails} detail @param {PanelActions} act */
function occurrences({ occurrences: details, name, duration_ps }, act) {
  const { durations_ps, count: occurrenceCount, index, mean_ps, min_ps, max_ps } = details;
  const longest_ps = maximum(durations_ps, 1);
  const stepButton = (/** @type {'previous'|'next'} */ direction, /** @type {string} */ text) => {
    const event = details[direction];
    return button(
      text,
      () => {
        if (event) act.open(event);
      },
      { 'aria-label': `${direction === 'next' ? 'Next' : 'Previous'} occurrence`, disabled: !event },
    );
  };
  return h(
    'div',
    { 'data-testid': 'occurrences' },
    h(
      'div',
      { class: 'row' },
      h('h3', null, 'Occurrences'),
      h(
        'span',
        { class: 'secondary' },
        `${count(index + 1)} of ${count(occurrenceCount)} · mean ${timeText(mean_ps)} · ${timeText(min_ps)} to ` +
        `${timeText(max_ps)}`,
      ),
      h('span', { class: 'grow' }),
      stepButton('previous', '‹'),
      stepButton('next', '›'),
    ),
    occurrenceCount > 1 &&
      h(
        'div',
        { class: 'spark', role: 'img', 'aria-label': `Durations of ${name}, this one ${timeText(duration_ps)}` },
        durations_ps.map((ps, at) =>
          h('i', {
            class: at === index && durations_ps.length === occurrenceCount && 'on',
            title: timeText(ps),
            style: { height: `${Math.max(1, (ps / longest_ps) * MAX_BAR_PX)}px` },
          }),
        ),
      ),
  );
}

/** @param {EventDetails} detail @param {PanelActions} act */
function flows({ flow }, act) {
  const items = [
    ...flow.from.map((event) => ({ event, direction: 'from' })),
    ...flow.to.map((event) => ({ event, direction: 'to' })),
  ];
  const leftOut = flow.left_out ? ` of ${count(items.length + flow.left_out)}` : '';
  return items.length > 0 && h(
    'div',
    { 'data-testid': 'flow-partners' },
    h('h3', null, `Flow partners, ${count(items.length)}${leftOut}`),
    table({
      label: 'Flow partners',
      items,
      open: ({ event }) => act.open(event),
      select: ({ event }) => act.select(event),
      columns: [
        quietColumn('Flow', 'direction'),
        eventColumn('Event', ({ event }) => event, act),
        quietColumn('Thread', ({ event }) => event.thread),
        startColumn(({ event }) => event.start_ps),
        timeColumn(
          'Time',
          columnUnit(items, ({ event }) => event.duration_ps),
          ({ event }) => event.duration_ps,
        ),
      ],
    }),
  );
}

/** @param {EventDetails} detail */
function stats({ stats: items }) {
  return items.length > 0 && h(
    'div',
    { class: 'stats', 'data-testid': 'event-stats' },
    h('h3', null, `Stats, ${count(items.length)}`),
    table({
      label: 'Stats',
      items,
      columns: [
        quietColumn('Name', 'name'),
        { head: 'Value', cell: ({ value }) => value },
      ],
    }),
  );
}
