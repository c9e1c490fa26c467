/** The keys of the timeline. `} {` and `, .` share positions with brackets and punctuation, told apart by Shift. */

/** @typedef {import('../lib/keys.js').Key} Key */

/** Arrows and Enter belong to whatever else has the focus. @param {(event: KeyboardEvent) => void} run @returns {Key['run']} */
export const onLanes = (run) => (event) => (event.target instanceof Element && event.target.matches('body, main, .lanes, .lanes *') ? run(event) : false);

/**
 * Keys, one per line: its position, after a sign where Shift has to be held or not, what it does, and for the help sheet its label and what that is called.
 * @param {[code: string, run: Key['run'], label?: string, does?: string][]} lines @returns {Key[]}
 */
export const keysOf = (lines) => lines.map(([code, run, label, does]) => (
  { code: code.replace(/^[+-]/, ''), shift: code[0] === '+' ? true : code[0] === '-' ? false : undefined, run, label, does }));
