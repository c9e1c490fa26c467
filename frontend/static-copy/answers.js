/** Answers requests with what the routes answered when the static copy was written. */

import { NOT_RECORDED } from '../lib/api.js';

/** Arguments that make no difference in a copy: it has one session, with the hosts shown by default. */
const IGNORED = new Set(['session', 'fingerprint', 'seen', 'hosts', 'other_host']);

/** @typedef {{start_ps: number, end_ps: number, psPerPx: number, line: string, document?: any}} RecordedSpan */
/** @typedef {{start_ps: number}} Event */

/**
 * @param {string} text recorded requests and answers in turn, a line of JSON each
 * @returns {(url: string) => Pick<Response, 'ok'|'status'|'json'>}
 */
export function createAnswers(text) {
  /** @type {Map<string, string>} */
  const lines = new Map();
  /** By route, the coarsest first. @type {Record<string, RecordedSpan[]>} */
  const spans = { timeline: [], waits: [] };
  for (let at = 0; at < text.length;) {
    const middle = text.indexOf('\n', at);
    const end = text.indexOf('\n', middle + 1);
    const request = JSON.parse(text.slice(at, middle));
    const line = text.slice(middle + 1, end);
    const { route, query } = parse(request);
    if (route in spans) spans[route].push({ ...spanOf(query), line });
    else lines.set(request, line);
    at = end + 1;
  }
  Object.values(spans).forEach((recorded) => recorded.sort((a, b) => b.psPerPx - a.psPerPx));

  /**
   * The coarsest recorded answer that covers a span in the requested resolution, else the finest that covers it.
   * @param {RecordedSpan[]} recorded
   * @param {RecordedSpan} wanted
   */
  function covering(recorded, { start_ps, end_ps, psPerPx }) {
    const candidates = recorded.filter((span) => span.start_ps <= start_ps && span.end_ps >= end_ps);
    const found = candidates.find((span) => span.psPerPx <= psPerPx) ?? candidates.at(-1);
    return found && (found.document ??= JSON.parse(found.line));
  }

  /** The next or the previous event of a lane, of which all events are recorded. @param {URLSearchParams} query */
  function neighbor(query) {
    const [start, direction] = [Number(query.get('start_ps')), query.get('direction')];
    query.delete('start_ps');
    query.delete('direction');
    /** @type {{events: Event[]}|null} */
    const lane = answerOf('neighbor', query);
    if (!lane) return null;
    const { events } = lane;
    const event =
      direction === 'next'
        ? events.find(({ start_ps }) => start_ps > start)
        : events.findLast(({ start_ps }) => start_ps < start);
    return { event: event ?? null };
  }

  /**
   * The annotations of the step in which an event begins, on the device shown by default, with the event's path.
   * @param {URLSearchParams} query
   */
  function annotationsAround(query) {
    const event = answerOf('event', new URLSearchParams(
      ['row', 'start_ps', 'depth'].map((name) => [name, query.get(name) ?? '0']),
    ));
    if (!event) return null;
    /** @type {import('../lib/routes').StepColumns} */
    const { start_ps, duration_ps, number } = answerOf('overview', new URLSearchParams()).steps.columns;
    const step = start_ps.findIndex((from, at) => from <= event.start_ps && event.start_ps < from + duration_ps[at]);
    const ofStep = number[step] == null ? undefined : { step_number: String(number[step]) };
    const answer = answerOf('propagation', new URLSearchParams(ofStep));
    return answer && { ...answer, requested_path: event.on_device?.path ?? null };
  }

  /** @param {string} route @param {URLSearchParams} query */
  function answerOf(route, query) {
    const line = lines.get(requestText(route, query));
    return line ? JSON.parse(line) : null;
  }

  /** The recorded answer; null if there is none. @param {string} url */
  function find(url) {
    const { route, query } = parse(url);
    if (route === 'neighbor') return neighbor(query);
    if (route === 'waits') return covering(spans.waits, { ...spanOf(query), line: '' });
    if (route === 'timeline') {
      const found = covering(spans.timeline, { ...spanOf(query), line: '' });
      const ids = (query.get('rows') ?? '').split(',').filter((id) => found?.rows[id]);
      return found && { ...found, rows: Object.fromEntries(ids.map((id) => [id, found.rows[id]])) };
    }
    if (route === 'propagation' && query.has('row')) return annotationsAround(query);
    return answerOf(route, query);
  }

  return (url) => {
    const answer = find(url);
    const error = { error: 'Not in this static copy; open the capture in TensorBoard.' };
    return answer
      ? { ok: true, status: 200, json: async () => answer }
      : { ok: false, status: NOT_RECORDED, json: async () => error };
  };
}

/** @param {string} url such as `data/gap?device=a` */
function parse(url) {
  const [path, query] = url.split('?');
  return { route: path.replace(/^data\//, ''), query: new URLSearchParams(query) };
}

/** The text under which an answer is recorded. @param {string} route @param {URLSearchParams} query */
function requestText(route, query) {
  const shown = [...query].filter(([name]) => !IGNORED.has(name)).map(([name, value]) => `${name}=${value}`);
  return `${route}?${shown.sort().join('&')}`;
}

/** @param {URLSearchParams} query */
function spanOf(query) {
  const [start_ps, end_ps, px] = ['start_ps', 'end_ps', 'px'].map((name) => Number(query.get(name)));
  return { start_ps, end_ps, psPerPx: (end_ps - start_ps) / px };
}
