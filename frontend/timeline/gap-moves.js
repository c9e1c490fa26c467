/** Going from gap to gap, and from a gap to what ended it. */

import { get } from '../lib/api.js';
import { timeText } from '../lib/format.js';
import { gapRow, neighbour } from './gaps.js';
import { frameSpan } from './scale.js';
import { laneFor } from './scene.js';
import { ofGap } from './selection.js';

/** @typedef {import('../lib/views').GapDetail['chain'][number]} Piece */

/** A gap that is drawn narrower than this is zoomed to. */
const LEAST_PX = 4;

/**
 * @param {import('./model.js').Model} model @param {import('./lanes.js').Lanes} lanes
 * @param {object} on
 * @param {() => import('../lib/types').Ready|null} on.session @param {() => Map<string, import('./gaps.js').Gap[]>} on.gaps
 * @param {() => string[]} on.devices chosen ones; empty: all @param {(text: string) => void} on.say
 * @param {(at: number, all: number) => void} on.count which gap of how many on its device
 * @param {(brief: import('../lib/types').Brief) => void} on.open
 * @param {(device: string) => string} on.name @param {(ps: number) => void} on.goTo moves the window's middle there
 */
export function createGapMoves(model, lanes, on) {
  /** The row that a piece of a chain was read from; where no row is called like its thread, what the host did by class. @param {Piece} piece */
  function placeOf({ row, depth = 0, thread }) {
    const host = on.session()?.devices.find(({ id }) => model.state.selection?.kind === 'gap' && id === model.state.selection.device)?.host;
    const own = (on.session()?.rows ?? []).filter((each) => each.host === host);
    const found = own.find(({ kind, label }) => kind === 'thread' && label.replace(/ \(driving\)$/, '') === thread) ?? own.find(({ kind }) => kind === 'classes');
    return { row: row ?? found?.id ?? '', depth: row ? depth : 0, known: row != null || found?.kind === 'thread' };
  }

  /** Selects the event that a piece is a part of, or the piece's time where it is not found. @param {Piece} piece */
  async function open(piece) {
    const { name, start_ps, duration_ps } = piece;
    const { row, known } = placeOf(piece);
    const query = { session: on.session()?.session.name, start_ps, end_ps: start_ps + duration_ps, rows: row, limit: 500 };
    /** @type {import('../lib/types').TableAnswer} */
    const { items } = known ? await get('table', query).catch(() => ({ items: [] })) : { items: [] };
    const brief = items.find((own) => own.name === name);
    if (brief) on.open(brief);
    else model.select({ kind: 'window', start_ps, end_ps: start_ps + duration_ps });
  }

  /** The gaps of the device that is looked at: that of the selection, else the first one that has some. */
  function ownGaps() {
    const { selection } = model.state;
    const devices = on.devices();
    const id = selection?.kind === 'gap' ? selection.device : selection && selection.kind !== 'window' ? on.session()?.rows.find((row) => row.id === selection.row)?.device : null;
    return on.gaps().get(id ?? '') ?? [...on.gaps()].find(([device]) => !devices.length || devices.includes(device))?.[1] ?? [];
  }

  function say() {
    const { selection } = model.state;
    const own = ownGaps();
    on.count(selection?.kind === 'gap' ? own.findIndex(({ start_ps }) => start_ps === selection.start_ps) : -1, own.length);
  }

  /** @param {1|-1} step */
  function go(step) {
    const { selection, window: span } = model.state;
    const own = ownGaps();
    const at = neighbour(own, selection?.start_ps ?? (step > 0 ? span.start_ps : span.end_ps), step);
    if (at < 0) return on.say(own.length ? (step > 0 ? 'This is the last gap.' : 'This is the first gap.') : 'No gap of 10\u202fµs or more.');
    return show(own[at]);
  }

  /** @param {import('./gaps.js').Gap} gap */
  function show({ device, start_ps, duration_ps }) {
    const end = start_ps + duration_ps;
    const { window: span } = model.state;
    if (duration_ps / lanes.scene().scale.psPerPx < LEAST_PX || duration_ps > span.end_ps - span.start_ps) model.look(frameSpan({ start_ps, end_ps: end }, 1.5));
    else if (start_ps < span.start_ps || end > span.end_ps) on.goTo((start_ps + end) / 2);
    model.select(ofGap(device, start_ps, end));
    lanes.arrange();
    const lane = laneFor(lanes.lanes, gapRow(device), 0);
    if (lane) lanes.reveal(lane);
    on.say(`Gap of ${timeText(duration_ps)} on ${on.name(device)}.`);
  }

  return {
    open, say, go, show,
    /** Outlines a piece in the lanes; the gap stays selected. @param {Piece} piece */
    mark(piece) {
      const { start_ps, duration_ps } = piece;
      model.set({ piece: { ...placeOf(piece), start_ps, end_ps: start_ps + duration_ps, duration_ps } });
    },
  };
}
