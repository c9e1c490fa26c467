/** The keys of the timeline. `} {` and `, .` share positions with brackets and punctuation, told apart by Shift. */

/** @typedef {import('../lib/keys.js').Key} Key */
/**
 * What the keys do.
 * @typedef {object} Actions
 * @property {(factor: number) => void} zoom
 * @property {(part: number) => void} pan by a part of the window
 * @property {(way: -1|1) => void} along moves along a row
 * @property {(way: -1|1) => void} across moves to another row
 * @property {() => void} enter
 * @property {() => void} frame
 * @property {() => void} whole
 * @property {() => void} search
 * @property {() => void} askTime
 * @property {(way: 'previous'|'next') => void} step
 * @property {(way: -1|1) => void} gap
 * @property {() => void} longest
 * @property {(way: 'previous'|'next') => void} occurrence
 * @property {() => void} align
 * @property {() => void} flows
 * @property {() => void} clear
 */

/**
 * Runs only if the lanes or the page have the focus: other elements use arrows and Enter themselves.
 * @param {() => void} run @returns {Key['run']}
 */
const onLanes = (run) => (event) =>
  event.target instanceof Element && event.target.matches('body, main, .lanes, .lanes *') ? run() : false;

/** @param {Actions} act @returns {Key[]} */
export function timelineKeys(act) {
  /**
   * Its position, after a sign where Shift has to be held or not, what it does, and for the help sheet its label and
   * what that is called.
   * @type {[code: string, run: Key['run'], label?: string, does?: string][]}
   */
  const lines = [
    ['KeyW', () => act.zoom(1.5), 'w s', 'zoom in, out'],
    ['KeyS', () => act.zoom(1 / 1.5)],
    ['KeyA', () => act.pan(-0.2), 'a d', 'pan'],
    ['KeyD', () => act.pan(0.2)],
    ['ArrowLeft', onLanes(() => act.along(-1)), '← → ↑ ↓', 'move between slices of a row, rows'],
    ['ArrowRight', onLanes(() => act.along(1))],
    ['ArrowUp', onLanes(() => act.across(-1))],
    ['ArrowDown', onLanes(() => act.across(1))],
    ['Enter', onLanes(act.enter), 'Enter', 'show details; open a folded row'],
    ['KeyF', act.frame, 'f', 'frame the selection'],
    ['KeyM', act.whole, 'm', 'back to the whole session'],
    ['-Slash', act.search, '/', 'search; Enter next, Shift+Enter back'],
    ['KeyG', act.askTime, 'g', 'go to a time'],
    ['-Comma', () => act.step('previous'), ', .', 'previous, next step'],
    ['-Period', () => act.step('next')],
    ['-BracketLeft', () => act.gap(-1), '[ ]', 'previous, next gap (same device)'],
    ['-BracketRight', () => act.gap(1)],
    ['KeyL', act.longest, 'l', 'longest gap; again: the next longest'],
    ['+BracketLeft', () => act.occurrence('previous'), '{ }', 'previous, next occurrence'],
    ['+BracketRight', () => act.occurrence('next')],
    ['KeyT', act.align, 't', 'align device to host step'],
    ['KeyE', act.flows, 'e', 'flows on, off'],
    ['Escape', act.clear, 'Esc', 'clear: search, then selection'],
  ];
  return lines.map(([code, run, label, does]) => ({
    code: code.replace(/^[+-]/, ''),
    shift: code[0] === '+' ? true : code[0] === '-' ? false : undefined,
    run,
    label,
    does,
  }));
}
