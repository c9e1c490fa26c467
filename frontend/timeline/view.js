/** The Timeline view: puts lanes, strip, toolbar and panel together and carries what one of them does to the others. */

import { h, fill, button } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { createFeed } from './feed.js';
import { createModel } from './model.js';
import { createLanes } from './lanes.js';
import { createStrip } from './strip.js';
import { createToolbar, foundText } from './toolbar.js';
import { createSplitter } from './splitter.js';
import { createTooltip } from './tooltip.js';
import { createPanel } from './panel.js';
import { createSearch } from './search.js';
import { createCursor } from './cursor.js';
import { followPointer } from './pointer.js';
import { timelineKeys } from './keys.js';
import { frameSpan, panSpan, zoomSpan } from './scale.js';
import { find, laneAt, laneFor } from './scene.js';
import { createGaps, withGapRows } from './gaps.js';
import { createGapMoves } from './gap-moves.js';
import { ofBrief, ofGap } from './selection.js';

/** @typedef {import('../lib/types').Brief} Brief */
/** @typedef {import('./scene.js').Found} Found */

/** A hit that is drawn narrower than this is zoomed to. */
const LEAST_HIT_PX = 4;

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function create(app) {
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  let first = true;
  let listed = false;
  /** @type {(() => void)|null} */
  let removeKeys = null;
  const name = () => session?.session.name ?? '';

  const again = () => {
    feed.again();
    lanes.request();
    showPanel();
  };
  const failed = (/** @type {Error} */ error) => {
    app.note({ id: 'timeline', severity: 'error', message: error.message, action: { label: 'Try again', run: again } });
    app.live.alarm(error.message);
  };
  const feed = createFeed(() => {
    lanes.request();
    if (first) app.ready();
    first = false;
  }, (error) => {
    failed(error);
    app.ready();
  });
  const gaps = createGaps(() => {
    if (session) lanes.open({ ...session, rows: withGapRows(session.rows, gaps.all) }, true);
    gapMoves.say();
  }, failed);
  const model = createModel(app.link, () => Math.max(1, lanes.element.clientWidth - lanes.left()));
  const element = h('div', { class: 'view' });
  const splitter = createSplitter(() => lanes.request(), () => element.clientHeight);
  const lanes = createLanes(model, {
    chosen: app.chosen, slices: () => gaps.into(feed.slices),
    frame: (scene, rows) => feed.want(name(), scene.scale, model.duration, rows.filter(({ kind }) => kind !== 'gaps')),
    height: (natural) => splitter.lanes(natural, lanes.element.offsetTop),
    drawn(palette) {
      strip.set(model.state.window, app.chosen().devices);
      strip.draw(palette);
    },
  });
  const strip = createStrip({ window: model.look, left: lanes.left });
  const toolbar = createToolbar({
    search: (text) => search.set(text), next: (step) => search.next(step, model.state.window.start_ps),
    leave: () => lanes.element.focus({ preventScroll: true }), flows: () => model.set({ flows: !model.state.flows }),
    gap: (step) => gapMoves.go(step), fit: () => whole(), time: (ms) => goTo(ms * 1e9),
  });
  const tooltip = createTooltip();
  const panel = createPanel(
    { open, select: (brief) => model.select(ofBrief(brief)), frame: () => frame(), list: () => list(), close: () => showPanel(), row: revealRow },
    {
      frame: () => frame(), name: deviceName, mark: (piece) => gapMoves.mark(piece), open: (piece) => { void gapMoves.open(piece); },
      bring: (query) => gaps.one(query),
      copy: (text) => { void copyText(text); },
      occurrences: ({ pattern }) => app.open({ v: 'gaps', sel: '', f: `pat:${pattern}` }),
    },
    { detail: gotDetail, gap: gotGap, error: panelFailed });
  const search = createSearch({
    session: name, marks: (hits) => model.set({ hits }), error: failed, go: open,
    count(all, at) {
      toolbar.setFound(all < 0 ? '' : foundText(at, all), all > 0);
      if (all >= 0) app.live.say(at < 0 ? `${all} events found.` : `${at + 1} of ${all}.`);
      app.link.set({ q: search.text }, 'replace');
    },
  });
  const gapMoves = createGapMoves(model, lanes, { session: () => session, gaps: () => gaps.all, devices: () => app.chosen().devices, say: app.live.answer,
    count: (at, all) => toolbar.setGap(at, all), open, name: deviceName, goTo });
  const cursor = createCursor(model, lanes, { session: name, say: app.live.answer, far: open });

  fill(element, toolbar.element, strip.element, lanes.element, splitter.element, panel.element, tooltip.element);
  fill(app.skip, button('Timeline as table', () => list(), { class: 'skip' }));

  const whole = () => model.look({ start_ps: 0, end_ps: model.duration });
  const frame = () => { const span = model.selected(); if (span) model.look(frameSpan(span)); };
  /** @param {number} factor @param {number} [at] */
  const zoom = (factor, at) => {
    const { start_ps, end_ps } = model.state.window;
    model.look(zoomSpan({ start_ps, end_ps }, factor, at ?? (start_ps + end_ps) / 2));
  };
  const pan = (/** @type {number} */ by) => model.look(panSpan(model.state.window, by));

  /** @param {number} ps */
  function goTo(ps) {
    const { start_ps, end_ps } = model.state.window;
    const half = (end_ps - start_ps) / 2;
    model.look({ start_ps: ps - half, end_ps: ps + half });
  }

  /** Selects an event and brings it into sight. @param {Brief} brief */
  function open(brief) {
    const { start_ps, end_ps } = model.state.window;
    const end = brief.start_ps + brief.duration_ps;
    const px = brief.duration_ps / lanes.scene().scale.psPerPx;
    if (px < LEAST_HIT_PX) model.look(frameSpan({ start_ps: brief.start_ps, end_ps: end }, 8));
    else if (brief.start_ps >= end_ps || end <= start_ps) goTo((brief.start_ps + end) / 2);
    model.select(ofBrief(brief));
    lanes.arrange();
    const lane = laneFor(lanes.lanes, brief.row, brief.depth);
    if (lane) lanes.reveal(lane);
    app.live.answer(`${brief.name} is selected.`);
  }

  /** @param {Found} found */
  function selectFound(found) {
    const { start_ps, end_ps, row, depth, event, count } = found;
    if (found.lane.row.kind === 'gaps') gapMoves.show({ device: found.lane.row.device ?? '', start_ps, duration_ps: end_ps - start_ps, cause: 'other' });
    else if (count > 1) model.look(frameSpan({ start_ps, end_ps }, 0.02));
    else if (event === null) model.select({ kind: 'window', start_ps, end_ps });
    else model.select({ kind: 'event', row, depth, start_ps, duration_ps: end_ps - start_ps, name: found.name, event });
  }

  /** What Enter does where the keyboard is. */
  function enter() {
    const { cursor: at } = model.state;
    if (!at) return;
    if (at.lane.kind !== 'slices' || (at.index < 0 && at.lane.fold)) toggle(at.lane);
    else if (at.count > 1) model.select({ kind: 'merged', row: at.row, depth: at.depth, start_ps: at.start_ps, end_ps: at.end_ps, count: at.count });
    else selectFound(at);
  }

  /** @param {import('./layout.js').Lane|null} lane */
  function toggle(lane) {
    if (!lane?.fold) return;
    model.fold(lane.fold.id, !lane.fold.open);
    app.live.answer(`${lane.label} is ${lane.fold.open ? 'folded' : 'open'}.`);
  }

  /** @param {string} row */
  function revealRow(row) {
    const lane = laneFor(lanes.lanes, row, 0);
    if (lane?.kind === 'more') toggle(lane);
    lanes.arrange();
    const own = laneFor(lanes.lanes, row, 0);
    if (own) lanes.reveal(own);
  }

  /** @param {import('../lib/types').EventDetail} detail */
  function gotDetail(detail) {
    const { selection } = model.state;
    if (selection?.kind === 'event') {
      model.set({ detail, selection: { ...selection, depth: detail.depth, row: detail.row || selection.row, start_ps: detail.start_ps, duration_ps: detail.duration_ps, name: detail.name, event: detail.event } });
    }
  }

  /** @param {string} id */
  function deviceName(id) { return session?.devices.find((device) => device.id === id)?.name ?? id; }

  /** @param {import('../lib/views').GapDetail} gap */
  function gotGap(gap) {
    Object.assign(gap, gaps.context(gap));
    const { selection } = model.state;
    if (selection?.kind === 'gap') model.set({ gap, selection: ofGap(gap.device, gap.start_ps, gap.start_ps + gap.duration_ps) });
  }

  /** @param {string} text */
  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
      app.live.answer('The gap is copied as text.');
    } catch {
      app.note({ id: 'copy', severity: 'info', message: 'The browser does not let this page copy.' });
    }
  }

  /** @param {string} message @param {number} status */
  function panelFailed(message, status) {
    const { selection } = model.state;
    const stale = status === 404 || status === 400;
    if (!stale) return failed(new Error(message));
    // The same gap on another core may begin elsewhere: the window shows what is known.
    if (selection?.kind === 'gap' && selection.end_ps > selection.start_ps) return model.select({ kind: 'window', start_ps: selection.start_ps, end_ps: selection.end_ps });
    app.note({ id: 'stale', severity: 'info', message: `The linked ${selection?.kind === 'gap' ? 'gap' : 'event'} is not in this session.` });
    return model.select(null);
  }

  function showPanel() {
    listed = false;
    if (session) panel.select(session, model.state.selection, app.chosen().hosts);
  }

  function list() {
    if (!session) return;
    listed = true;
    const rows = [...new Set(lanes.lanes.flatMap((lane) => (lane.kind === 'more' || lane.row.kind === 'classes' || lane.row.kind === 'gaps' ? [] : lane.rows)))];
    panel.list(session, model.state.window, rows.map(({ id }) => id), 'Timeline as table');
  }

  model.on((changed) => {
    const { selection, window: span, detail, gap } = model.state;
    if (changed.has('window')) toolbar.setWindow(span, model.duration);
    if (changed.has('flows')) toolbar.setFlows(model.state.flows);
    if (changed.has('selection')) gapMoves.say();
    if (changed.has('selection') && !(changed.has('detail') && detail) && !(changed.has('gap') && gap)) {
      showPanel();
      if (selection?.kind === 'window') app.live.say('A window is selected.');
    }
  });

  followPointer(lanes.element, {
    scene: lanes.scene, select: (span) => model.select({ kind: 'window', ...span }), preview: (preview) => model.set({ preview }), pan, zoom,
    grips: () => (model.state.selection?.kind === 'window' ? model.selected() : null),
    click(x, y) {
      const scene = lanes.scene();
      const found = find(scene, x, y);
      const lane = laneAt(scene, y);
      if (x < scene.scale.left || lane?.kind !== 'slices') toggle(lane);
      else if (found) selectFound(found);
    },
    frame(x, y) {
      const found = find(lanes.scene(), x, y);
      if (found) model.look(frameSpan(found));
    },
    hover(x, y, event) {
      const scene = lanes.scene();
      const found = event && y >= scene.top ? find(scene, x, y) : null;
      const { hover } = model.state;
      const same = found && hover && found.lane.id === hover.lane.id && found.start_ps === hover.start_ps;
      model.set({ hover: same ? hover : found, pointer: event && x >= scene.scale.left ? x : null });
      tooltip.show(found, event?.clientX ?? 0, event?.clientY ?? 0);
    },
  });

  /** The step before or after what is selected, or before or after the middle of the window. @param {'next'|'previous'} direction */
  async function step(direction) {
    const row = ['steps', 'annotations'].flatMap((kind) => lanes.lanes.filter((lane) => lane.row.kind === kind))[0]?.row;
    const { selection, window: span } = model.state;
    if (!row) return;
    const from = selection?.start_ps ?? (span.start_ps + span.end_ps) / 2;
    const { event } = await get('neighbor', { session: name(), row: row.id, depth: 0, start_ps: Math.round(from), direction });
    if (event) open(event);
    else app.live.answer(direction === 'next' ? 'This is the last step.' : 'This is the first step.');
  }

  const keys = timelineKeys({
    gap: gapMoves.go, zoom, pan: (part) => pan((model.state.window.end_ps - model.state.window.start_ps) * part), frame, whole, step, enter,
    along: cursor.along, across: cursor.across,
    occurrence(way) { const brief = model.state.detail?.occurrences[way]; if (brief) open(brief); },
    flows: () => model.set({ flows: !model.state.flows }), search: toolbar.focusSearch, time: toolbar.askTime,
    clear() {
      if (listed) showPanel();
      else if (search.text) { toolbar.setSearch(''); search.set(''); } else model.select(null);
    },
  });

  /** @param {boolean} [again] whether the session is open already */
  function fromLink(again) {
    if (!session) return;
    const { selection } = model.state;
    const stale = model.open(session.session.duration_ps);
    toolbar.setWindow(model.state.window, model.duration);
    toolbar.setSearch(app.link.state.q ?? '');
    search.set(app.link.state.q ?? '');
    if (!again && selection === model.state.selection) showPanel();
    if (stale.length) app.note({ id: 'stale', severity: 'info', message: stale.join(' ') });
  }

  return {
    element,
    open(next) {
      session = next;
      first = true;
      feed.clear();
      strip.open(next);
      requestAnimationFrame(() => { fromLink(); lanes.open(next); });
      gaps.open(next);
    },
    filter: lanes.request,
    move: () => fromLink(true),
    show(on) {
      lanes.show(on);
      app.skip.hidden = !on;
      if (on) removeKeys ??= app.keys.add(keys);
      else {
        removeKeys?.();
        removeKeys = null;
      }
    },
    recolor: lanes.recolor,
  };
}
