/** The Timeline view: connects lanes, strip, toolbar and panel. */

import { h, fill, button } from '../lib/dom.js';
import { get, getShared } from '../lib/api.js';
import { createAlign } from './align.js';
import { createFeeds } from './feeds.js';
import { createNavigation } from './navigation.js';
import { createModel } from './model.js';
import { createLanes } from './lanes.js';
import { createOverviewStrip } from './overview-strip.js';
import { createToolbar } from './toolbar.js';
import { createSplitter } from './splitter.js';
import { createTooltip } from './tooltip.js';
import { createPanel } from './panel.js';
import { createPanelActions } from './panel-actions.js';
import { createCursor } from './cursor.js';
import { followPointer } from './pointer.js';
import { timelineKeys } from './keys.js';
import { frameSpan } from './scale.js';
import { find, laneAt } from './scene.js';
import { createGaps } from './gaps.js';
import { createMoreHosts } from './more-hosts.js';
import { createShownHosts } from './shown-hosts.js';
import { createWaits } from './waits.js';
import { ofWindow, selectionText, selectionValue } from './selection.js';

/** @typedef {import('../lib/routes').EventSummary} EventSummary */
/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('./scene.js').DrawnSlice} DrawnSlice */

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function timelineView(app) {
  const { live, link } = app;
  /** @type {Ready|null} */
  let session = null;
  let first = true;
  let listed = false;
  /** The finding that the panel shows. */
  let panelFinding = '';
  /** @type {(() => void)|null} */
  let removeKeys = null;
  const name = () => session?.session.name ?? '';
  const ready = () => {
    if (!first) return;
    first = false;
    app.setState();
    void loadFindings();
  };

  const retry = () => {
    feeds.again();
    waits.again();
    lanes.request();
    showPanel();
  };
  const failed = (/** @type {Error} */ error) => {
    app.addNote({
      id: 'timeline',
      severity: 'error',
      message: error.message,
      action: { label: 'Try again', run: retry },
    });
    live.announceError(error.message);
    ready();
  };
  const model = createModel(link, () => Math.max(1, lanes.element.clientWidth - lanes.left()));
  const feeds = createFeeds(model, {
    arrived(host) {
      lanes.request();
      if (host) ready();
    },
    failed,
  });
  const { state } = model;
  const navigation = createNavigation(model, {
    lanes: () => lanes,
    gaps: () => gaps,
    session: () => session,
    say: live.announceNow,
  });
  const { showSession, frameSelection, zoom, pan, open, selectSlice, enter, toggle } = navigation;
  const shownHosts = createShownHosts(app, state, () => session);
  const { deviceName, shortName, beside, requestHosts } = shownHosts;
  const waits = createWaits(model, {
    session: () => session,
    short: shortName,
    arrived: () => lanes.request(),
    failed,
    open,
  });
  const element = h('div', { class: 'view' });
  const splitter = createSplitter(() => lanes.request(), () => element.clientHeight);
  const lanes = createLanes(model, {
    chosen: app.tracedSelection,
    // Aligned rows have no place for gaps.
    slices: () => (state.align ? feeds.slices() : gaps.addTo(feeds.slices())),
    frame({ scale }, rows) {
      feeds.want(name(), scale, rows.filter(({ kind }) => kind !== 'gaps'));
      if (!first) waits.want(scale);
    },
    waits,
    height: (natural) => splitter.lanes(natural, lanes.element.offsetTop + moreHosts.element.offsetHeight, panel.needs),
    drawn: (palette) => strip.draw(palette),
  });
  const gaps = createGaps(model, lanes, {
    arrived: () => openRows(true),
    failed,
    session: () => session,
    devices: () => app.tracedSelection().devices,
    say: live.announceNow,
    name: deviceName,
    count: (at, total, device) =>
      toolbar.setGap(at, total, session?.devices.find(({ id }) => id === device)?.name ?? device, deviceName(device)),
    open,
    beside,
  });
  const moreHosts = createMoreHosts(app, lanes.left);
  const strip = createOverviewStrip({
    window: model.look,
    left: lanes.left,
    shown: () => state.window,
    devices: () => app.tracedSelection().devices,
    causes: () => gaps.strip,
  });
  const toolbar = createToolbar({
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
    gap: gaps.step,
    longest: gaps.longest,
    fit: showSession,
    time: model.goTo,
  });
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
    say: live.announceNow,
    wait: waits.textOf,
    openEvent: open,
    failed,
  });
  let settling = false;

  fill(
    element,
    toolbar.element,
    strip.element,
    lanes.element,
    moreHosts.element,
    splitter.element,
    panel.element,
    tooltip.element,
  );
  fill(app.skip, button('Timeline as table', showTable, { class: 'skip', 'data-testid': 'timeline-as-table' }));

  /** @param {Partial<import('./model.js').TimelineState>} patch the panel shows it already */
  function completeSelection(patch) {
    settling = true;
    model.set(patch);
    settling = false;
  }

  function toggleFlows() { model.set({ flows: !state.flows }); }

  function toggleAlign() { void align(!state.align); }

  /** Findings, and which steps worked when on the devices. @returns {Promise<import('../lib/routes').Overview>} */
  const overview = () => getShared('overview', /** @type {Ready} */ (session).query);

  const align = createAlign(model, app, {
    name,
    overview,
    shownRows: () => session && gaps.rows(session.rows),
    failed,
  });

  /** Only after the lanes: the findings take an analysis. */
  async function loadFindings() {
    const requested = session;
    const answer = await overview().catch(() => null);
    if (requested?.query !== session?.query || !session || !answer) return;
    panel.findings(answer.findings);
    if (!answer.ranks || session.ranks) return;
    session = { ...session, ranks: answer.ranks };
    openRows(true);
  }

  /** @param {import('../lib/api.js').RequestError} error */
  function detailFailed(error) {
    const { selection } = state;
    const kind = selection?.kind;
    if (error.status !== 404 && error.status !== 400) failed(error);
    // The same gap on another core may begin elsewhere: the window shows what is known.
    else if (kind === 'gap' && selection && selection.end_ps > selection.start_ps) {
      model.select(ofWindow(selection.start_ps, selection.end_ps));
    } else {
      app.addNote({ id: 'stale', message: `The linked ${kind === 'gap' ? 'gap' : 'event'} is not in this session.` });
      model.select(null);
    }
  }

  function showPanel() {
    listed = false;
    panelFinding = link.state.fi ?? '';
    if (session) panel.select(session, state.selection, app.tracedSelection().hosts);
  }

  function showTable() {
    if (!session) return;
    listed = true;
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
    if (!changed.has('selection')) return;
    gaps.count();
    requestHosts();
    if (settling) return;
    showPanel();
    if (state.selection?.kind === 'window') live.announce('A window is selected.');
  });

  followPointer(lanes.element, {
    scene: lanes.scene,
    select: ({ start_ps, end_ps }) => model.select(ofWindow(start_ps, end_ps)),
    preview: (preview) => model.set({ preview }),
    pan,
    zoom,
    grips: () => (state.selection?.kind === 'window' ? state.selection : null),
    click(x, y) {
      const scene = lanes.scene();
      const slice = find(scene, x, y);
      const lane = laneAt(scene, y);
      const wait = waits.at(scene, x, y);
      if (x < scene.scale.left || lane?.kind !== 'slices') toggle(lane);
      else if (wait) void waits.open(wait);
      else if (slice) selectSlice(slice);
    },
    frame(x, y) {
      const slice = find(lanes.scene(), x, y);
      if (slice) model.look(frameSpan(slice));
    },
    hover(x, y, event) {
      const scene = lanes.scene();
      const slice = event && find(scene, x, y);
      const { hover } = state;
      const isHovered = slice && hover && slice.lane.id === hover.lane.id && slice.start_ps === hover.start_ps;
      model.set({ hover: isHovered ? hover : slice, pointer: event && x >= scene.scale.left ? x : null });
      tooltip.show(slice, event?.clientX ?? 0, event?.clientY ?? 0, waits.textAt(scene, x, y));
    },
  });

  /** @param {'next'|'previous'} direction */
  function occurrence(direction) {
    const brief = state.detail?.occurrences[direction];
    if (brief) open(brief);
  }

  function clearSearchOrSelection() {
    if (listed) showPanel();
    else if (toolbar.text) toolbar.search('');
    else model.select(null);
  }

  const keys = timelineKeys({
    zoom,
    pan: (part) => pan((state.window.end_ps - state.window.start_ps) * part),
    along: cursor.along,
    across: cursor.across,
    enter,
    frame: frameSelection,
    whole: showSession,
    search: toolbar.focusSearch,
    askTime: toolbar.askTime,
    step: (direction) => cursor.step(direction, session?.rows ?? []),
    gap: gaps.step,
    longest: gaps.longest,
    occurrence,
    align: toggleAlign,
    flows: toggleFlows,
    clear: clearSearchOrSelection,
  });

  /**
   * Rows of gaps and of scopes come when the server has found them, maybe before the first frame.
   * @param {boolean} more
   */
  function openRows(more) {
    if (!session) return;
    lanes.open({ ...session, rows: gaps.rows(session.rows) }, more);
    moreHosts.draw(session);
    gaps.count();
    if (state.align) void align(true, true);
  }

  async function loadScopes() {
    const requested = session;
    if (!requested?.more_rows) return;
    const { rows } = await get('scopes', requested.query).catch(() => requested);
    if (requested !== session) return;
    session = { ...requested, rows };
    openRows(true);
  }

  function fromLink() {
    if (!session) return;
    const stale = model.open(session.session.duration_ps);
    toolbar.set(state, model.duration);
    toolbar.search(link.state.q ?? '', first);
    // A gap is shown where it is.
    const aligned = link.state.al === '1' && state.selection?.kind !== 'gap';
    if (aligned !== Boolean(state.align)) void align(aligned, true);
    requestHosts();
    const [opened] =
      [...state.open].find(([id, on]) => on && session?.devices.some((device) => device.id === id)) ?? [];
    const device = state.selection?.kind === 'gap' ? state.selection.device : opened;
    if (device && lanes.grouped) lanes.revealGap(device);
    if (stale.length) app.addNote({ id: 'stale', message: stale.join(' ') });
  }

  return {
    element,
    open(next) {
      session = next;
      first = true;
      panel.leave();
      feeds.clear();
      waits.clear();
      model.leave();
      strip.open(next);
      requestAnimationFrame(() => {
        const { selection } = state;
        fromLink();
        if (selection === state.selection) showPanel();
        openRows(false);
      });
      gaps.open(next);
      void loadScopes();
    },
    filter() {
      lanes.request();
      if (!state.selection) showPanel();
    },
    move: fromLink,
    show(on) {
      lanes.show(on);
      app.skip.hidden = !on;
      if (on) {
        removeKeys ??= app.keys.add(keys);
        // Another view may have selected something here.
        const { sel } = link.state;
        if (!first && selectionValue(sel) && sel !== selectionText(state.selection)) fromLink();
        else if (!first && panelFinding !== (link.state.fi ?? '')) showPanel();
      } else {
        removeKeys?.();
        removeKeys = null;
      }
    },
    recolor: lanes.recolor,
  };
}
