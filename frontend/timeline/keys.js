/** The keys of the timeline. `} {` and `, .` share positions with brackets and punctuation, told apart by Shift. */

/** @typedef {import('../lib/keys.js').Key} Key */
/** @typedef {'next'|'previous'} Way */

/**
 * @param {object} act
 * @param {(factor: number) => void} act.zoom @param {(part: number) => void} act.pan by a part of the window
 * @param {() => void} act.frame @param {() => void} act.whole @param {() => void} act.enter
 * @param {(way: Way) => void} act.step @param {(way: Way) => void} act.occurrence
 * @param {(step: 1|-1) => void} act.along @param {(step: 1|-1) => void} act.across @param {(step: 1|-1) => void} act.gap
 * @param {() => void} act.align @param {() => void} act.flows @param {() => void} act.search @param {() => void} act.time @param {() => void} act.clear
 * @returns {Key[]}
 */
export function timelineKeys(act) {
  /** Arrows and Enter belong to whatever else has the focus. @param {Key['run']} run @returns {Key['run']} */
  const onLanes = (run) => (event) => (event.target instanceof Element && event.target.matches('body, main, .lanes, .lanes *') ? run(event) : false);
  /** @type {[string, Key['run'], string?, string?][]} */
  const keys = [
    ['KeyW', () => act.zoom(1.5), 'w s', 'zoom in, out'],
    ['KeyS', () => act.zoom(1 / 1.5)],
    ['KeyA', () => act.pan(-0.2), 'a d', 'pan'],
    ['KeyD', () => act.pan(0.2)],
    ['ArrowLeft', onLanes(() => act.along(-1)), '← → ↑ ↓', 'move between slices of a row, rows'],
    ['ArrowRight', onLanes(() => act.along(1))],
    ['ArrowUp', onLanes(() => act.across(-1))],
    ['ArrowDown', onLanes(() => act.across(1))],
    ['Enter', onLanes(act.enter), 'Enter', 'details; opens a folded row'],
    ['KeyF', act.frame, 'f', 'frame the selection'],
    ['KeyM', act.whole, 'm', 'back to the whole session'],
    ['-Slash', act.search, '/', 'search; Enter next, Shift+Enter back'],
    ['KeyG', act.time, 'g', 'go to a time'],
    ['-Comma', () => act.step('previous'), ', .', 'previous, next step'],
    ['-Period', () => act.step('next')],
    ['-BracketLeft', () => act.gap(-1), '[ ]', 'previous, next gap (same device)'],
    ['-BracketRight', () => act.gap(1)],
    ['+BracketLeft', () => act.occurrence('previous'), '{ }', 'previous, next occurrence'],
    ['+BracketRight', () => act.occurrence('next')],
    ['KeyT', act.align, 't', 'align device to host step'],
    ['KeyE', act.flows, 'e', 'flows on, off'],
    ['Escape', act.clear, 'Esc', 'clear: search, then selection'],
  ];
  // A sign before the position: with Shift, or without it.
  return keys.map(([code, run, label, does]) => ({ code: code.replace(/^[+-]/, ''), shift: code[0] === '+' ? true : code[0] === '-' ? false : undefined, run, label, does }));
}
