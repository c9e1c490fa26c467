/** The panel below the lanes, with the details of the selection. The old content stays until they are loaded. */

import { h, fill, button } from '../lib/dom.js';
import { columnUnit, maximum, total } from '../lib/totals.js';
import { LABELS } from '../lib/classes.js';
import { count, plural, rangeText } from '../lib/format.js';
import { createLatestChannel, NOT_RECORDED } from '../lib/api.js';
import { startColumn, table, timeColumn } from '../lib/table.js';
import { collectiveContent } from './panel-collective.js';
import { eventContent } from './panel-event.js';
import { gapContent } from './panel-gap.js';
import { windowContent } from './panel-window.js';
import { eventColumn, quietColumn, tableButton } from './panel-parts.js';
import { escapeInvisible } from '../lib/escapes.js';

/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('../lib/api.js').RequestError} RequestError */
/** @typedef {import('./panel-parts.js').PanelActions} PanelActions */
/** @typedef {import('./panel-parts.js').PanelContent} PanelContent */
/** @typedef {import('./selection.js').Selection} Selection */
/**
 * Requests for the details of a selection, and actions on them.
 * @typedef {import('./panel-gap.js').GapActions & {
 *   fetchGap: (query: {session: string, device: string, start_ps: number}) =>
 *     Promise<import('../lib/routes').GapAnswer>,
 *   fetchCollective: (device: string, start_ps: number) => Promise<import('../lib/routes').CollectiveArrivals|null>,
 *   gapLoaded: (gap: import('../lib/routes').GapAnswer) => void,
 *   eventLoaded: (detail: import('../lib/routes').EventDetails) => void,
 *   failed: (error: RequestError) => void}} DetailActions
 */

/** The rows of a gap's table that the panel shows at least: the head, six rows, and in addition the sum. */
const VISIBLE_ROWS = 7;
const MARGIN_BELOW_PX = 9;
const MAX_TABLE_EVENTS = 500;

/**
 * @param {PanelActions} act
 * @param {DetailActions} on
 */
export function createPanel(act, on) {
  const title = h('h2', { id: 'panel-title', tabindex: -1 });
  const head = h('header', null, title);
  const element = h(
    'section',
    { class: 'panel', role: 'region', 'aria-labelledby': 'panel-title', 'data-testid': 'selection-panel' },
    head,
  );
  const channel = {
    event: createLatestChannel('event'),
    window: createLatestChannel('window'),
    table: createLatestChannel('table'),
  };
  /** The number of the newest request, the only one that may fill the panel. */
  let newestRequest = 0;

  /**
   * Returns a function that restores the focus in new content: to the row with the same index in the table of the same
   * name, to the button with the same name, else to the title.
   */
  function rememberFocus() {
    const active = document.activeElement;
    if (!active || active === element || !element.contains(active)) return () => {};
    const [label, index] = [active.closest('table')?.ariaLabel, active.closest('tr')?.dataset.index];
    const nameOf = (/** @type {Element} */ item) => item.getAttribute('data-testid') ?? item.textContent;
    const name = nameOf(active);
    return () => {
      const rows = [...element.querySelectorAll('table')].find(({ ariaLabel }) => label && ariaLabel === label);
      const successor = label
        ? rows?.querySelector(`tr[data-index="${index}"][tabindex]`)
        : [...element.querySelectorAll('button')].find((candidate) => nameOf(candidate) === name);
      /** @type {HTMLElement} */ (successor ?? title).focus();
    };
  }

  /** @param {PanelContent} content */
  function show({ title: text, tags = [], note, buttons = [], body }) {
    const restoreFocus = rememberFocus();
    title.textContent = title.title = escapeInvisible(text);
    fill(
      head,
      title,
      tags.map((tag) => (tag instanceof Node ? tag : h('span', { class: 'tag' }, tag))),
      note && h('span', { class: 'secondary' }, note),
      h('span', { class: 'grow' }),
      buttons,
    );
    element.replaceChildren(head, body);
    restoreFocus();
  }

  /** @param {Promise<any>} request @param {(answer: any) => PanelContent} content */
  async function load(request, content) {
    newestRequest += 1;
    const number = newestRequest;
    try {
      const answer = await request;
      if (number === newestRequest) show(content(answer));
    } catch (error) {
      if (number !== newestRequest) return;
      const failure = /** @type {RequestError} */ (error);
      if (failure.status === NOT_RECORDED) show({ title: failure.message, body: h('div', null) });
      else on.failed(failure);
    }
  }

  const panel = {
    element,
    /**
     * The height that the selected gap needs, px: its sentence, and of both tables the sum and at least
     * `VISIBLE_ROWS - 1` rows; 0 if no gap is selected.
     */
    get neededPx() {
      const top = element.getBoundingClientRect().top;
      return maximum([...element.querySelectorAll('.gap-body section')].map((section) => {
        const rows = [.../** @type {HTMLTableElement} */ (section.querySelector('table')).rows].map(
          (row) => row.offsetHeight,
        );
        const above = /** @type {Element} */ (section.lastElementChild).getBoundingClientRect().top - top;
        return (
          Math.ceil(above + total([...rows.slice(0, VISIBLE_ROWS), ...rows.slice(VISIBLE_ROWS).slice(-1)], Number)) +
          MARGIN_BELOW_PX
        );
      }), 0);
    },
    /** Leaves the session: pending requests become stale. */
    leave() { newestRequest += 1; },
    /**
     * Shows a selection; without one, a hint.
     * @param {Ready} session
     * @param {Selection|null} selection
     * @param {string[]} hosts names of the chosen hosts
     */
    select(session, selection, hosts) {
      element.classList.toggle('hint', !selection);
      if (!selection) {
        newestRequest += 1;
        show(hintContent(act));
        return;
      }
      const { name } = session.session;
      const { kind, row, depth, device, start_ps, end_ps, event } = selection;
      if (kind === 'merged') {
        const heading = `${count(selection.count)} events in one slice`;
        panel.list(session, selection, [row], heading, 'zoom in and select a shorter slice');
      } else if (kind === 'event') {
        // Requested by row and time, as in links. Events without their own slice are then requested by id.
        void load(
          channel.event.get({ session: name, row, start_ps, depth }).catch((error) => {
            if (event && error.status) return channel.event.get({ session: name, event });
            throw error;
          }),
          (answer) => {
            on.eventLoaded(answer);
            const { kind: rowKind, device: rowDevice } = session.rows.find(({ id }) => id === answer.row) ?? {};
            const participants = h('div', { 'data-testid': 'collective-hosts' });
            if (rowKind === 'ops' && rowDevice) {
              void on
                .fetchCollective(rowDevice, answer.start_ps)
                .then((collective) => fill(participants, collectiveContent(collective, answer, rowDevice, act)));
            }
            return eventContent(answer, act, participants);
          },
        );
      } else if (kind === 'gap') {
        void load(on.fetchGap({ session: name, device, start_ps }), (answer) => {
          on.gapLoaded(answer);
          return gapContent(answer, act, on);
        });
      } else {
        void load(channel.window.get({ ...session.query, start_ps, end_ps }), (answer) =>
          windowContent(answer, act, hosts, session.ranks && session.session.hosts[session.ranks.slowest].name),
        );
      }
    },
    /**
     * Shows the events of rows in a span as a table.
     * @param {Ready} session
     * @param {import('./scale.js').Span} span
     * @param {string[]} rows
     * @param {string} heading
     * @param {string} [advice] how to see events that the table lacks
     */
    list({ session }, { start_ps, end_ps }, rows, heading, advice = 'zoom in') {
      element.classList.remove('hint');
      return load(
        channel.table.get({
          session: session.name,
          start_ps: Math.round(start_ps),
          end_ps: Math.round(end_ps),
          rows: rows.join(','),
          limit: MAX_TABLE_EVENTS,
        }),
        (answer) => listContent(heading, rangeText(start_ps, end_ps), answer, act, advice),
      );
    },
  };
  return panel;
}

/**
 * A table of events.
 * @param {string} title
 * @param {string} range the span, as text
 * @param {import('../lib/routes').EventTable} answer
 * @param {PanelActions} act
 * @param {string} advice how to see events that the table lacks
 * @returns {PanelContent}
 */
function listContent(title, range, { items, count: eventCount }, act, advice) {
  const body = table({
    label: title, testid: 'timeline-table', items, open: act.open, select: act.select,
    columns: [
      quietColumn('Row', ({ row }) => act.rowLabel(row)),
      eventColumn('Event', (event) => event, act),
      quietColumn(
        'Class',
        (/** @type {import('../lib/routes').EventSummary} */ { class: className }) => className && LABELS[className],
      ),
      startColumn('start_ps'),
      timeColumn('Time', columnUnit(items, 'duration_ps'), ({ duration_ps }) => duration_ps),
    ],
  });
  const number =
    eventCount > items.length
      ? `${count(items.length)} of ${count(eventCount)} events; ${advice} for the rest`
      : plural(eventCount, 'event');
  return {
    title,
    note: `${number} · ${range}`,
    body: h('div', { class: 'listing' }, body),
    buttons: [button('Close table', act.closeTable)],
  };
}

/** The content without a selection: what to do in one line. @param {PanelActions} act @returns {PanelContent} */
function hintContent(act) {
  return {
    title: 'Nothing selected',
    buttons: [tableButton(act)],
    note: 'Click a slice, drag a window, Shift+click a second slice for the time between; ? lists all keys.',
    body: h('div', null),
  };
}
