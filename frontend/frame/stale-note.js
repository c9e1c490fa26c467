/** Notes on links that name something which the session does not have. */

/** Whether a link's `st` names a step or a range, and not a mean. @param {string|undefined} st */
export const namesSteps = (st) => /^\d/.test(st ?? '');

/**
 * `The linked step 9999 is not in this session; step 1206 is shown.`; empty if the text names no single step.
 * @param {string|undefined} st the link's step, which is not in the session
 * @param {string} [shown] what is shown instead
 * @param {string} [place] what lacks the step
 */
export const staleStepText = (st, shown, place) =>
  namesSteps(st) && !st?.includes('-') ? staleText(`step ${st}`, shown, place) : '';

/**
 * @param {string} subject what the link names
 * @param {string} [shown] what is shown instead
 * @param {string} [place] what lacks the subject
 */
export const staleText = (subject, shown, place = 'in this session') =>
  `The linked ${subject} is not ${place}${shown ? `; ${shown} shown` : ''}.`;

/**
 * A function that shows texts as one note while its view is in front; without a text, it removes the note.
 * @param {import('./app.js').App} app
 * @param {string} view id
 * @param {string} [source] what the note is about: a view may have several notes
 * @returns {(...texts: (string|false|null|undefined)[]) => void}
 */
export const createStaleNote = ({ keepNote }, view, source = view) => (...texts) =>
  keepNote({ id: `stale-${source}`, view, message: texts.filter(Boolean).join(' ') });
