/** The gaps of devices: their rows, moves from one gap to another, and the events in their chains. */

import { CLASSES } from '../lib/classes.js';
import { groupBy } from '../lib/totals.js';
import { count, timeText } from '../lib/format.js';
import { get, createLatestChannel, RequestError, getShared } from '../lib/api.js';
import { eachCore } from '../gaps/group.js';
import { repeat } from './columns.js';
import { gapRow, gapSelection, windowSelection } from './selection.js';

/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('../lib/types').Row} Row */
/** @typedef {import('./columns.js').Columns} Columns */
/** @typedef {import('./columns.js').Slices} Slices */
/** @typedef {import('../lib/routes').GapAnswer['chain'][number]} Piece */
/** @typedef {Pick<GapItem, 'device'|'start_ps'|'duration_ps'|'cause'>} Gap */

/** Gaps by device, in order of time. @param {Gap[]} items @returns {Map<string, Gap[]>} */
export function byDevice(items) {
  const gapsByDevice = groupBy(items, 'device');
  for (const deviceGaps of gapsByDevice.values()) deviceGaps.sort((a, b) => a.start_ps - b.start_ps);
  return gapsByDevice;
}

/** The slices of gaps, whose class is the cause. @param {Gap[]} gaps in order of time @returns {Columns} */
export function gapColumns(gaps) {
  const { length } = gaps;
  return {
    length,
    start: gaps.map(({ start_ps }) => start_ps),
    end: gaps.map((gap) => gap.start_ps + gap.duration_ps),
    classIndex: gaps.map(({ cause }) => CLASSES.indexOf(cause)),
    name: repeat(length, -1),
    count: repeat(length, 1),
    busy: repeat(length, 0),
    event: repeat(length, -1),
  };
}

/**
 * The index of the last gap that begins before an instant, or of the first one that begins after it; -1 if there is
 * none.
 * @param {Gap[]} gaps in order of time @param {number} ps @param {1|-1} direction
 */
export function neighbour(gaps, ps, direction) {
  return direction > 0
    ? gaps.findIndex(({ start_ps }) => start_ps > ps)
    : gaps.findLastIndex(({ start_ps }) => start_ps < ps);
}

/**
 * Inserts a row of gaps before the first row of each device with gaps.
 * @param {Row[]} rows
 * @param {Map<string, Gap[]>} gaps
 * @returns {Row[]}
 */
export function withGapRows(rows, gaps) {
  const seenDevices = new Set();
  return rows.flatMap((row) => {
    const deviceGaps = row.device && !seenDevices.has(row.device) ? gaps.get(row.device) : null;
    if (row.device) seenDevices.add(row.device);
    return deviceGaps
      ? [
          {
            ...row,
            id: gapRow(row.device ?? ''),
            kind: /** @type {const} */ ('gaps'),
            label: 'gaps',
            lanes: 1,
            events: deviceGaps.length,
            unfolded: true,
            share: null,
          },
          row,
        ]
      : [row];
  });
}

/**
 * A copy of the server's slices with the rows of gaps added.
 * @param {Slices} slices
 * @param {Map<string, Columns[]>} gaps by row
 * @returns {Slices}
 */
export const withGaps = (slices, gaps) => ({ ...slices, rows: new Map([...slices.rows, ...gaps]) });

const ALIGNED = 'Gaps are hidden while device rows are aligned to host steps; press t to end the alignment.';
const LOADING = 'The gaps are not loaded yet.';

/**
 * @param {import('./model.js').Model} model @param {import('./lanes.js').Lanes} lanes
 * @param {object} on
 * @param {() => void} on.arrived called after gaps have arrived @param {(error: Error) => void} on.failed
 * @param {() => Ready|null} on.session @param {() => string[]} on.devices ids of the chosen devices
 * @param {(text: string) => void} on.announce announces a text
 * @param {(device: string) => string} on.deviceName
 * @param {(device: string) => number|null} on.comparedHost the index of the host whose gap is shown beside a device's
 * @param {(index: number, gapCount: number, device: string, among: string) => void} on.position gets the index of the
 *   selected gap, -1 without one, and the number of loaded gaps on the device; `among` says which gaps are loaded if
 *   not all are
 * @param {(summary: import('../lib/routes').EventSummary) => void} on.open opens an event
 */
export function createGaps(model, lanes, on) {
  /** @type {Map<string, Gap[]>} */
  let gapsByDevice = new Map();
  /** @type {Map<string, Columns[]>} */
  let columns = new Map();
  /** @type {import('../lib/routes').GapsAnswer|null} */
  let answer = null;
  let ready = Promise.resolve();
  const gapChannel = createLatestChannel('gap');
  /** The gap from whose chain the selected event was opened. @type {Gap|null} */
  let originGap = null;
  /** The rank by length, from 0, of the gap that `longest` showed last. */
  let rank = -1;
  /** The last slices with gaps, and their sources. @type {{sources: unknown[], slices: Slices|null}} */
  let cached = { sources: [], slices: null };

  /** @param {Ready['query']} query */
  async function fetchGaps(query) {
    try {
      const nextAnswer = await getShared('gaps', query);
      if (on.session()?.query !== query) return;
      const { items } = answer = nextAnswer;
      gapsByDevice = byDevice(eachCore(/** @type {GapItem[]} */ (items)));
      columns = new Map([...gapsByDevice].map(([device, gaps]) => [gapRow(device), [gapColumns(gaps)]]));
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

  /** Whether the server has sent all gaps: of many, it sends the longest. */
  const hasAllGaps = () => answer?.count === [...gapsByDevice.values()].flat().length;
  const amongText = () => (answer && !hasAllGaps() ? ` among the ${count(answer.items.length)} longest` : '');

  const noGapsText = () =>
    !answer && on.session()?.devices.length ? LOADING : `No gap of 10\u202fµs or more${amongText()}.`;

  /** The gaps of the selection's device, else of the first chosen device with gaps, in order of time. */
  function currentGaps() {
    const { selection } = model.state;
    const id = selection?.device || on.session()?.rows.find((row) => row.id === selection?.row)?.device;
    const firstDevice = on.devices().find((device) => gapsByDevice.has(device));
    return gapsByDevice.get(id ?? '') ?? gapsByDevice.get(firstDevice ?? '') ?? [];
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
    model.bringIntoView({ start_ps, end_ps }, 1.5, true);
    model.select(gapSelection(device, start_ps, end_ps));
    if (lanes.grouped) lanes.revealGap(device);
    else lanes.reveal(gapRow(device));
    const deviceGaps = gapsByDevice.get(device) ?? [];
    on.announce(
      `Gap of ${timeText(duration_ps)} on ${on.deviceName(device)}, ` +
      `${deviceGaps.findIndex((gap) => gap.start_ps === start_ps) + 1} of ${deviceGaps.length}.`,
    );
  }

  return {
    show,
    /** Rows of a session with the rows of gaps. @param {Row[]} rows */
    rows: (rows) => withGapRows(rows, gapsByDevice),
    /** Per device the causes of its gaps over the session, as the overview strip draws them. */
    get strip() { return answer?.strip; },
    /** Requests a session's gaps. @param {Ready} session */
    open({ query, devices }) {
      answer = null;
      originGap = null;
      gapsByDevice = new Map();
      columns = new Map();
      gapChannel.cancel();
      ready = devices.length ? fetchGaps(query) : Promise.resolve();
    },
    /**
     * Fetches a gap with its chain. If all gaps are loaded, an unknown gap fails without a request.
     * @param {{session: string, device: string, start_ps: number}} query
     */
    async fetchGap(query) {
      await ready;
      const deviceGaps = gapsByDevice.get(query.device);
      if (hasAllGaps() && !deviceGaps?.some(({ start_ps }) => start_ps === query.start_ps)) {
        throw new RequestError('No such gap.', 404);
      }
      return gapChannel.get({ ...query, other_host: on.comparedHost(query.device) });
    },
    /** Slices with the gaps. @param {Slices|null} slices */
    addTo(slices) {
      const sources = [slices, columns];
      if (sources.some((source, index) => source !== cached.sources[index])) {
        cached = { sources, slices: slices && withGaps(slices, columns) };
      }
      return cached.slices;
    },
    /**
     * Reports the position of the selected gap and the number of gaps. Forgets the gap from whose chain an event was
     * opened, unless an event is selected.
     */
    reportPosition() {
      const { selection } = model.state;
      if (selection?.kind !== 'event') originGap = null;
      const deviceGaps = currentGaps();
      on.position(
        selection?.kind === 'gap' ? deviceGaps.findIndex(({ start_ps }) => start_ps === selection.start_ps) : -1,
        deviceGaps.length,
        deviceGaps[0]?.device ?? '',
        amongText(),
      );
    },
    /**
     * The index of a gap among those that a finding explains (-1 if it is none of them), their count, and its
     * neighbours.
     * @param {Pick<GapItem, 'device'|'start_ps'>} gap
     * @param {string} id
     */
    positionInFinding(gap, id) {
      const findingGaps = gapsOfFinding(id);
      const at = findingGaps.findIndex(({ devices, starts_ps }) =>
        devices.some((device, index) => device === gap.device && starts_ps[index] === gap.start_ps),
      );
      return { at, count: findingGaps.length, before: findingGaps[at - 1] ?? null, after: findingGaps[at + 1] ?? null };
    },
    /** Shows the longest gap of the shown devices; called again, the next one by length. */
    longest() {
      const { selection, align } = model.state;
      const shownGaps = on.devices().flatMap((device) => /** @type {GapItem[]} */ (gapsByDevice.get(device) ?? []));
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
      else on.announce(noGapsText());
    },
    /** The action that returns to the gap from whose chain the selected event was opened; null without such a gap. */
    back() {
      const gap = originGap;
      return gap && (() => show(gap));
    },
    /** Shows the next gap of the current device or, with -1, the previous one. @param {1|-1} direction */
    showNeighbour(direction) {
      const { selection, window: span, align } = model.state;
      const deviceGaps = currentGaps();
      const at = neighbour(deviceGaps, selection?.start_ps ?? (direction > 0 ? span.start_ps : span.end_ps), direction);
      if (align) on.announce(ALIGNED);
      else if (at >= 0) show(deviceGaps[at]);
      else if (!deviceGaps.length) on.announce(noGapsText());
      else on.announce(`This device has no ${direction > 0 ? 'later' : 'earlier'} gap${amongText()}.`);
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
      const { selection } = model.state;
      return withEvent(piece, (event) => {
        originGap =
          selection?.kind === 'gap'
            ? (gapsByDevice.get(selection.device)?.find(({ start_ps }) => start_ps === selection.start_ps) ?? null)
            : null;
        if (event) on.open(event);
        else model.select(windowSelection(piece.start_ps, piece.start_ps + piece.duration_ps));
      });
    },
  };
}
