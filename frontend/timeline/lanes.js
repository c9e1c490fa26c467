/** The lanes on screen: a fixed canvas with rows that scroll, drawn at most once per frame. */

import { h, fill } from '../lib/dom.js';
import { oncePerFrame } from '../lib/activity.js';
import { readPalette } from '../lib/theme.js';
import { shortNames } from '../lib/host-names.js';
import { shiftText } from './align.js';
import { createScale, isSmall } from './scale.js';
import { layoutRows } from './layout.js';
import { arrowsOf, paint, RULER } from './paint.js';
import { penOn } from './draw.js';
import { laneId, laneText, phaseTones } from './slice-style.js';
import { labelledLane, laneFor, laneTop, visibleSlices } from './scene.js';
import { waitArrows, waitTexts } from './waits.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('../lib/types').Ready} Ready */

const TOP = RULER + 3;
/** Space above the first row and below the last one, px. */
const ROOM = 3;
const LABELS_PX = { wide: 188, narrow: 132 };
const NARROW_BELOW_PX = 1200;
const MAX_FOLDED_ROWS = 16;

/**
 * @param {import('./model.js').Model} model
 * @param {object} on
 * @param {() => {hosts: string[], devices: string[]}} on.chosen
 * @param {(scene: Scene, wanted: import('../lib/types').Row[]) => void} on.frame before each drawing
 * @param {() => import('./columns.js').Slices|null} on.slices
 * @param {Pick<ReturnType<typeof import('./waits.js').createWaits>, 'bars'|'delayed'>} on.waits
 * @param {(natural: number) => number} on.height height of the lanes, px
 * @param {(palette: import('../lib/theme.js').Palette) => void} on.drawn
 */
export function createLanes(model, on) {
  const canvas = h('canvas', null);
  const spacer = h('div', null);
  const list = h('div', { role: 'grid', class: 'hidden', 'aria-label': 'Rows' });
  const element = h('div', {
    class: 'lanes', role: 'application', tabindex: 0, 'data-testid': 'timeline-canvas',
    'aria-label': 'Timeline: arrows move between slices and rows, Enter selects' }, canvas, spacer, list);
  const { state } = model;
  /** @type {Ready|null} */
  let session = null;
  let palette = readPalette();
  let tones = new Map();
  let visible = false;
  let listedKey = '';
  /** @type {{lanes: import('./layout.js').Lane[], height: number}} */
  let layout = { lanes: [], height: 0 };
  /** The device of the gap that was selected last. @type {string|null} */
  let focus = null;
  /** The device whose gaps are scrolled into view once they are loaded. @type {string|null} */
  let revealing = null;

  const left = () => (innerWidth < NARROW_BELOW_PX ? LABELS_PX.narrow : LABELS_PX.wide);
  const partners = () => (state.detail ? [...state.detail.flow.from, ...state.detail.flow.to] : []);

  function updateLayout() {
    if (!session) return;
    const { align, open, piece, selection, window: span } = state;
    /** Rows that the selection involves and the depth they need; these are never folded. @type {Map<string, number>} */
    const taking = new Map();
    for (const { row, depth } of [...partners(), ...(selection ? [selection] : []), ...(piece ? [piece] : [])]) {
      taking.set(row, Math.max(depth, taking.get(row) ?? 0));
    }
    if (selection?.kind === 'gap') focus = selection.device;
    else if (revealing) focus = revealing;
    layout = layoutRows(session.rows, {
      ...on.chosen(),
      ...hostOrder(session),
      open,
      taking,
      all: session.devices,
      unit: palette.unit,
      focus,
      tight: isSmall() ? 1 : 0,
      compact: isSmall() && selection?.kind === 'gap',
      shift: (row) => (align ? shiftText(align, row, (span.start_ps + span.end_ps) / 2) : ''),
    });
    const key = layout.lanes.map(({ id, label, right }) => id + label + right).join();
    if (key === listedKey) return;
    listedKey = key;
    fill(
      list,
      layout.lanes.map((lane) =>
        h(
          'div',
          { role: 'row', id: laneId(lane), 'data-row': lane.row.id },
          h('span', { role: 'gridcell' }, laneText(lane)),
        ),
      ),
    );
  }

  /** @returns {Scene} */
  function scene() {
    const { clientWidth: width, clientHeight: height, scrollTop } = element;
    // The topmost row is never cut.
    const scroll = scrollTop ? (layout.lanes.find(({ y }) => y - ROOM >= scrollTop)?.y ?? scrollTop + ROOM) - ROOM : 0;
    return {
      scale: createScale(state.window, left(), width),
      lanes: layout.lanes,
      top: TOP,
      scroll,
      width,
      height,
      slices: on.slices(),
    };
  }

  /** Visible rows and those one screen above and below. @param {Scene} now */
  function neededRows({ scroll, height, lanes }) {
    const near = lanes.filter((lane) => lane.y + lane.h >= scroll - height && lane.y <= scroll + 2 * height);
    return [...new Set(near.flatMap(({ kind, rows }) => (kind === 'more' ? rows.slice(0, MAX_FOLDED_ROWS) : rows)))];
  }

  function draw() {
    if (!session || !visible || !element.clientWidth || innerHeight === 0) return;
    updateLayout();
    const natural = layout.height + TOP;
    const available = on.height(natural);
    // The last visible row is not cut until the lanes are scrolled.
    const whole = layout.lanes.findLast(({ y, h: tall }) => TOP + y + tall + ROOM <= available);
    element.style.height = `${available < natural && whole ? TOP + whole.y + whole.h + ROOM : available}px`;
    const frame = scene();
    spacer.style.height = `${Math.max(0, natural - frame.height)}px`;
    if (revealing && scrollToGap(revealing)) {
      revealing = null;
      scrollToDelayed();
      frame.scroll = scene().scroll;
    }
    on.frame(frame, neededRows(frame));
    frame.slices = on.slices();
    const pen = penOn(canvas, frame.width, frame.height, palette);
    const { detail, piece, flows, align } = state;
    const selection = model.drawn(state.selection);
    /** @param {import('../lib/routes').EventSummary[]} briefs */
    const places = (briefs) =>
      briefs.flatMap(
        ({ row, depth, start_ps, duration_ps }) =>
          model.drawn({ row, depth, start_ps, end_ps: start_ps + duration_ps }) ?? [],
      );
    const flow =
      flows && detail && selection
        ? { from: places(detail.flow.from), to: places(detail.flow.to) }
        : { from: [], to: [] };
    const [waits, delayed] = [on.waits.bars(frame.lanes), on.waits.delayed(frame.lanes)];
    const arrows = [
      ...(selection ? arrowsOf(selection, flow) : []),
      ...(flows ? waitArrows(delayed, selection?.device ?? '') : []),
    ];
    paint(pen, frame, palette, tones, {
      ...state,
      selection,
      waits,
      delayed,
      arrows,
      focused: document.activeElement === element,
      edges: align && align.edges,
      partners: piece ? [piece] : [...flow.from, ...flow.to],
    });
    // The focus ring: an outline of the element would be hidden by its canvas.
    if (element.matches(':focus-visible')) pen.outline(palette.accent, 2, 2, 2, frame.width - 4, frame.height - 4);
    // What tests read instead of pixels.
    Object.assign(/** @type {any} */ (window).xi, {
      drawn: {
        rows: frame.lanes.map((lane) => ({
          id: lane.id,
          row: lane.row.id,
          kind: lane.kind === 'slices' ? lane.row.kind : lane.kind,
          depth: lane.depth,
          label: labelledLane(frame, lane).label,
          right: lane.right,
          y: laneTop(frame, lane),
          h: lane.h,
          open: lane.fold?.open ?? null,
        })),
        get slices() {
          return visibleSlices(frame);
        },
        selection: state.selection,
        hover: state.hover,
        cursor: state.cursor,
        window: state.window,
        piece,
        get waits() {
          return waits.map((bar) => ({ ...bar, text: waitTexts(bar)[0] }));
        },
        delayed,
        arrows,
        edges: align && Object.fromEntries(align.edges),
      },
    });
    on.drawn(palette);
  }

  /** Scrolls to a device and its host; false if its rows are not loaded yet. @param {string} device */
  function scrollToGap(device) {
    const deviceLanes = layout.lanes.filter(({ row }) => row.device === device);
    const lane =
      deviceLanes.find(({ row }) => row.kind === 'gaps') ??
      (session?.devices.find(({ id }) => id === device)?.idle_ps ? null : deviceLanes[0]);
    if (!lane) return false;
    const bottom = Math.max(...deviceLanes.map(({ y, h: tall }) => y + tall)) + 4;
    const height = element.clientHeight - TOP;
    const group = layout.lanes.filter(({ row, y }) => row.host === lane.row.host && y <= lane.y);
    // All of the host, or what of it stands next above the device; in any case what the host does, where that fits
    // above the gap.
    const next = group.find(({ y }) => bottom - y + 4 <= height) ?? lane;
    const classLane = group.find(({ row }) => row.kind === 'classes');
    const first = classLane && classLane.y < next.y && lane.y + lane.h - classLane.y + 8 <= height ? classLane : next;
    if (first.y - 4 < element.scrollTop || bottom > element.scrollTop + height) element.scrollTop = first.y - 4;
    return true;
  }

  /**
   * Scrolls towards the next host that waits for the selected gap's, while the gap and what its host does stay in
   * sight.
   */
  function scrollToDelayed() {
    const waiting = on.waits.delayed(layout.lanes).filter(({ start_ps, until_ps }) => until_ps > start_ps);
    const gap = laneFor(layout.lanes, state.selection?.row ?? '', 0);
    if (!gap || !waiting.length) return;
    const classLane =
      layout.lanes.find(
        ({ row, y }) => row.kind === 'classes' && row.host === gap.row.host && y <= gap.y && y + 4 >= element.scrollTop,
      ) ?? gap;
    const scroll = Math.min(
      classLane.y - 4,
      ...waiting.map(({ lane }) => lane.y + lane.h + 4 - element.clientHeight + TOP),
    );
    if (scroll > element.scrollTop) element.scrollTop = scroll;
  }

  const request = oncePerFrame(draw);

  element.addEventListener('scroll', () => {
    model.set({ hover: null });
    request();
  }, { passive: true });
  for (const name of ['focus', 'blur']) element.addEventListener(name, request);
  new ResizeObserver(request).observe(element);
  addEventListener('resize', request);
  model.on((changed) => {
    if (changed.has('cursor')) {
      if (state.cursor) element.setAttribute('aria-activedescendant', laneId(state.cursor.lane));
      else element.removeAttribute('aria-activedescendant');
    }
    if (changed.has('delayed')) scrollToDelayed();
    request();
  });

  return {
    element, scene, left, request,
    get lanes() { return layout.lanes; },
    /** Whether hosts are groups with their devices. */
    get grouped() { return (session?.session.hosts.length ?? 0) > 1; },
    /** @param {Ready} next @param {boolean} [more] the same session with more rows */
    open(next, more = false) {
      session = next;
      tones = phaseTones(next.phases);
      if (!more) element.scrollTop = 0;
      if (!next.devices.some(({ id }) => id === focus)) focus = null;
      updateLayout();
      request();
    },
    recolor() {
      palette = readPalette();
      request();
    },
    /** @param {boolean} shown */
    show(shown) {
      visible = shown;
      request();
    },
    /**
     * Brings the gaps of a device into sight with the next drawing, and of its host as much as there is room for.
     * @param {string} device
     */
    revealGap(device) {
      revealing = device;
      request();
    },
    /** Scrolls a row into view. @param {string} row @param {number} [depth] */
    reveal(row, depth = 0) {
      updateLayout();
      const lane = laneFor(layout.lanes, row, depth);
      const height = element.clientHeight - TOP;
      if (!lane) return;
      if (lane.y < element.scrollTop) element.scrollTop = lane.y - 4;
      else if (lane.y + lane.h > element.scrollTop + height) element.scrollTop = lane.y + lane.h - height + 4;
    },
  };
}
/** @typedef {ReturnType<typeof createLanes>} Lanes */

/**
 * Devices in the order of their hosts' lanes.
 * @template {{host: string}} T
 * @param {T[]} devices
 * @param {Ready} session
 */
export function inLaneOrder(devices, session) {
  const { first = [], last = [] } = hostOrder(session);
  const place = (/** @type {T} */ { host }) => Number(last.includes(host)) - Number(first.includes(host));
  return [...devices].sort((a, b) => place(a) - place(b));
}

/** Names, ranks and order of hosts: the slowest first and the median one last. @param {Ready} session */
function hostOrder({ session: { hosts }, ranks, chosen_hosts: chosen }) {
  const several = hosts.length > 1;
  const names = hosts.map(({ name }) => name);
  const short = new Map(shortNames(names).map((text, at) => [names[at], text]));
  if (!several || !ranks) return { several, short };
  const [slowest, median] = [hosts[ranks.slowest].name, hosts[ranks.median].name];
  const rankLabels = new Map([[median, 'median'], [slowest, 'slowest']]);
  // All hosts are drawn in the session's order before the ranks are known; they keep that order.
  return chosen
    ? { several, short, first: [slowest], last: [median], ranks: rankLabels }
    : { several, short, ranks: rankLabels };
}
