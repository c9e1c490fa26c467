/** Tooltips that explain glossary terms on hover and focus. */

import { h } from '../lib/dom.js';
import { TERMS, termOf } from '../lib/terms.js';

/** Elements whose whole text may be a term; `data-term` marks a term within a sentence. */
const PLACES = '[data-term], th, td, h3, .tag, .legend > span, figcaption';
/** No term is longer. */
const MAX_LETTERS = 40;

/** Attaches the tooltips to an element. @param {HTMLElement} around */
export function createTermTips(around) {
  const tip = h('div', { class: 'tooltip none', role: 'tooltip', id: 'term-tip', 'data-testid': 'term-tip' });
  /** @type {Element|null} */
  let described = null;

  /** @param {EventTarget|null} target @returns {[HTMLElement, string]|null} */
  function findTerm(target) {
    const holder = target instanceof Element ? /** @type {HTMLElement|null} */ (target.closest(PLACES)) : null;
    const text = holder?.dataset.term ?? holder?.textContent ?? '';
    const term = holder && text.length <= MAX_LETTERS ? termOf(text) : null;
    return holder && term ? [holder, term] : null;
  }

  function hide() {
    tip.classList.add('none');
    described?.removeAttribute('aria-describedby');
    described = null;
  }

  /** @param {Event} event */
  function show({ target }) {
    const word = findTerm(target);
    hide();
    if (!word) return;
    const [holder, term] = word;
    tip.textContent = TERMS[term];
    tip.classList.remove('none');
    const box = holder.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
    const fitsBelow = box.bottom + 4 + tip.offsetHeight <= innerHeight;
    tip.style.top = `${fitsBelow ? box.bottom + 4 : box.top - tip.offsetHeight - 4}px`;
    if (target === document.activeElement) {
      described = /** @type {Element} */ (target);
      described.setAttribute('aria-describedby', tip.id);
    }
  }

  around.addEventListener('pointerover', show);
  around.addEventListener('focusin', show);
  around.addEventListener('pointerleave', hide);
  around.addEventListener('focusout', hide);
  around.addEventListener('keydown', ({ key }) => { if (key === 'Escape') hide(); });
  addEventListener('scroll', hide, { capture: true, passive: true });
  return tip;
}
