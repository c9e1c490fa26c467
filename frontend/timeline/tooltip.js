/** The tooltip of a slice, shown once the pointer rests; the panel has the same content. */

import { h, fill } from '../lib/dom.js';
import { sliceTexts } from './slice-style.js';

const DELAY_MS = 120;
/** Distances from the pointer and from the edges of the window, px. */
const RIGHT_PX = 12;
const BELOW_PX = 16;
const EDGE_PX = 8;

export function createTooltip() {
  const element = h('div', { class: 'tooltip hidden', role: 'tooltip', 'data-testid': 'tooltip' });
  let timer = 0;
  let shownKey = '';
  return {
    element,
    /**
     * @param {import('./scene.js').DrawnSlice|null} slice
     * @param {number} x of the pointer in the window
     * @param {number} y
     * @param {string} wait text of a core's wait for another host; empty if it does not wait
     */
    show(slice, x, y, wait) {
      clearTimeout(timer);
      const key = slice ? `${slice.row} ${slice.depth} ${slice.start_ps} ${wait}` : '';
      const draw = () => {
        const [name, ...words] = slice ? sliceTexts(slice) : [];
        shownKey = key;
        fill(element, h('b', null, name), [...words, wait].filter(Boolean).join(' · '));
        element.classList.remove('hidden');
        const { offsetWidth: width, offsetHeight: height } = element;
        element.style.left = `${Math.min(x + RIGHT_PX, innerWidth - width - EDGE_PX)}px`;
        element.style.top = `${y + BELOW_PX + height > innerHeight ? y - height - EDGE_PX : y + BELOW_PX}px`;
      };
      if (key && key === shownKey) return draw();
      shownKey = '';
      element.classList.add('hidden');
      if (key) timer = window.setTimeout(draw, DELAY_MS);
    },
  };
}
