/** The lanes on screen: a canvas that stays in place while rows scroll, drawn at most once per animation frame. */

import { clamp } from '../lib/axis.js';
import { h, fill } from '../lib/dom.js';
import { oncePerFrame } from '../lib/activity.js';
import { readPalette } from '../lib/theme.js';
import { annotationTones } from '../lib/annotation-tones.js';
import { shortNames } from '../lib/host-names.js';
import { shiftText } from './align.js';
import { createScale, isLowWindow } from './scale.js';
import { fixedHeight, foldsText, layoutRows } from './layout.js';
import { arrowsOf, paint, RULER_PX } from './paint.js';
import { penOn } from './draw.js';
import { strengthOf } from './legend.js';
import { keyOf, laneId, laneText } from './slice-style.js';
import { labelledLane, laneFor, laneTop, visibleSlices } from './scene.js';
import { followed } from './follow.js';
import { waitArrows, waitTexts } from './waits.js';

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('./layout.js').LayoutOptions} LayoutOptions */

/** The y at which the first lane begins. */
const TOP_PX = RULER_PX + 3;
/** Space above the first row and below the last one, as in the layout. */
const MARGIN_PX = 3;
/** Space above and below a lane that is scrolled into view. */
const SCROLL_MARGIN_PX = 4;
/** Width of the labels in wide and narrow windows. */
const LABELS_PX = { wide: 188, narrow: 132 };
const NARROW_BELOW_PX = 1200;
/** A row of steps that are bars is as high as the room allows, within these limits. */
const STEPS_PX = { min: 72, max: 300 };
/** A lane of folded threads draws at most this many of them. */
const MAX_FOLDED_ROWS = 16;

/**
 * @param {import('./model.js').Model} model
 * @param {object} on
 * @param {() => {hosts: string[], devices: string[]}} on.chosen names of hosts, ids of devices
 * @param {(scene: Scene, rows: import('../lib/types').Row[]) => void} on.frame called before each drawing with the rows
 *   whose slices it needs
 * @param {() => import('./columns.js').Slices|null} on.slices
 * @param {Pick<ReturnType<typeof import('./waits.js').createWaits>, 'bars'|'delayed'>} on.waits
 * @param {(natural: number) => number} on.height gets the height that all lanes need and returns the available one, px
 * @param {(palette: import('../lib/theme.js').Palette) => void} on.drawn called after each drawing
 */
export function createLanes(model, on) {
  const canvas = h('canvas', null);
  const spacer = h('div', null);
  const list = h('div', { role: 'grid', class: 'visually-hidden', 'aria-label': 'Rows' });
  const element = h('div', {
    class: 'lanes', role: 'application', tabindex: 0, 'data-testid': 'timeline-canvas',
    'aria-label': 'Timeline: arrows move between slices and rows, Enter selects' }, canvas, spacer, list);
  const { state } = model;
  /** @type {Ready|null} */
  let session = null;
  let palette = readPalette();
  let tones = new Map();
  let isVisible = false;
  /** Identifies the lanes in `list`, which screen readers read. */
  let listedKey = '';
  /** @type {ReturnType<typeof layoutRows>} */
  let layout = { lanes: [], height: 0, blockEnd: 0 };
  /** The ids of devices that are open because there is room for their rows. @type {string[]} */
  let unfolded = [];
  /** The height of the row of steps while it shows many as bars. @type {number|undefined} */
  let stepsPx;
  /** Identifies the room that `unfolded` and `stepsPx` fill. */
  let filledKey = '';
  /** The device whose gaps were last selected or scrolled into view. @type {string|null} */
  let focusDevice = null;
  /** Whether a selection has changed that the panel may cover. */
  let revealsSelection = false;
  /** The device whose gaps are scrolled into view once they are loaded. @type {string|null} */
  let deviceToReveal = null;

  const left = () => (innerWidth < NARROW_BELOW_PX ? LABELS_PX.narrow : LABELS_PX.wide);
  const partners = () => (state.detail ? [...state.detail.flow.from, ...state.detail.flow.to] : []);

  function updateLayout() {
    if (!session) return;
    const { align, open, piece, selection, window: span, hiddenRows, pinnedRows } = state;
    /** @type {LayoutOptions['requiredDepths']} */
    const requiredDepths = new Map();
    const selected = selection ? [{ row: model.rowOf(selection), depth: selection.depth }] : [];
    for (const { row, depth } of [...partners(), ...selected, ...(piece ? [piece] : [])]) {
      requiredDepths.set(row, Math.max(depth, requiredDepths.get(row) ?? 0));
    }
    if (selection?.kind === 'gap') focusDevice = selection.device;
    else if (deviceToReveal) focusDevice = deviceToReveal;
    const { rows, devices: allDevices } = session;
    const chosen = on.chosen();
    const options = {
      ...chosen,
      ...hostOptions(session),
      open,
      requiredDepths,
      hiddenRows,
      pinnedRows,
      allDevices,
      fontScale: palette.fontScale,
      focusDevice,
      tightPx: isLowWindow() ? 1 : 0,
      compact: isLowWindow() && selection?.kind === 'gap',
      shiftText: (/** @type {string} */ row) =>
        align ? shiftText(align, row, (span.start_ps + span.end_ps) / 2) : '',
    };
    // Without a selection, the row of many steps takes the free height, and devices, then threads, open one by one as
    // far as it allows. A selection, whose panel takes some of the height, leaves both, so that nothing moves below the
    // pointer.
    const steps = rows.find(({ kind }) => kind === 'steps')?.id ?? '';
    const hasManySteps = Boolean(on.slices()?.rows.get(steps)?.[0]?.parts) && !lanes.grouped;
    const room = on.height(Infinity) - TOP_PX;
    const roomKey = [
      room, rows.length, palette.fontScale, foldsText(open), chosen.devices, hasManySteps, [...hiddenRows],
      [...pinnedRows],
    ].join();
    if ((!selection && roomKey !== filledKey) || hasManySteps !== Boolean(stepsPx)) {
      filledKey = roomKey;
      unfolded = [];
      const free = room - layoutRows(rows, options).height;
      stepsPx = hasManySteps ? clamp(free, STEPS_PX.min, STEPS_PX.max) : undefined;
      const filled = (/** @type {string[]} */ ...more) =>
        layoutRows(rows, { ...options, stepsPx, unfolded: [...unfolded, ...more] });
      for (const id of chosen.devices) {
        if (filled(id).height > room) break;
        unfolded.push(id);
      }
      for (const { row, fold } of filled().lanes) {
        if (fold && !fold.open && row.kind === 'thread' && filled(fold.id).height <= room) unfolded.push(fold.id);
      }
    }
    layout = layoutRows(rows, { ...options, stepsPx, unfolded });
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
    const fixed = fixedHeight(layout, element.offsetHeight - TOP_PX);
    // The topmost scrolled lane is never cut.
    const topLane = scrollTop
      ? layout.lanes.find(({ y }) => y >= fixed && y - MARGIN_PX - fixed >= scrollTop)
      : null;
    const scroll = topLane ? topLane.y - MARGIN_PX - fixed : scrollTop;
    return {
      scale: createScale(state.window, left(), width),
      lanes: layout.lanes,
      top: TOP_PX,
      scroll,
      fixed,
      width,
      height,
      slices: on.slices(),
      isHidden: (slice) => !strengthOf(state.filter, lanes.keyOf(slice)),
    };
  }

  /** The rows of visible lanes, and of those one screen above and below. @param {Scene} frame */
  function neededRows({ scroll, height, fixed, lanes: all }) {
    const nearLanes = all.filter(
      (lane) => lane.y < fixed || (lane.y + lane.h >= scroll - height && lane.y <= scroll + 2 * height),
    );
    const drawnRows = nearLanes.flatMap(({ kind, rows }) => (kind === 'more' ? rows.slice(0, MAX_FOLDED_ROWS) : rows));
    return [...new Set(drawnRows)];
  }

  function draw() {
    if (!session || !isVisible || !element.clientWidth || innerHeight === 0) return;
    updateLayout();
    const natural = layout.height + TOP_PX;
    const available = on.height(natural);
    // The last visible lane is not cut until the lanes are scrolled.
    const lastLane = layout.lanes.findLast((lane) => TOP_PX + lane.y + lane.h + MARGIN_PX <= available);
    const uncut = available < natural && lastLane ? TOP_PX + lastLane.y + lastLane.h + MARGIN_PX : available;
    element.style.height = `${uncut}px`;
    const frame = scene();
    spacer.style.height = `${Math.max(0, natural - frame.height)}px`;
    if (deviceToReveal && scrollToGap(deviceToReveal)) {
      deviceToReveal = null;
      scrollToDelayed();
      frame.scroll = scene().scroll;
    }
    if (revealsSelection && laneFor(layout.lanes, state.selection?.row ?? '', 0)) {
      revealsSelection = false;
      lanes.reveal(state.selection?.row ?? '', state.selection?.depth);
      frame.scroll = scene().scroll;
    }
    on.frame(frame, neededRows(frame));
    frame.slices = on.slices();
    const pen = penOn(canvas, frame.width, frame.height, palette);
    const { detail, piece, flows, align } = state;
    const selection = model.toDrawn(state.selection);
    /** @param {import('../lib/routes').EventSummary[]} events */
    const drawnSpans = (events) =>
      events.flatMap(
        ({ row, depth, start_ps, duration_ps }) =>
          model.toDrawn({ row, depth, start_ps, end_ps: start_ps + duration_ps }) ?? [],
      );
    const flow =
      flows && detail && selection
        ? { from: drawnSpans(detail.flow.from), to: drawnSpans(detail.flow.to) }
        : { from: [], to: [] };
    const [waits, delayed] = [on.waits.bars(frame.lanes), on.waits.delayed(frame.lanes)];
    const arrows = [
      ...(selection ? arrowsOf(selection, flow) : []),
      ...(flows ? waitArrows(delayed, selection?.device ?? '') : []),
    ];
    const rowKind = session.rows.find(({ id }) => id === selection?.row)?.kind;
    const follow = detail && selection && followed(detail, selection, frame, model.toDrawn);
    paint(pen, frame, palette, tones, {
      ...state,
      follow,
      isFollowed: detail ? Boolean(follow) : rowKind === 'annotations' || rowKind === 'scopes',
      selection,
      waits,
      delayed,
      arrows,
      focused: document.activeElement === element,
      edges: align && align.edges,
      partners: piece ? [piece] : [...flow.from, ...flow.to],
    });
    // The focus ring is drawn, because the canvas would cover an outline of the element.
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
        selection: state.selection && { ...state.selection, row: model.rowOf(state.selection) },
        hover: state.hover,
        cursor: state.cursor,
        window: state.window,
        piece,
        get waits() {
          return waits.map((bar) => ({ ...bar, text: waitTexts(bar)[0] }));
        },
        delayed,
        arrows,
        follow: follow && {
          pieces: follow.pieces, runs: follow.runs, rows: [...follow.own.keys()].map(({ id }) => id) },
        edges: align && Object.fromEntries(align.edges),
      },
    });
    on.drawn(palette);
  }

  /** Scrolls to the gaps of a device and its host; false if they are not loaded yet. @param {string} device */
  function scrollToGap(device) {
    const deviceLanes = layout.lanes.filter(({ row }) => row.device === device);
    const lane =
      deviceLanes.find(({ row }) => row.kind === 'gaps') ??
      (session?.devices.find(({ id }) => id === device)?.idle_ps ? null : deviceLanes[0]);
    if (!lane) return false;
    if (layout.blockEnd) {
      deviceLanes.toReversed().forEach(({ row, depth }) => lanes.reveal(row.id, depth));
      return true;
    }
    const bottom = Math.max(...deviceLanes.map((deviceLane) => deviceLane.y + deviceLane.h)) + SCROLL_MARGIN_PX;
    const height = element.clientHeight - TOP_PX;
    const group = layout.lanes.filter(({ row, y }) => row.host === lane.row.host && y <= lane.y);
    // Shows as much of the host as fits above the device's last lane. If that leaves out the host's classes, the view
    // begins with them, provided that the gap still fits.
    const firstFitting = group.find(({ y }) => bottom - y + SCROLL_MARGIN_PX <= height) ?? lane;
    const classLane = group.find(({ row }) => row.kind === 'classes');
    const classesFit = classLane && lane.y + lane.h - classLane.y + 2 * SCROLL_MARGIN_PX <= height;
    const top = (classesFit && classLane.y < firstFitting.y ? classLane : firstFitting).y - SCROLL_MARGIN_PX;
    if (top < element.scrollTop || bottom > element.scrollTop + height) element.scrollTop = top;
    return true;
  }

  /** Scrolls towards the hosts that wait for the selected gap's host; that host's classes and the gap stay in view. */
  function scrollToDelayed() {
    const waiting = on.waits.delayed(layout.lanes).filter(({ start_ps, until_ps }) => until_ps > start_ps);
    const gap = laneFor(layout.lanes, model.rowOf(state.selection), 0);
    if (!gap || !waiting.length) return;
    const classLane =
      layout.lanes.find(
        ({ row, y }) =>
          row.kind === 'classes' &&
          row.host === gap.row.host &&
          y <= gap.y &&
          y + SCROLL_MARGIN_PX >= element.scrollTop,
      ) ?? gap;
    const scroll = Math.min(
      classLane.y - SCROLL_MARGIN_PX,
      ...waiting.map(({ lane }) => lane.y + lane.h + SCROLL_MARGIN_PX - element.clientHeight + TOP_PX),
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
    if (changed.has('selection')) revealsSelection = true;
    if (changed.has('delayed')) scrollToDelayed();
    request();
  });

  const lanes = {
    element, scene, left, request,
    get lanes() { return layout.lanes; },
    /** Whether the lanes are in groups, one per host. */
    get grouped() { return (session?.session.hosts.length ?? 0) > 1; },
    /** @param {Ready} next @param {boolean} [more] the same session with more rows */
    open(next, more = false) {
      session = next;
      model.setRows(next.rows);
      tones = annotationTones(next.annotations);
      if (!more) element.scrollTop = 0;
      if (!next.devices.some(({ id }) => id === focusDevice)) focusDevice = null;
      updateLayout();
      request();
    },
    /** The key of a slice in the legend; empty without one. @param {import('./scene.js').DrawnSlice|null} slice */
    keyOf(slice) {
      const slices = on.slices();
      // Other columns may have arrived since the slice was found.
      const start = slice && slices?.rows.get(slice.row)?.[slice.depth]?.start[slice.index];
      return slice && slices && start === slice.start_ps ? keyOf(tones, slice.lane, slice.index, slices) : '';
    },
    recolor() {
      palette = readPalette();
      request();
    },
    /** @param {boolean} shown */
    show(shown) {
      isVisible = shown;
      request();
    },
    /**
     * Scrolls, with the next drawing, to the gaps of a device and to as much of its host as fits above them.
     * @param {string} device
     */
    revealGap(device) {
      deviceToReveal = device;
      request();
    },
    /** Scrolls a row into view. @param {string} row @param {number} [depth] */
    reveal(row, depth = 0) {
      updateLayout();
      const lane = laneFor(layout.lanes, row, depth);
      const height = element.clientHeight - TOP_PX;
      if (!lane) return;
      const bottom = lane.y + lane.h;
      const fixed = fixedHeight(layout, element.offsetHeight - TOP_PX);
      if (lane.y < fixed) return;
      if (lane.y - fixed < element.scrollTop) element.scrollTop = lane.y - fixed - SCROLL_MARGIN_PX;
      else if (bottom > element.scrollTop + height) element.scrollTop = bottom - height + SCROLL_MARGIN_PX;
    },
  };
  return lanes;
}
/** @typedef {ReturnType<typeof createLanes>} Lanes */

/**
 * Devices in the order of their hosts' lanes.
 * @template {{host: string}} T
 * @param {T[]} devices
 * @param {Ready} session
 */
export function inLaneOrder(devices, session) {
  const { firstHosts = [], lastHosts = [] } = hostOptions(session);
  const order = (/** @type {T} */ { host }) => Number(lastHosts.includes(host)) - Number(firstHosts.includes(host));
  return [...devices].sort((a, b) => order(a) - order(b));
}

/**
 * The layout's options about hosts: if only some have rows, the slowest is at the top and the median one at the bottom.
 * @param {Ready} session
 * @returns {Pick<LayoutOptions, 'severalHosts'|'shortNames'|'firstHosts'|'lastHosts'|'rankLabels'>}
 */
function hostOptions({ session: { hosts }, ranks, chosen_hosts: chosen }) {
  const names = hosts.map(({ name }) => name);
  const options = {
    severalHosts: hosts.length > 1,
    shortNames: new Map(shortNames(names).map((text, at) => [names[at], text])),
  };
  if (!options.severalHosts || !ranks) return options;
  const [slowest, median] = [hosts[ranks.slowest].name, hosts[ranks.median].name];
  const rankLabels = new Map([[median, 'median'], [slowest, 'slowest']]);
  // Before the ranks are known, all hosts are drawn in the session's order; they keep that order.
  return { ...options, rankLabels, ...(chosen ? { firstHosts: [slowest], lastHosts: [median] } : {}) };
}
