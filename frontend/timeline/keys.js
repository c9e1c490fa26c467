/** The keys of the timeline. Shift distinguishes `[ ]` from `{ }`, and `, . /` from the characters above them. */

/** @typedef {import('../lib/keys.js').Key} Key */
/**
 * What the keys do.
 * @typedef {object} Actions
 * @property {(factor: number) => void} zoom
 * @property {(share: number) => void} pan by a share of the window
 * @property {(direction: -1|1) => void} along moves along a row
 * @property {(direction: -1|1) => void} across moves to another row
 * @property {(spans?: boolean) => void} enter
 * @property {() => void} frame frames the selection
 * @property {() => void} showSession
 * @property {() => void} search
 * @property {() => void} askTime
 * @property {(direction: 'previous'|'next') => void} step
 * @property {(direction: -1|1) => void} gap
 * @property {() => void} longest shows the longest gap
 * @property {(direction: 'previous'|'next') => void} occurrence
 * @property {() => void} align
 * @property {() => void} flows
 * @property {() => void} pinRow pins the row under the pointer, else the cursor's @property {() => void} hideRow
 * @property {() => void} hideClass hides the class of the chip with the focus, else of the slice under the pointer
 * @property {() => void} clear
 */

const ZOOM_FACTOR = 1.5;
const PAN_SHARE = 0.2;

/**
 * An action that runs only if the lanes or the page have the focus: other elements use arrows and Enter themselves.
 * @param {() => void} run @returns {Key['run']}
 */
const onLanes = (run) => (event) =>
  event.target instanceof Element && event.target.matches('body, main, .lanes, .lanes *') ? run() : false;

/** @param {Actions} act @returns {Key[]} in the order of the help dialog */
export const timelineKeys = (act) => [
  { code: 'KeyW', run: () => act.zoom(ZOOM_FACTOR), label: 'w s', does: 'zoom in, out' },
  { code: 'KeyS', run: () => act.zoom(1 / ZOOM_FACTOR) },
  { code: 'KeyA', run: () => act.pan(-PAN_SHARE), label: 'a d', does: 'pan' },
  { code: 'KeyD', run: () => act.pan(PAN_SHARE) },
  { code: 'ArrowLeft', run: onLanes(() => act.along(-1)), label: '← → ↑ ↓', does: 'move along a row, between rows' },
  { code: 'ArrowRight', run: onLanes(() => act.along(1)) },
  { code: 'ArrowUp', run: onLanes(() => act.across(-1)) },
  { code: 'ArrowDown', run: onLanes(() => act.across(1)) },
  { code: 'Enter', shift: false, run: onLanes(() => act.enter()), label: 'Enter', does: 'show details; unfold a row' },
  { code: 'Enter', shift: true, run: onLanes(() => act.enter(true)), label: 'Shift+Enter', does: 'select up to here' },
  { code: 'KeyF', run: act.frame, label: 'f', does: 'frame the selection' },
  { code: 'KeyM', run: act.showSession, label: 'm', does: 'back to the whole session' },
  { code: 'Slash', shift: false, run: act.search, label: '/', does: 'search; Enter: next, Shift+Enter: previous' },
  { code: 'KeyG', run: act.askTime, label: 'g', does: 'go to a time' },
  { code: 'Comma', shift: false, run: () => act.step('previous'), label: ', .', does: 'previous, next step' },
  { code: 'Period', shift: false, run: () => act.step('next') },
  { code: 'BracketLeft', shift: false, run: () => act.gap(-1), label: '[ ]', does: 'previous, next gap (same device)' },
  { code: 'BracketRight', shift: false, run: () => act.gap(1) },
  { code: 'KeyL', run: act.longest, label: 'l', does: 'longest gap; again: the next longest' },
  {
    code: 'BracketLeft',
    shift: true,
    run: () => act.occurrence('previous'),
    label: '{ }',
    does: 'previous, next occurrence',
  },
  { code: 'BracketRight', shift: true, run: () => act.occurrence('next') },
  { code: 'KeyT', run: act.align, label: 't', does: 'align device to host step' },
  { code: 'KeyE', run: act.flows, label: 'e', does: 'flows on, off' },
  { code: 'KeyP', run: act.pinRow, label: 'p h', does: 'pin, hide a row' },
  { code: 'KeyH', run: act.hideRow },
  { code: 'KeyX', run: act.hideClass, label: 'x', does: 'hide the class of a slice, or of the legend' },
  { code: 'Escape', run: act.clear, label: 'Esc', does: 'close the table, else clear the search, else the selection' },
];
