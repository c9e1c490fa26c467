/** Tooltips that explain glossary terms on hover and focus. */

import { clamp } from '../lib/axis.js';
import { h } from '../lib/dom.js';
import { TERMS, termOf } from '../lib/terms.js';

/**
 * Elements whose whole text may be a term; `data-term` marks a term within a sentence. Severities are explained for
 * findings: those of notes are no gains.
 */
const TERM_SELECTOR = '[data-term], th, td, h3, .tag:not(.diagnostic *), .legend > span, figcaption';
/** Longer texts are not terms. */
const MAX_LETTERS = 40;
/** Distances of a tooltip from its term and from the edges of the window, px. */
const TERM_GAP_PX = 4;
const EDGE_GAP_PX = 8;

/** Creates the tooltip of the terms in an element. @param {HTMLElement} container */
export function createTermTips(container) {
  const tip = h('div', { class: 'tooltip hidden', role: 'tooltip', id: 'term-tip', 'data-testid': 'term-tip' });
  /** @type {Element|null} */
  let describedElement = null;

  /** @param {EventTarget|null} target @returns {[HTMLElement, string]|null} */
  function findTerm(target) {
    const holder = target instanceof Element ? /** @type {HTMLElement|null} */ (target.closest(TERM_SELECTOR)) : null;
    const text = holder?.dataset.term ?? holder?.textContent ?? '';
    const term = holder && text.length <= MAX_LETTERS ? termOf(text, columnHead(holder)) : null;
    return holder && term ? [holder, term] : null;
  }

  /** The head of a cell's column; empty for other elements. @param {HTMLElement} element */
  const columnHead = (element) =>
    element instanceof HTMLTableCellElement && element.tagName === 'TD'
      ? (element.closest('table')?.tHead?.rows[0]?.cells[element.cellIndex]?.textContent ?? '')
      : '';

  function hide() {
    tip.classList.add('hidden');
    describedElement?.removeAttribute('aria-describedby');
    describedElement = null;
  }

  /** @param {Event} event */
  function show({ target }) {
    const match = findTerm(target);
    hide();
    if (!match) return;
    const [holder, term] = match;
    tip.textContent = TERMS[term];
    tip.classList.remove('hidden');
    const box = holder.getBoundingClientRect();
    tip.style.left = `${clamp(box.left, EDGE_GAP_PX, innerWidth - tip.offsetWidth - EDGE_GAP_PX)}px`;
    const below = box.bottom + TERM_GAP_PX;
    const fitsBelow = below + tip.offsetHeight <= innerHeight;
    tip.style.top = `${fitsBelow ? below : box.top - tip.offsetHeight - TERM_GAP_PX}px`;
    if (target === document.activeElement) {
      describedElement = /** @type {Element} */ (target);
      describedElement.setAttribute('aria-describedby', tip.id);
    }
  }

  container.addEventListener('pointerover', show);
  container.addEventListener('focusin', show);
  container.addEventListener('pointerleave', hide);
  container.addEventListener('focusout', hide);
  container.addEventListener('keydown', ({ key }) => { if (key === 'Escape') hide(); });
  addEventListener('scroll', hide, { capture: true, passive: true });
  return tip;
}
