/** The panel under the lanes: it asks for what is selected and keeps the old content until the new one is there. */

import { h, fill } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { latest } from '../lib/api.js';
import { eventContent } from './panel-event.js';
import { gapContent } from './panel-gap.js';
import { windowContent } from './panel-window.js';
import { listContent } from './panel-list.js';
import { nothingContent } from './panel-nothing.js';

/** @typedef {import('./panel-parts.js').PanelContent} PanelContent */
/** @typedef {import('./selection.js').Selection} Selection */

/**
 * @param {import('./panel-parts.js').PanelActions} act
 * @param {import('./panel-gap.js').GapActions} gap
 * @param {object} on
 * @param {(gap: import('../lib/views').GapDetail) => void} on.gap
 * @param {(detail: import('../lib/types').EventDetail) => void} on.detail
 * @param {(message: string, status: number) => void} on.error
 */
export function createPanel(act, gap, on) {
  const title = h('h2', { id: 'panel-title' });
  const head = h('header', null, title);
  const body = h('div', null);
  const element = h('section', { class: 'panel', role: 'region', 'aria-labelledby': 'panel-title', 'data-testid': 'selection-panel' }, head, body);
  const channel = { event: latest('event'), window: latest('window'), table: latest('table') };
  /** Only the newest of the three kinds of requests may fill the panel. */
  let ticket = 0;

  /** @param {PanelContent} content */
  function show({ title: text, tags = [], note, buttons = [], body: next }) {
    title.textContent = text;
    title.title = text;
    fill(head, title, tags.map((tag) => (tag instanceof Node ? tag : h('span', { class: 'tag' }, tag))), note ? h('span', { class: 'sec' }, note) : null,
      h('span', { class: 'grow' }), buttons);
    element.replaceChildren(head, next);
  }

  /** @param {Promise<any>} request @param {(answer: any) => PanelContent} content */
  async function bring(request, content) {
    const own = ++ticket;
    try {
      const answer = await request;
      if (own === ticket) show(content(answer));
    } catch (error) {
      if (own !== ticket) return;
      const { message, status } = /** @type {import('../lib/api.js').RequestError} */ (error);
      on.error(message, status);
    }
  }

  /**
   * An event is asked for by its place, as a link would, so that it is the one of that row; some have no slice of their own
   * and are known by their id only.
   * @param {string} session @param {import('./selection.js').EventSelection} selection
   */
  async function askEvent(session, { row, depth, start_ps, event }) {
    try {
      return await channel.event.get({ session, row, start_ps, depth });
    } catch (error) {
      if (!event || /** @type {import('../lib/api.js').RequestError} */ (error).status === 0) throw error;
      return channel.event.get({ session, event });
    }
  }

  return {
    element,
    /**
     * @param {import('../lib/types').Ready} session @param {Selection|null} selection @param {string[]} hosts
     */
    select(session, selection, hosts) {
      const name = session.session.name;
      if (!selection) {
        ticket += 1;
        show(nothingContent(session, act));
      } else if (selection.kind === 'event') {
        void bring(askEvent(name, selection), (answer) => {
          on.detail(answer);
          return eventContent(answer, act);
        });
      } else if (selection.kind === 'gap') {
        void bring(gap.bring({ session: name, device: selection.device, start_ps: selection.start_ps }), (answer) => {
          on.gap(answer);
          return gapContent(answer, gap);
        });
      } else if (selection.kind === 'merged') {
        this.list(session, selection, [selection.row], `${count(selection.count)} events in one slice`);
      } else {
        void bring(channel.window.get({ session: name, start_ps: selection.start_ps, end_ps: selection.end_ps }),
          (answer) => windowContent(answer, act, hosts, labelsOf(session)));
      }
    },
    /** @param {import('../lib/types').Ready} session @param {{start_ps: number, end_ps: number}} span @param {string[]} rows @param {string} heading */
    list(session, span, rows, heading) {
      const query = { session: session.session.name, start_ps: Math.round(span.start_ps), end_ps: Math.round(span.end_ps), rows: rows.join(','), limit: 500 };
      void bring(channel.table.get(query), (answer) => listContent(heading, span, answer, labelsOf(session), act));
    },
  };
}

/** What rows are called on the canvas, by id. @param {import('../lib/types').Ready} session */
const labelsOf = (session) => new Map(session.rows.map(({ id, label }) => [id, label]));
