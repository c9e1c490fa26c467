/** The gaps of devices: moves from one gap to another, and the events in their chains. */

import { groupBy, total } from '../lib/totals.js';
import { plural, timeText } from '../lib/format.js';
import { get, createLatestChannel, RequestError, getShared } from '../lib/api.js';
import { eachCore } from '../gaps/group.js';
import { gapSelection, windowSelection } from './selection.js';
import { positionText } from './toolbar.js';

/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('../lib/routes').GapAnswer} GapAnswer */
/** @typedef {import('../lib/routes').GapAnswer['chain'][number]} Piece */
/** @typedef {Pick<GapItem, 'device'|'start_ps'|'duration_ps'>} Gap */

const ALIGNED = 'Gaps are hidden while device rows are aligned to host steps; press t to end the alignment.';
const LOADING = 'The gaps are not loaded yet.';
/** The shortest gaps that have a cause. */
const SHORTEST = '10\u202fµs';
const NO_GAPS = `No gap of ${SHORTEST} or more.`;

/**
 * Whether a gap is one of the items.
 * @param {Pick<GapItem, 'devices'|'starts_ps'>[]} items @param {Pick<GapItem, 'device'|'start_ps'>} gap
 */
const isListed = (items, { device, start_ps }) =>
  items.some(({ devices, starts_ps }) => devices.some((id, core) => id === device && starts_ps[core] === start_ps));

/**
 * @param {import('./model.js').Model} model @param {import('./lanes.js').Lanes} lanes
 * @param {object} on
 * @param {() => void} on.arrived called after the causes of gaps have arrived @param {(error: Error) => void} on.failed
 * @param {() => Ready|null} on.session @param {() => string[]} on.devices ids of the chosen devices
 * @param {(text: string) => void} on.announce announces a text
 * @param {(device: string) => string} on.deviceName
 * @param {(device: string) => number|null} on.comparedHost the index of the host whose gap is shown beside a device's
 * @param {(device: string, position: string, details: string) => void} on.position gets the text of the selected gap's
 *   position on its device, or of the number of gaps; empty without gaps
 * @param {import('./cursor.js').SelectNeighbour} on.selectNeighbour
 * @param {(summary: import('../lib/routes').EventSummary) => void} on.open opens an event
 */
export function createGaps(model, lanes, on) {
  /** The longest gaps. @type {import('../lib/routes').GapsAnswer|null} */
  let answer = null;
  /** The gap whose details were shown last. @type {GapAnswer|null} */
  let shownGap = null;
  /** Whether the next details are announced: those of a gap that the user went to. */
  let announcesDetails = false;
  const gapChannel = createLatestChannel('gap');
  /** The gap from whose chain the selected event was opened. @type {Gap|null} */
  let originGap = null;
  /** The rank by length, from 0, of the gap that `longest` showed last. */
  let rank = -1;

  let ready = Promise.resolve();

  /** @param {Ready['query']} query */
  async function fetchGaps(query) {
    try {
      const next = await getShared('gaps', query);
      if (on.session()?.query !== query) return;
      answer = next;
      on.arrived();
    } catch (error) {
      if (on.session()?.query === query) on.failed(/** @type {Error} */ (error));
    }
  }

  /**
   * Runs an action on the event to which a piece of a chain belongs, null if it has none, unless the session or the
   * selection has changed when the answer arrives.
   * @param {Piece} piece
   * @param {(details: import('../lib/routes').EventDetails|null) => void} action
   */
  async function withEvent({ event }, action) {
    const isCurrent = model.trackSelection();
    try {
      const details = event ? await get('event', { session: on.session()?.session.name, event }) : null;
      if (isCurrent()) action(details);
    } catch (error) {
      if (isCurrent()) on.failed(/** @type {Error} */ (error));
    }
  }

  /** The selected gap, if it is one. @returns {Gap|null} */
  function selectedGap() {
    const { selection } = model.state;
    if (selection?.kind !== 'gap') return null;
    return {
      device: selection.device,
      start_ps: selection.start_ps,
      duration_ps: selection.end_ps - selection.start_ps,
    };
  }

  /** The row of the gaps of the selection's device, else of the first chosen device with gaps. */
  function currentRow() {
    const { selection } = model.state;
    const { rows = [] } = on.session() ?? {};
    const rowOf = (/** @type {string|null|undefined} */ device) =>
      rows.find((row) => row.kind === 'gaps' && row.device === device);
    return (
      rowOf(selection?.device || rows.find(({ id }) => id === selection?.row)?.device) ??
      on.devices().map(rowOf).find(Boolean)
    );
  }

  /** The details of the selected gap, once they have arrived. */
  function selectedDetails() {
    const gap = selectedGap();
    return gap && shownGap?.device === gap.device && shownGap.start_ps === gap.start_ps ? shownGap : null;
  }

  /**
   * The gaps that a finding explains, by the time that it explains, the longest first.
   * @param {string} id
   * @returns {GapItem[]}
   */
  const gapsOfFinding = (id) =>
    [...(answer?.items ?? [])]
      .filter(({ by_finding_ps }) => by_finding_ps[id])
      .sort((a, b) => b.by_finding_ps[id] - a.by_finding_ps[id]);

  /** Selects a gap and brings it into view. @param {Gap} gap */
  function show({ device, start_ps, duration_ps }) {
    const end_ps = start_ps + duration_ps;
    announcesDetails = true;
    model.bringGapIntoView({ start_ps, end_ps });
    model.select(gapSelection(device, start_ps, end_ps));
    lanes.revealGap(device);
  }

  /**
   * Reports the position of the selected gap and the number of gaps. Forgets the gap from whose chain an event was
   * opened, unless an event is selected.
   */
  function reportPosition() {
    if (model.state.selection?.kind !== 'event') originGap = null;
    const row = currentRow();
    if (!row) return on.position('', '', '');
    const gaps = plural(row.events, 'gap');
    const { number = null, counted = row.events, counted_from_ps = 0 } = selectedDetails() ?? {};
    on.position(
      row.device ?? '',
      number === null ? gaps : `gap ${positionText(number - 1, counted)}`,
      counted === row.events
        ? gaps
        : `${plural(counted, 'gap')} of ${timeText(counted_from_ps, 0)} or more, ${gaps} from ${SHORTEST}`,
    );
  }

  return {
    show, reportPosition,
    /** Per device the causes of its gaps over the session, as the overview strip draws them. */
    get strip() { return answer?.strip; },
    /** Requests a session's gaps. @param {Ready} session */
    open({ query, devices }) {
      answer = null;
      shownGap = null;
      originGap = null;
      gapChannel.cancel();
      ready = devices.length ? fetchGaps(query) : Promise.resolve();
    },
    /**
     * Fetches a gap with its chain. If all gaps are listed, one from a link that is not among them fails without a
     * request, which the browser would report as an error.
     * @param {{session: string, device: string, start_ps: number}} query
     */
    async fetchGap(query) {
      if (!selectedGap()?.duration_ps) await ready;
      if (answer && answer.count === total(answer.items, 'cores') && !isListed(answer.items, query)) {
        throw new RequestError('No such gap.', 404);
      }
      return gapChannel.get({ ...query, other_host: on.comparedHost(query.device) });
    },
    /** Takes the details of the selected gap. @param {GapAnswer} gap */
    loaded(gap) {
      shownGap = gap;
      reportPosition();
      const { device, duration_ps, number, counted } = gap;
      if (announcesDetails) {
        on.announce(
          `Gap of ${timeText(duration_ps)} on ${on.deviceName(device)}` +
          (number === null ? '.' : `, ${positionText(number - 1, counted)}.`),
        );
      }
      announcesDetails = false;
    },
    /**
     * The index of a gap among those that a finding explains (-1 if it is none of them), their count, and its
     * neighbours.
     * @param {Pick<GapItem, 'device'|'start_ps'>} gap
     * @param {string} id
     */
    positionInFinding(gap, id) {
      const findingGaps = gapsOfFinding(id);
      const at = findingGaps.findIndex((item) => isListed([item], gap));
      return { at, count: findingGaps.length, before: findingGaps[at - 1] ?? null, after: findingGaps[at + 1] ?? null };
    },
    /** Shows the longest gap of the shown devices; called again, the next one by length. */
    longest() {
      const { selection, align } = model.state;
      const shown = new Set(on.devices());
      const items = eachCore(/** @type {GapItem[]} */ (answer?.items ?? []));
      const shownGaps = items.filter(({ device }) => shown.has(device));
      // The same gap on several cores counts once, on the core that findings link to if that core is shown.
      const byLength = [...groupBy(shownGaps, 'index').values()]
        .map((gaps) => gaps.find(({ isCopy }) => !isCopy) ?? gaps[0])
        .sort((a, b) => b.duration_ps - a.duration_ps);
      const isShown =
        selection?.kind === 'gap' &&
        rank >= 0 &&
        byLength[rank]?.device === selection.device &&
        byLength[rank]?.start_ps === selection.start_ps;
      if (align) on.announce(ALIGNED);
      else if (byLength.length) show(byLength[rank = isShown ? (rank + 1) % byLength.length : 0]);
      else on.announce(!answer && on.session()?.devices.length ? LOADING : NO_GAPS);
    },
    /** The action that returns to the gap from whose chain the selected event was opened; null without such a gap. */
    back() {
      const gap = originGap;
      return gap && (() => show(gap));
    },
    /**
     * Shows the next counted gap of the current device or, with -1, the previous one.
     * @param {1|-1} direction
     */
    showNeighbour(direction) {
      const { selection, window: span, align } = model.state;
      const row = currentRow();
      const start_ps = selection?.start_ps ?? (direction > 0 ? span.start_ps : span.end_ps);
      if (align) on.announce(ALIGNED);
      else if (!row) on.announce(on.session()?.more_rows ? LOADING : NO_GAPS);
      else {
        void on.selectNeighbour(
          { row: row.id, depth: 0, start_ps, direction: direction > 0 ? 'next' : 'previous', skip_short: 1 },
          `This device has no ${direction > 0 ? 'later' : 'earlier'} gap.`,
        );
      }
    },
    /** Outlines the event of a piece in the lanes; the gap stays selected. @param {Piece} piece */
    outlinePiece(piece) {
      return withEvent(piece, (event) => {
        model.set({
          piece: event && {
            row: event.row,
            depth: event.depth,
            start_ps: event.start_ps,
            end_ps: event.start_ps + event.duration_ps,
          },
        });
        if (event) lanes.reveal(event.row, event.depth);
        on.announce(
          event
            ? `${event.name}, ${event.thread}, is outlined; the gap stays selected.`
            : `Nothing is recorded for ${timeText(piece.duration_ps)}.`,
        );
      });
    },
    /** Selects the event of a piece, or the piece's time if it has no event. @param {Piece} piece */
    openPiece(piece) {
      return withEvent(piece, (event) => {
        originGap = selectedGap();
        if (event) on.open(event);
        else model.select(windowSelection(piece.start_ps, piece.start_ps + piece.duration_ps));
      });
    },
  };
}
