/** Notes on links that name something which the session does not have. */

/** Whether a link's `st` names a step or a range, and not a mean. @param {string|undefined} st */
export const namesSteps = (st) => /^\d/.test(st ?? '');

/**
 * `The linked step 9999 is not in this session; step 1206 is shown.`; empty if the text names no single step.
 * @param {string|undefined} st the link's step, which is not in the session
 * @param {string} [shown] what is shown instead
 */
export const staleStepText = (st, shown) =>
  namesSteps(st) && !st?.includes('-') ? staleText(`step ${st}`, shown) : '';

/** @param {string} subject what the link names @param {string} [shown] what is shown instead */
export const staleText = (subject, shown) =>
  `The linked ${subject} is not in this session${shown ? `; ${shown} shown` : ''}.`;

/**
 * A function that adds a note, but not twice in a row with the same text: views are drawn again without a new link.
 * @param {import('./app.js').App} app
 * @returns {(...texts: (string|false|null|undefined)[]) => void}
 */
export function createStaleNote({ addNote }) {
  let shownText = '';
  return (...texts) => {
    const message = texts.filter(Boolean).join(' ');
    if (message && message !== shownText) addNote({ id: 'stale', message });
    shownText = message;
  };
}
