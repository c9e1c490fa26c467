/** The keys of the timeline. `} {` and `, .` share positions with brackets and punctuation, told apart by Shift. */

/**
 * @param {object} act
 * @param {(factor: number) => void} act.zoom @param {(part: number) => void} act.pan by a part of the window
 * @param {() => void} act.frame @param {() => void} act.whole @param {() => void} act.enter
 * @param {(direction: 'next'|'previous') => void} act.step @param {(way: 'next'|'previous') => void} act.occurrence
 * @param {(step: 1|-1) => void} act.along @param {(step: 1|-1) => void} act.across
 * @param {(step: 1|-1) => void} act.gap
 * @param {() => void} act.flows @param {() => void} act.search @param {() => void} act.time @param {() => void} act.clear
 * @returns {import('../lib/keys.js').Key[]}
 */
export function timelineKeys(act) {
  /** Arrows and Enter belong to whatever else has the focus. @param {KeyboardEvent} event */
  const onLanes = ({ target }) => target === document.body || (target instanceof Element && target.closest('.lanes') !== null)
    || (target instanceof Element && target.tagName === 'MAIN');
  /** @param {string} code @param {() => void} run @param {string} [label] @param {string} [does] @returns {import('../lib/keys.js').Key} */
  const lane = (code, run, label, does) => ({ code, label, does, run: (event) => (onLanes(event) ? run() : false) });
  return [
    { code: 'KeyW', label: 'w s', does: 'zoom in, out', run: () => act.zoom(1.5) },
    { code: 'KeyS', run: () => act.zoom(1 / 1.5) },
    { code: 'KeyA', label: 'a d', does: 'pan', run: () => act.pan(-0.2) },
    { code: 'KeyD', run: () => act.pan(0.2) },
    lane('ArrowLeft', () => act.along(-1), '← → ↑ ↓', 'move between slices of a row, rows'),
    lane('ArrowRight', () => act.along(1)),
    lane('ArrowUp', () => act.across(-1)),
    lane('ArrowDown', () => act.across(1)),
    lane('Enter', act.enter, 'Enter', 'details; opens a folded row'),
    { code: 'KeyF', label: 'f', does: 'frame the selection', run: act.frame },
    { code: 'KeyM', label: 'm', does: 'back to the whole session', run: act.whole },
    { code: 'Slash', shift: false, label: '/', does: 'search; Enter next, Shift+Enter back', run: act.search },
    { code: 'KeyG', label: 'g', does: 'go to a time', run: act.time },
    { code: 'Comma', shift: false, label: ', .', does: 'previous, next step', run: () => act.step('previous') },
    { code: 'Period', shift: false, run: () => act.step('next') },
    { code: 'BracketLeft', shift: false, label: '[ ]', does: 'previous, next gap (same device)', run: () => act.gap(-1) },
    { code: 'BracketRight', shift: false, run: () => act.gap(1) },
    { code: 'BracketLeft', shift: true, label: '{ }', does: 'previous, next occurrence', run: () => act.occurrence('previous') },
    { code: 'BracketRight', shift: true, run: () => act.occurrence('next') },
    { code: 'KeyE', label: 'e', does: 'flows on, off', run: act.flows },
    { code: 'Escape', label: 'Esc', does: 'clear: search, then selection', run: act.clear },
  ];
}
