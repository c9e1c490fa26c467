/** A few words beside the pointer, 120 ms after it rests. Nothing stands here that the panel does not have. */

import { h, fill } from '../lib/dom.js';
import { sliceTexts } from './slice-style.js';

const DELAY_MS = 120;

export function createTooltip() {
  const element = h('div', { class: 'tooltip none', role: 'tooltip', 'data-testid': 'tooltip' });
  let timer = 0;
  let shown = '';
  return {
    element,
    /**
     * @param {import('./scene.js').DrawnSlice|null} slice
     * @param {number} x
     * @param {number} y of the window
     * @param {string} wait of a core for another host, if it does
     */
    show(slice, x, y, wait) {
      clearTimeout(timer);
      const key = slice ? `${slice.row} ${slice.depth} ${slice.start_ps} ${wait}` : '';
      const place = () => {
        const [name, ...words] = slice ? sliceTexts(slice) : [];
        shown = key;
        fill(element, h('b', null, name), [...words, wait].filter(Boolean).join(' · '));
        element.classList.remove('none');
        element.style.left = `${Math.min(x + 12, innerWidth - element.offsetWidth - 8)}px`;
        element.style.top = `${y + 16 + element.offsetHeight > innerHeight ? y - element.offsetHeight - 8 : y + 16}px`;
      };
      if (key && key === shown) return place();
      shown = '';
      element.classList.add('none');
      if (key) timer = window.setTimeout(place, DELAY_MS);
    },
  };
}
