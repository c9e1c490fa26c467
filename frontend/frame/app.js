/**
 * The frame: header, tabs, diagnostics and one view. It owns the session and the link, and does not depend on what
 * views draw.
 */

import { h, fill, refill } from '../lib/dom.js';
import { count } from '../lib/format.js';
import { get, getShared, NOT_RECORDED, onSessionReread } from '../lib/api.js';
import { onActivity } from '../lib/activity.js';
import { createKeys } from '../lib/keys.js';
import { createLink, guardLink, listText, NO_SELECTION } from '../lib/link.js';
import { createLiveRegions } from '../lib/live-regions.js';
import { createCapture } from '../capture/dialog.js';
import { REPORT_VIEWS, VIEWS } from './views.js';
import { prefetchViews } from './lazy-views.js';
import { createHeader } from './header.js';
import { createHostPicker } from './host-picker.js';
import { createHostSelection } from './selected-hosts.js';
import { bindMenuClosing } from './multi-select.js';
import { createTabs } from './tabs.js';
import { createDiagnostics } from './diagnostics.js';
import { choiceNote, createFileWatch, partialNote, sessionNotes } from './session-notes.js';
import { createHelp } from './help.js';
import { createLoader } from './loader.js';
import { NO_DEVICE_TEXT, NO_EXECUTIONS_TEXT, NO_GAPS_TEXT, NO_ITERATIONS_TEXT } from '../lib/cards.js';
import { createTermTips } from './term-tips.js';
import { createLoadingCard, errorCard, loadingText, noSessionsCard, partialText } from './state-cards.js';

/** @typedef {import('../lib/types').Ready} Ready */
/** @typedef {import('../lib/routes').SessionList} SessionList */
/** @typedef {'loading'|'ready'|'error'|'empty'} State */
/**
 * What the frame provides to views.
 * @typedef {object} App
 * @property {import('../lib/link.js').Link} link
 * @property {import('../lib/live-regions.js').LiveRegions} live
 * @property {import('../lib/keys.js').Keys} keys
 * @property {(note: import('./diagnostics.js').Note) => void} addNote adds a line under the tabs
 * @property {(note: import('./diagnostics.js').Note) => void} keepNote adds a line unless it is there or was dismissed;
 *   an empty message removes it
 * @property {() => {hosts: string[], devices: string[]}} selection the names of the hosts and the ids of the devices
 *   that the link selects; all hosts if it names none, and all of their devices if it names none of these
 * @property {() => {hosts: string[], devices: string[]}} tracedSelection the same; if only some hosts have timeline
 *   rows, those hosts and their selected devices
 * @property {(hosts: number[]) => void} requestHosts loads the rows of hosts, given by index, that a selection needs
 * @property {(host: string) => string} firstDevice the id of a host's first device; empty if it has none
 * @property {(anchor: HTMLElement) => void} pickHosts opens the host picker under an element
 * @property {<T extends {id: string}>(devices: T[]) => T[]} selectedDevices keeps the selected devices
 * @property {(id: string, error: unknown) => void} reportError reports an error beside the current view
 * @property {(state?: State) => void} setState sets the view's state; `ready` by default
 * @property {(changes: import('../lib/link.js').LinkState) => void} open
 *   changes the link and shows the result: `{v: 'timeline', sel: …}`
 * @property {() => (() => void)|null} captureAction the action that opens the capture dialog; null if capturing is off
 * @property {() => string} sessionBefore name of the next older session; empty without one
 * @property {(view: string, text: string) => void} setCount writes a number beside a tab's name
 * @property {(counts: import('../lib/routes').ViewCounts) => void} setCounts
 *   writes the server's counts beside the tabs
 * @property {(text: string, subject: string) => Promise<boolean>} copy copies a text and announces that the subject is
 *   copied; false if the browser forbids it
 * @property {HTMLElement} skip the first Tab stop, where a view puts its link to its table
 */

/** Shorter waits show neither the progress bar nor the loading card. */
const BUSY_AFTER_MS = 300;
/** Earlier estimates of the remaining time are not shown: too little is read. */
const ESTIMATE_AFTER_MS = 1000;
/** Why a view that counts something has nothing to show. @type {Record<string, string>} */
const NOTHING_TEXTS = { gaps: NO_GAPS_TEXT, executions: NO_EXECUTIONS_TEXT, iterations: NO_ITERATIONS_TEXT };

/** @param {boolean} isCopy whether the page is a static copy: one session, and nothing to capture or compare with */
export function createApp(isCopy) {
  const viewDefinitions = isCopy ? VIEWS.filter(({ id }) => id !== 'compare') : VIEWS;
  // Registered before all other keys, so that Escape closes an open menu.
  bindMenuClosing();
  /** The session of a link without one: the newest at first. A newer one does not replace the open session. */
  let defaultName = '';
  const link = createLink(() => defaultName);
  const live = createLiveRegions();
  const keys = createKeys();
  const diagnostics = createDiagnostics();
  const panel = h('div', { class: 'view', role: 'tabpanel', id: 'panel', tabindex: -1 });
  const main = h('main', { class: 'view', tabindex: -1, 'data-state': 'loading' }, panel);
  const skip = h('div', null);
  /** @type {SessionList|null} */
  let list = null;
  /** The session that was opened last; it may still be loading. */
  let openedName = '';
  /** @type {Ready|null} */
  let session = null;
  let frontView = '';
  let isPartial = false;
  let isRefreshing = false;
  let countsRequested = false;
  let hasPrefetched = false;
  /** @type {Map<string, import('./views.js').View>} */
  const views = new Map();
  /** The state that each view has set; it applies while the view is in front. @type {Map<string, State>} */
  const states = new Map();
  /** The link's hosts and devices when each view was last shown. @type {Map<string, string>} */
  const choices = new Map();

  /** Whether the shown session is being replaced by another one, which the link names already. */
  const isLeaving = () => session !== null && session.session.name !== openedName;
  const hasNewFiles = createFileWatch();
  const hostSelection = createHostSelection(link, applySelection);
  /** @type {App} */
  const app = {
    live, keys, skip,
    link: guardLink(link, () => !isLeaving()),
    addNote: (note) => { diagnostics.add(note); live.announce(note.message); },
    keepNote: (note) => { if (diagnostics.keep(note)) live.announce(note.message); },
    setState: () => {},
    open(changes) {
      if (isLeaving()) return;
      // An annotation that Device filters by is not to be followed in the timeline.
      const cleared = 's' in changes ? NO_SELECTION : changes.v === 'timeline' ? { an: '' } : {};
      link.set({ ...cleared, ...changes }, 'push');
      if (session && linkedName() !== session.session.name) return void openSession(linkedName());
      if ('h' in changes) applySelection();
      else showView();
      views.get(frontView)?.followLink?.();
    },
    captureAction: () => (list?.capture ? () => captureButton.click() : null),
    sessionBefore() {
      const names = list?.sessions.map(({ name }) => name) ?? [];
      return names[names.indexOf(openedName) + 1] ?? '';
    },
    setCount: (view, text) => tabs.setCount(view, text),
    setCounts({ lost, ...numbers }) {
      countsRequested = true;
      const prefix = isPartial ? '≥\u202f' : '';
      Object.entries(numbers).forEach(([id, number]) =>
        tabs.setCount(id, prefix + count(number), number || isPartial ? '' : NOTHING_TEXTS[id]));
      if (lost) tabs.setCount('propagation', `${prefix}${count(lost)} lost`);
    },
    selection: hostSelection.selection,
    tracedSelection: hostSelection.tracedSelection,
    firstDevice: hostSelection.firstDevice,
    selectedDevices: hostSelection.selectedDevices,
    requestHosts(hosts) {
      if (session && !isLeaving() && hostSelection.addNeeded(hosts)) void openSession(session.session.name);
    },
    pickHosts: (anchor) => void picker.open(anchor),
    async copy(text, subject) {
      try {
        await navigator.clipboard.writeText(text);
        live.announceNow(`${subject} is copied.`);
        return true;
      } catch {
        app.addNote({ id: 'copy', message: `The browser does not permit copying; copy it by hand: ${text}` });
        return false;
      }
    },
    reportError(id, error) {
      const { message, status } = /** @type {import('../lib/api.js').RequestError} */ (error);
      app.addNote({ id, message, ...(status === NOT_RECORDED ? {} : { severity: 'error' }) });
      live.announceError(message);
    },
  };

  /** Opens a session without any selection. @param {string} name */
  function chooseSession(name) {
    link.set({ ...NO_SELECTION, s: name === defaultName ? '' : name }, 'push');
    void openSession(name);
  }

  const picker = createHostPicker({
    session: () => session,
    isOpen: (name) => name === openedName,
    linked: () => link.state.h,
    apply(hosts) {
      link.set({ h: hosts }, 'push');
      void hostSelection.resolveRanks();
      applySelection();
    },
    announce: live.announceNow,
    reportError: (error) => app.reportError('hosts', error),
  });
  const captureButton = createCapture(
    live.announce,
    (name) => { void refreshSessions().then(() => chooseSession(name)); },
    () => list?.capture_logdir ?? '',
  );
  const header = createHeader({
    session: chooseSession,
    hosts: app.pickHosts,
    devices: (devices) => { link.set({ d: listText(devices) }, 'push'); applySelection(); },
    compare: (name) => app.open({ c: name }),
    copy: copyLink,
    help: () => help(),
  }, diagnostics.infoMenu, captureButton, isCopy);
  const tabs = createTabs(viewDefinitions, goToView);
  const help = createHelp(keys, () => session?.environment.label ?? '');

  const loader = createLoader({
    progress(loading, elapsed) {
      if (loading.partial && session?.partial) {
        diagnostics.update(partialNote(loading, loader.stop));
        loadingCard.update(loading, false);
        return;
      }
      if (elapsed < BUSY_AFTER_MS) return;
      const shownLoading = elapsed < ESTIMATE_AFTER_MS ? { ...loading, seconds_left: null } : loading;
      loadingCard.update(shownLoading, link.state.v === 'timeline');
      if (loadingCard.element.parentNode !== panel) showCard('loading', loadingCard.element);
      live.announce(loadingText(shownLoading));
    },
    ready: showSession,
    error: (message) => showError(message, () => { void openSession(linkedName(), true); }),
    refused: (error) => app.reportError('stop', error),
  });

  const loadingCard = createLoadingCard(() => loader.stop());
  const linkedName = () => link.state.s || defaultName;

  /** Shows a state card in place of the view. @param {string} name @param {HTMLElement} element */
  function showCard(name, element) {
    views.get(frontView)?.show(false);
    main.dataset.state = name;
    refill(panel, element);
  }

  /** @param {string} message @param {() => void} retry */
  function showError(message, retry) {
    // Views of another session than the one that cannot be read stay hidden.
    if (session?.session.name !== openedName) session = null;
    if (!session) {
      diagnostics.set(openedName, listNotes());
      header.clear();
      tabs.setEnvironment('');
      tabs.clearCounts();
    }
    showCard('error', errorCard(message, retry));
    live.announceError(message);
  }

  /** @param {Ready} next */
  function showSession(next) {
    const { name, hosts } = next.session;
    const listedHostCount = list?.sessions.find((listed) => listed.name === name)?.hosts.length ?? 0;
    session = next;
    hostSelection.open(next);
    tabs.setEnvironment(next.environment.label);
    tabs.clearCounts();
    const hostCount = Math.max(listedHostCount, hosts.length);
    tabs.setCount('hosts', count(hostCount), hostCount > 1 ? '' : 'One host: there is none to wait for.');
    if (!next.devices.length) tabs.setCount('device', '', NO_DEVICE_TEXT);
    countsRequested = false;
    isPartial = Boolean(next.partial) || listedHostCount > hosts.length;
    main.toggleAttribute('data-reading', Boolean(next.partial));
    const notes = sessionNotes(next, listedHostCount, () => void openSession(name, true), loader.stop);
    diagnostics.set(name, [...notes, ...listNotes(), ...next.diagnostics]);
    states.clear();
    choices.clear();
    views.forEach((view, id) => { if (!next.partial || REPORT_VIEWS.includes(id)) view.open(next); });
    showView();
    live.announce(next.partial && next.loading ? partialText(next.loading) : `${name} is open.`);
  }

  /** @returns {import('./diagnostics.js').Note[]} */
  const listNotes = () => (list?.note ? [{ id: 'list', severity: 'warning', message: list.note }] : []);

  /** Brings the view of the link to the front. */
  function showView() {
    const { id, create, load } = viewDefinitions.find((view) => view.id === link.state.v) ?? VIEWS[0];
    tabs.select(id);
    diagnostics.showView(id);
    main.dataset.testid = `view-${id}`;
    panel.setAttribute('aria-labelledby', `tab-${id}`);
    if (!session || isLeaving()) {
      // The view's script is fetched while the session loads.
      load?.().catch(() => {});
      return;
    }
    if (frontView !== id) views.get(frontView)?.show(false);
    frontView = id;
    app.keepNote(choiceNote(session, isPartial, link.state));
    if (session.partial && !REPORT_VIEWS.includes(id)) return showCard('loading', loadingCard.element);
    header.update(session, id === 'timeline' ? app.tracedSelection() : app.selection(), link.state.c);
    const existing = views.get(id);
    const view = existing ?? create({ ...app, setState: (viewState = 'ready') => {
      if (states.get(id) !== viewState && frontView === id) live.announceVerdict(panel);
      states.set(id, viewState);
      showState(id);
    } });
    views.set(id, view);
    if (view.element.parentNode !== panel) fill(panel, view.element);
    showState(id);
    if (!existing) view.open(session);
    view.show(true);
    const choice = `${link.state.h}\n${link.state.d}`;
    if ((choices.get(id) ?? choice) !== choice) view.filter?.();
    choices.set(id, choice);
  }

  function showState(/** @type {string} */ id) {
    const viewState = states.get(id) ?? 'loading';
    if (views.get(id)?.element.parentNode === panel) {
      main.dataset.state = isPartial && viewState === 'ready' ? 'partial' : viewState;
    }
    if (viewState === 'loading' || !session) return;
    // Other views are fetched only after the visible one is drawn.
    if (!hasPrefetched) prefetchViews(viewDefinitions);
    hasPrefetched = true;
    if (countsRequested) return;
    countsRequested = true;
    const requested = session;
    getShared('counts', requested.query)
      .then(({ counts }) => { if (requested === session) app.setCounts(counts); })
      .catch(() => {});
  }

  /** @param {string} id */
  function goToView(id) {
    link.set({ v: id === VIEWS[0].id ? '' : id }, 'push');
    showView();
  }

  function applySelection() {
    const isShown = session?.chosen_hosts && !isLeaving();
    if (session && isShown && hostSelection.hostsArgument(session.session) !== session.query.hosts) {
      void openSession(session.session.name);
    } else showView();
  }

  /** @param {string} name @param {boolean} [reload] */
  async function openSession(name, reload) {
    if (name !== openedName) picker.close();
    openedName = name;
    header.setSessions(list?.sessions ?? [], name);
    const files =
      session?.session.name === name ? session.session : list?.sessions.find((listed) => listed.name === name);
    await loader.load(name, hostSelection.hostsArgument(files ?? { name, hosts: [] }), reload);
  }

  onSessionReread((name) => { if (name === session?.session.name && !isLeaving()) void openSession(name); });

  async function copyLink() {
    if (await app.copy(link.address({ s: linkedName() }), 'The link')) header.showCopied();
  }

  /** Refreshes the list of sessions; opens one if none is open. */
  async function refreshSessions() {
    if (isRefreshing) return;
    isRefreshing = true;
    const previousList = list;
    try {
      list = await get('sessions');
    } catch (error) {
      if (!session) showError(/** @type {Error} */ (error).message, refreshSessions);
      return;
    } finally {
      isRefreshing = false;
    }
    captureButton.classList.toggle('hidden', !list.capture);
    if (!session && !list.sessions.length) {
      return showCard('empty', noSessionsCard(list, refreshSessions, () => captureButton.click()));
    }
    if (hasNewFiles(linkedName(), list) && session) return void openSession(linkedName());
    if (session) {
      if (list.note !== previousList?.note) listNotes().forEach(diagnostics.add);
      return header.setSessions(list.sessions, linkedName());
    }
    defaultName = list.sessions[0].name;
    if (link.state.s && !list.sessions.some(({ name }) => name === link.state.s)) {
      const message = `The linked session ${link.state.s} is not in this logdir; the newest is shown.`;
      link.set({ ...NO_SELECTION, s: '' }, 'replace');
      await openSession(defaultName);
      return app.addNote({ id: 'stale', message });
    }
    await openSession(linkedName());
  }

  link.onNavigation(() => {
    picker.close();
    if (openedName && linkedName() !== openedName) return void openSession(linkedName());
    void hostSelection.resolveRanks();
    applySelection();
    if (!isLeaving()) views.get(frontView)?.followLink?.();
  });
  keys.add([
    ...viewDefinitions.map(({ id, key }, index) => ({
      code: `Digit${key ?? index + 1}`,
      shift: false,
      label: index ? '' : '0…9',
      does: 'views',
      run: () => goToView(id),
    })),
    { code: 'KeyY', label: 'y', does: 'copy link', run: () => { void copyLink(); } },
    { character: '?', label: '?', does: 'this list', run: () => help() },
  ]);
  let timer = 0;
  onActivity((busy) => {
    clearTimeout(timer);
    if (busy) timer = window.setTimeout(() => tabs.setBusy(true), BUSY_AFTER_MS);
    else tabs.setBusy(false);
  });
  addEventListener('focus', () => { if (session || list?.sessions.length === 0) void refreshSessions(); });

  fill(
    document.body, skip, header.element, tabs.element, diagnostics.element, main, live.elements,
    createTermTips(document.body),
  );
  showView();
  return {
    start: refreshSessions,
    recolor() { views.forEach((view) => view.recolor?.()); },
  };
}
