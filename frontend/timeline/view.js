/** The Timeline view: connects lanes, strip, toolbar and panel. */

import { h, fill, button } from '../lib/dom.js';
import { get, getShared, NOT_RECORDED } from '../lib/api.js';
import { createStaleNote, staleText } from '../frame/stale-note.js';
import { createAlign } from './align.js';
import { createFeeds } from './feeds.js';
import { createNavigation } from './navigation.js';
import { createModel } from './model.js';
import { createLanes, inLaneOrder } from './lanes.js';
import { createOverviewStrip } from './overview-strip.js';
import { createToolbar } from './toolbar.js';
import { createSplitter } from './splitter.js';
import { createTooltip } from './tooltip.js';
import { createLegend } from './legend.js';
import { createRowActions } from './row-actions.js';
import { createPanel } from './panel.js';
import { createPanelActions } from './panel-actions.js';
import { createCursor } from './cursor.js';
import { followPointer } from './pointer.js';
import { timelineKeys } from './keys.js';
import { frameSpan } from './scale.js';
import { findSlice, laneAt } from './scene.js';
import { createGaps } from './gaps.js';
import { createMoreHosts } from './more-hosts.js';
import { createShownHosts } from './shown-hosts.js';
import { createWaits } from './waits.js';
import { windowSelection, selectionText, selectionValue } from './selection.js';

/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('./scene.js').DrawnSlice} DrawnSlice */

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function timelineView(app) {
  const { live, link } = app;
  const noteStale = createStaleNote(app, 'timeline');
  const noteStaleTimes = createStaleNote(app, 'timeline', 'times');
  /** @type {Ready|null} */
  let session = null;
  let awaitsFirstSlices = true;
  let isTableShown = false;
  /** The link's finding when the panel was drawn. */
  let drawnFinding = '';
  /** @type {(() => void)|null} */
  let removeKeys = null;
  const name = () => session?.session.name ?? '';
  const reportReady = () => {
    if (!awaitsFirstSlices) return;
    awaitsFirstSlices = false;
    app.setState();
    void loadRanks();
  };

  const retry = () => {
    feeds.allowRetry();
    waits.allowRetry();
    lanes.request();
    showPanel();
  };
  const failed = (/** @type {Error} */ error) => {
    if (/** @type {import('../lib/api.js').RequestError} */ (error).status === NOT_RECORDED) {
      return app.reportError('timeline', error);
    }
    app.addNote({
      id: 'timeline',
      severity: 'error',
      message: error.message,
      action: { label: 'Try again', run: retry },
    });
    live.announceError(error.message);
    reportReady();
  };
  const model = createModel(link, () => Math.max(1, lanes.element.clientWidth - lanes.left()));
  const feeds = createFeeds(model, {
    arrived(hasHostRows) {
      lanes.request();
      if (hasHostRows) reportReady();
    },
    failed,
  });
  const { state } = model;
  const navigation = createNavigation(model, {
    lanes: () => lanes,
    gaps: () => gaps,
    session: () => session,
    announce: live.announceNow,
  });
  const { showSession, frameSelection, zoom, pan, open, selectSlice, selectSpan, enter, toggle } = navigation;
  const shownHosts = createShownHosts(app, state, () => session);
  const { deviceName, shortDeviceName, shortName, comparedHost, requestHosts } = shownHosts;
  const waits = createWaits(model, {
    session: () => session,
    shortName,
    arrived: () => lanes.request(),
    failed,
    open,
  });
  const element = h('div', { class: 'view' });
  const splitter = createSplitter(() => lanes.request(), () => element.clientHeight);
  const hintPx = () => (panel.element.classList.contains('hint') ? panel.element.offsetHeight : 0);
  const lanes = createLanes(model, {
    chosen: app.tracedSelection,
    slices: feeds.slices,
    frame({ scale }, rows) {
      feeds.ensure(name(), scale, rows);
      if (!awaitsFirstSlices) waits.ensure(scale);
    },
    waits,
    height: (natural) =>
      splitter.lanesHeight(
        natural,
        lanes.element.offsetTop + moreHosts.element.offsetHeight,
        panel.neededPx,
        hintPx(),
      ),
    drawn: (palette) => strip.draw(palette),
  });
  const gaps = createGaps(model, lanes, {
    arrived: () => lanes.request(),
    failed,
    session: () => session,
    devices() {
      const ids = new Set(app.tracedSelection().devices);
      return session ? inLaneOrder(session.devices, session).flatMap(({ id }) => (ids.has(id) ? id : [])) : [];
    },
    announce: live.announceNow,
    deviceName,
    position(device, position, details) {
      toolbar.setGap(position && `${position} on ${shortDeviceName(device)}`, `${details} on ${deviceName(device)}`);
    },
    selectNeighbour: (query, end) => cursor.selectNeighbour(query, end),
    open,
    comparedHost,
  });
  const moreHosts = createMoreHosts(app, lanes.left);
  const strip = createOverviewStrip({
    window: model.setWindow,
    left: lanes.left,
    shown: () => state.window,
    devices: () => app.tracedSelection().devices,
    causes: () => gaps.strip,
  });
  const rowActions = createRowActions(
    model,
    () => lanes,
    ({ device, host, label }) =>
      device ? shortDeviceName(device) : lanes.grouped ? `${shortName(host)}: ${label}` : label,
    live.announceNow,
  );
  const toolbar = createToolbar({
    rows: rowActions.menu,
    query: () => session?.query ?? {},
    from: () => state.window.start_ps,
    hit: open,
    error: failed,
    showHits(hits, text, message) {
      model.set({ hits });
      link.set({ q: text }, 'replace');
      if (message) live.announce(message);
    },
    leave: () => lanes.element.focus({ preventScroll: true }),
    flows: toggleFlows,
    align: toggleAlign,
    gap: gaps.showNeighbour,
    longest: gaps.longest,
    fit: showSession,
    time: model.goTo,
  });
  const legend = createLegend(model, live.announceNow);
  const tooltip = createTooltip();
  const actions = createPanelActions(app, model, {
    lanes,
    gaps,
    waits,
    navigation,
    shownHosts,
    session: () => session,
    overview: () => overview(),
    showTable,
    showPanel,
    failed,
    detailFailed,
    completeSelection,
  });
  const panel = createPanel(actions.panel, actions.details);
  const cursor = createCursor(model, lanes, {
    session: name,
    announce: live.announceNow,
    wait: waits.textOf,
    openEvent: open,
    failed,
  });
  let isCompleting = false;

  fill(
    element, toolbar.element, legend.element, strip.element, lanes.element, moreHosts.element, splitter.element,
    panel.element, tooltip.element, rowActions.element,
  );
  fill(app.skip, button('Timeline as table', showTable, { class: 'skip', 'data-testid': 'timeline-as-table' }));

  /**
   * Adds details to the selection that the panel already shows.
   * @param {Partial<import('./model.js').TimelineState>} patch
   */
  function completeSelection(patch) {
    isCompleting = true;
    model.set(patch);
    isCompleting = false;
  }

  function toggleFlows() { model.set({ flows: !state.flows }); }

  function toggleAlign() { void align(!state.align); }

  /** The findings, and the steps with their device work. @returns {Promise<import('../lib/routes').Overview>} */
  const overview = () => getShared('overview', /** @type {Ready} */ (session).query);

  const align = createAlign(model, app, {
    name,
    overview,
    shownRows: () => session && session.rows,
    failed,
  });

  /** Ranks the hosts, once the lanes are drawn, because that needs an analysis of all hosts. */
  async function loadRanks() {
    const requested = session;
    if (!session || session.ranks || session.session.hosts.length < 2) return;
    const answer = await overview().catch(() => null);
    if (requested?.query !== session?.query || !session || !answer?.ranks) return;
    session = { ...session, ranks: answer.ranks };
    openRows(true);
  }

  /** @param {import('../lib/api.js').RequestError} error */
  function detailFailed(error) {
    const { selection } = state;
    const kind = selection?.kind;
    if (error.status !== 404 && error.status !== 400) failed(error);
    // The same gap on another core may begin at another time: its window is shown instead.
    else if (kind === 'gap' && selection && selection.end_ps > selection.start_ps) {
      model.select(windowSelection(selection.start_ps, selection.end_ps));
    } else {
      noteStale(staleText(kind === 'gap' ? 'gap' : 'event'));
      model.select(null);
    }
  }

  function showPanel() {
    isTableShown = false;
    drawnFinding = link.state.fi ?? '';
    if (session) panel.select(session, state.selection, app.tracedSelection().hosts);
  }

  function showTable() {
    if (!session) return;
    isTableShown = true;
    const rows = lanes.lanes.flatMap(({ kind, row, rows: laneRows }) =>
      kind === 'more' || row.kind === 'classes' || row.kind === 'gaps' ? [] : laneRows.map(({ id }) => id),
    );
    void panel
      .list(session, state.window, [...new Set(rows)], 'Timeline as table')
      .then(() => /** @type {HTMLElement|null} */ (panel.element.querySelector('tr[tabindex="0"]'))?.focus());
  }

  model.on((changed) => {
    if (['window', 'flows', 'align'].some((key) => changed.has(/** @type {'window'} */ (key)))) {
      toolbar.set(state, model.duration);
    }
    if (changed.has('hiddenRows')) rowActions.list(session?.rows ?? []);
    if (!changed.has('selection')) return;
    gaps.reportPosition();
    requestHosts();
    if (isCompleting) return;
    showPanel();
    if (state.selection?.kind === 'window') live.announce('A window is selected.');
  });

  followPointer(lanes.element, {
    scene: lanes.scene,
    select: ({ start_ps, end_ps }) => model.select(windowSelection(start_ps, end_ps)),
    preview: (preview) => model.set({ preview }),
    pan,
    zoom,
    selectedWindow: () => (state.selection?.kind === 'window' ? state.selection : null),
    click(x, y, spans) {
      const scene = lanes.scene();
      const slice = findSlice(scene, x, y);
      const lane = laneAt(scene, y);
      const wait = waits.waitAt(scene, x, y);
      if (x < scene.scale.left || lane?.kind !== 'slices') toggle(lane);
      else if (spans && slice) selectSpan(slice);
      else if (wait) void waits.open(wait);
      else if (slice) selectSlice(slice);
    },
    frame(x, y) {
      const slice = findSlice(lanes.scene(), x, y);
      if (slice) model.setWindow(frameSpan(slice));
    },
    hover(x, y, event) {
      const scene = lanes.scene();
      const slice = event && findSlice(scene, x, y);
      const { hover } = state;
      const isHovered = slice && hover && slice.lane.id === hover.lane.id && slice.start_ps === hover.start_ps;
      model.set({ hover: isHovered ? hover : slice, pointer: event && x >= scene.scale.left ? x : null });
      rowActions.hover(event && x < scene.scale.left ? laneAt(scene, y) : null);
      tooltip.show(slice, event?.clientX ?? 0, event?.clientY ?? 0, waits.textAt(scene, x, y));
    },
  });

  /** @param {'next'|'previous'} direction */
  function occurrence(direction) {
    const event = state.detail?.occurrences[direction];
    if (event) open(event);
  }

  function clearSearchOrSelection() {
    if (isTableShown) showPanel();
    else if (toolbar.text) toolbar.search('');
    else model.select(null);
  }

  const keys = timelineKeys({
    zoom,
    pan: (share) => pan((state.window.end_ps - state.window.start_ps) * share),
    along: cursor.along,
    across: cursor.across,
    enter,
    frame: frameSelection,
    showSession,
    search: toolbar.focusSearch,
    askTime: toolbar.askTime,
    step: (direction) => cursor.selectStep(direction, session?.rows ?? []),
    gap: gaps.showNeighbour,
    longest: gaps.longest,
    occurrence,
    align: toggleAlign,
    flows: toggleFlows,
    pinRow: () => rowActions.run('pinnedRows'),
    hideRow: () => rowActions.run('hiddenRows'),
    hideClass: () => legend.hide(lanes.keyOf(state.hover ?? state.cursor)),
    clear: clearSearchOrSelection,
  });

  /**
   * Shows the session's rows. Those of gaps and of scopes arrive later than the others, maybe before the first frame.
   * @param {boolean} more whether the rows are more of the same session
   */
  function openRows(more) {
    if (!session) return;
    lanes.open(session, more);
    rowActions.list(session.rows);
    legend.open(session);
    moreHosts.draw(session);
    gaps.reportPosition();
    if (state.align) void align(true, true);
  }

  async function loadMoreRows() {
    const requested = session;
    if (!requested?.more_rows) return;
    const { rows } = await get('scopes', requested.query).catch(() => requested);
    if (requested !== session) return;
    session = { ...requested, rows };
    openRows(true);
    // The facts about an op are known now.
    if (state.selection?.kind === 'event') showPanel();
  }

  function applyLink() {
    if (!session) return;
    noteStale();
    noteStaleTimes(...model.open(session.session.duration_ps));
    toolbar.set(state, model.duration);
    toolbar.search(link.state.q ?? '', awaitsFirstSlices);
    // A gap is shown at its recorded time.
    const aligned = link.state.al === '1' && state.selection?.kind !== 'gap';
    if (aligned !== Boolean(state.align)) void align(aligned, true);
    requestHosts();
    const [openedDevice] =
      [...state.open].find(([id, on]) => on && session?.devices.some((device) => device.id === id)) ?? [];
    const device = state.selection?.kind === 'gap' ? state.selection.device : openedDevice;
    if (device && lanes.grouped) lanes.revealGap(device);
    if (link.state.an && !link.state.sel) void followPath(link.state.an);
  }

  /** Selects the first annotation of a path from the window's start on. @param {string} annotation */
  async function followPath(annotation) {
    const isCurrent = model.trackSelection();
    const query = { session: name(), annotation, start_ps: state.window.start_ps };
    const event = await get('event', query).catch(() => null);
    if (isCurrent() && event) open(event);
  }

  return {
    element,
    open(next) {
      session = next;
      awaitsFirstSlices = true;
      panel.leave();
      feeds.clear();
      waits.clear();
      model.leave();
      strip.open(next);
      requestAnimationFrame(() => {
        const { selection } = state;
        applyLink();
        if (selection === state.selection) showPanel();
        openRows(false);
      });
      gaps.open(next);
      void loadMoreRows();
    },
    filter() {
      lanes.request();
      if (!state.selection || state.selection.kind === 'window') showPanel();
    },
    followLink: applyLink,
    show(on) {
      lanes.show(on);
      app.skip.hidden = !on;
      if (on) {
        removeKeys ??= app.keys.add(keys);
        // Another view may have changed the timeline's selection or finding.
        const { sel } = link.state;
        if (awaitsFirstSlices) return;
        if (selectionValue(sel) && sel !== selectionText(state.selection)) applyLink();
        else if (drawnFinding !== (link.state.fi ?? '')) showPanel();
      } else {
        removeKeys?.();
        removeKeys = null;
      }
    },
    recolor: lanes.recolor,
  };
}
