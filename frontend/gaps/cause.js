/** The cause of a gap, as every view names it. */

import { h } from '../lib/dom.js';
import { DEVICE_WAITS, LABELS, classCell, classChip } from '../lib/classes.js';

/** @typedef {import('../lib/views').GapItem} GapItem */
/**
 * The class of the host's main activity until the work was queued or, if it is unknown when that was, in the whole gap;
 * `queued` if the device waited for something other than the host.
 * @typedef {import('../lib/routes').ClassName|'queued'} CauseName
 */

/**
 * Of a gap, or of the gaps of a pattern.
 * @param {{kind: GapItem['kind']|null, cause: GapItem['cause']}} gap @returns {CauseName}
 */
export const causeOf = ({ kind, cause }) => (kind === 'queued' ? 'queued' : cause);

/** @param {CauseName} cause */
export const causeLabel = (cause) => (cause === 'queued' ? DEVICE_WAITS : LABELS[cause]);

/** @param {CauseName} cause */
export const causeCell = (cause) =>
  cause === 'queued'
    ? h(
        'span',
        { title: 'The work was queued before the gap began: the device waited for something other than the host' },
        classChip('wait'),
        DEVICE_WAITS,
      )
    : classCell(cause);

/**
 * A cause, with the title of the finding behind it. The gap's panel begins with both.
 * @param {CauseName} cause
 * @param {string} [reason] the finding's title
 */
export const reasonCell = (cause, reason) =>
  h('span', null, causeCell(cause), reason && h('small', { class: 'muted reason' }, `\u00a0${reason}`));
