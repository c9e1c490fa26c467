/** The heading of Compare: both sessions, and the verdict or the reason why they are not compared. */

import { button, h } from '../lib/dom.js';
import { RequestError } from '../lib/api.js';

const NOT_FOUND = 404;

/** @param {'A'|'B'} side @param {string} name @param {string} note */
export const sessionBadge = (side, name, note) =>
  h(
    'span',
    null,
    h('h2', null, h('span', { class: `ab ${side}` }, side), name),
    h('span', { class: 'muted small' }, note),
  );

/** @param {HTMLElement[]} badges of A and B @param {HTMLElement|null} right the controls at the right
 * @param {...(Node|null)} body */
export const headingCard = (badges, right, ...body) =>
  h(
    'section',
    { class: 'card across', 'data-testid': 'compare-heading', 'aria-label': 'Sessions' },
    h('header', null, h('div', { class: 'sides' }, badges), right),
    h('div', { class: 'body' }, body),
  );

/**
 * In place of a comparison whose second session is missing or cannot be read.
 * @param {string} a name of session A, the open one @param {string} environment of A
 * @param {string} b name of session B
 * @param {Error} error
 * @param {() => void} retry
 */
export function failureCard(a, environment, b, error, retry) {
  const isMissing = error instanceof RequestError && error.status === NOT_FOUND;
  return headingCard(
    [sessionBadge('A', a, environment), sessionBadge('B', b, '')],
    null,
    h('p', { class: 'lead' }, `The session to compare with ${isMissing ? 'is missing' : 'cannot be read'}: ${b}.`),
    h(
      'p',
      null,
      h('span', { class: 'tag critical' }, 'error'),
      ' ',
      isMissing
        ? 'No session of this logdir has that name: it was moved or deleted, or the link belongs to another logdir.'
        : error.message,
    ),
    h(
      'p',
      { class: 'secondary' },
      'Choose another session under “compare with” in the header. The other views show A.',
    ),
    h('p', null, button('Try again', retry, { 'data-testid': 'try-again' })),
  );
}
