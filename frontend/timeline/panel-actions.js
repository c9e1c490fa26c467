/** The actions of the panel's links and buttons. */

import { patternText, stepOf } from '../gaps/group.js';
import { windowLinkState } from '../lib/cards.js';
import { filtersText } from '../lib/filters.js';
import { plainDigits } from '../lib/plain-digits.js';
import { inLaneOrder } from './lanes.js';
import { eventSelection, gapSelection } from './selection.js';

/** @typedef {import('../lib/types').Ready} Ready */
/**
 * The parts of the timeline that the panel acts on.
 * @typedef {object} TimelineParts
 * @property {import('./lanes.js').Lanes} lanes
 * @property {ReturnType<typeof import('./gaps.js').createGaps>} gaps
 * @property {ReturnType<typeof import('./waits.js').createWaits>} waits
 * @property {ReturnType<typeof import('./navigation.js').createNavigation>} navigation
 * @property {ReturnType<typeof import('./shown-hosts.js').createShownHosts>} shownHosts
 * @property {() => Ready|null} session
 * @property {() => Promise<import('../lib/routes').Overview>} overview findings and steps
 * @property {() => void} showTable @property {() => void} showPanel
 * @property {(error: Error) => void} failed
 * @property {(error: import('../lib/api.js').RequestError) => void} detailFailed called if the request for the
 *   selection's details fails
 * @property {(patch: Partial<import('./model.js').TimelineState>) => void} completeSelection adds details to the
 *   selection that the panel already shows
 */

/**
 * @param {import('../frame/app.js').App} app
 * @param {import('./model.js').Model} model
 * @param {TimelineParts} parts
 * @returns {{panel: import('./panel-parts.js').PanelActions, details: import('./panel.js').DetailActions}}
 */
export function createPanelActions(app, model, parts) {
  const { link } = app;
  const { state } = model;
  const { lanes, gaps, waits, navigation, shownHosts, session } = parts;

  /** Runs an action on the findings and steps, unless something else is selected before they arrive. */
  function withOverview(/** @type {(answer: import('../lib/routes').Overview) => void} */ action) {
    const isCurrent = model.trackSelection();
    void parts.overview().then(
      (answer) => { if (isCurrent()) action(answer); },
      (error) => { if (isCurrent()) parts.failed(error); },
    );
  }

  return {
    panel: {
      open: navigation.open,
      back: gaps.back,
      select: (summary) => model.select(eventSelection(summary)),
      frameSelection: navigation.frameSelection,
      showSpan: model.bringGapIntoView,
      openView: app.open,
      showTable: parts.showTable,
      closeTable: parts.showPanel,
      revealRow: navigation.revealRow,
      openOp: (op) => void waits.open(op),
      deviceName: shownHosts.deviceName,
      shortHost: shownHosts.shortName,
      tracedDevices(devices) {
        const traced = new Set(app.tracedSelection().devices);
        return devices.filter(({ id }) => traced.has(id));
      },
      inLaneOrder(devices) {
        const openSession = session();
        return openSession ? inLaneOrder(devices, openSession) : devices;
      },
      rowLabel: (row) => session()?.rows.find(({ id }) => id === row)?.label ?? row,
    },
    details: {
      outlinePiece: (piece) => void gaps.outlinePiece(piece),
      openPiece: (piece) => void gaps.openPiece(piece),
      fetchGap: gaps.fetchGap,
      fetchDelayed: waits.fetchDelayed,
      fetchCollective: waits.fetchCollectiveOfOp,
      failed: parts.detailFailed,
      copy: (text) => void app.copy(plainDigits(text), 'The gap'),
      showOccurrences: (gap) => app.open({ v: 'gaps', sel: '', f: filtersText(new Map([['pat', patternText(gap)]])) }),
      linkedFinding: () => link.state.fi ?? '',
      positionInFinding: gaps.positionInFinding,
      showGapOfFinding(gap, id) {
        link.set({ fi: id }, 'replace');
        gaps.show(gap);
      },
      openView: app.open,
      showStep: (gap) =>
        withOverview(({ steps: { columns: { index, start_ps, duration_ps } } }) => {
          const at = index.indexOf(gap.step ?? -1);
          if (at >= 0) app.open(windowLinkState(start_ps[at], start_ps[at] + duration_ps[at]));
          // Of long sessions, the server sends the first steps only.
          else app.addNote({ id: 'step', message: `The page has not loaded the times of step ${stepOf(gap)}.` });
        }),
      // The panel's answer completes selections from links and clicks.
      gapLoaded(gap) {
        gaps.loaded(gap);
        if (state.selection?.kind === 'gap') {
          const { device, start_ps, duration_ps } = gap;
          parts.completeSelection({ selection: gapSelection(device, start_ps, start_ps + duration_ps) });
        }
        // The lanes shrink to the height that the panel leaves, and the gap stays in view.
        lanes.revealGap(gap.device);
      },
      eventLoaded(detail) {
        if (state.selection?.kind === 'event') {
          const selection = { ...eventSelection(detail), row: detail.row || state.selection.row };
          parts.completeSelection({ detail, selection });
          if (detail.on_device?.devices.length) link.set({ an: detail.on_device.path }, 'replace');
        }
      },
    },
  };
}
