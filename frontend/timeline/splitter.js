/** The bar between lanes and panel, moved by dragging or arrow keys. This browser remembers the height of the panel. */

import { clamp } from '../lib/axis.js';
import { h, onDrag, onKeys } from '../lib/dom.js';
import { readPref, writePref } from '../lib/preferences.js';
import { isLowWindow } from './scale.js';

const MIN_PANEL_PX = 180;
/** Shows the ruler, the host's classes and driving thread, and the gaps and runs of a device. */
const MIN_LANES_PX = 148;
/** What stays above the panel when it is dragged to the top: the toolbar and part of the lanes. */
const MIN_ABOVE_PANEL_PX = 140;
/** The heights of `.splitter` and `.toolbar` in styles.css. */
const SPLITTER_PX = 5;
const TOOLBAR_PX = 34;
const STEP_PX = 24;
/** The strip and the lanes take at most this share of the view. */
const LANES_SHARE = 0.62;

/** @param {() => void} onMove @param {() => number} viewHeight px */
export function createSplitter(onMove, viewHeight) {
  /** The height of the panel that the user chose, px; 0 if none is chosen. */
  let chosenPx = Number(readPref('panel'));
  const element = h('div', {
    class: 'splitter',
    role: 'separator',
    tabindex: 0,
    'aria-orientation': 'horizontal',
    'aria-label': 'Height of the panel',
    'aria-valuemin': MIN_PANEL_PX,
    'data-testid': 'splitter',
  });
  const panelHeight = () => /** @type {HTMLElement} */ (element.nextElementSibling).offsetHeight;

  /** @param {number} next */
  function set(next) {
    chosenPx = Math.round(clamp(next, MIN_PANEL_PX, viewHeight() - MIN_ABOVE_PANEL_PX));
    writePref('panel', String(chosenPx));
    onMove();
  }
  onDrag(element, (event) => {
    const offset = panelHeight() + event.clientY;
    return ({ clientY }) => set(offset - clientY);
  });
  const move = (/** @type {number} */ by) => set((chosenPx || panelHeight()) + by);
  onKeys(element, '*', { ArrowUp: () => move(STEP_PX), ArrowDown: () => move(-STEP_PX) });
  return {
    element,
    /**
     * The height of the lanes, px: at most what they need, but at least `MIN_LANES_PX`. If the user chose a height of
     * the panel, the rest of the view; otherwise what the panel leaves, and at most `LANES_SHARE` of the view, unless
     * the panel states its need in a low window.
     * @param {number} natural the height that the lanes need, px
     * @param {number} above the height of the view above the lanes, px
     * @param {number} panelPx the height that the panel needs, px; 0 if it takes the rest
     * @param {number} hintPx the height of the hint that is shown without a selection, px; 0 with one
     */
    lanesHeight(natural, above, panelPx, hintPx) {
      const view = viewHeight();
      element.hidden = hintPx > 0;
      if (hintPx) return Math.max(MIN_LANES_PX, Math.floor(Math.min(natural, view - above - hintPx)));
      const free = view - above - SPLITTER_PX;
      const share = Math.min(view * LANES_SHARE - (above - TOOLBAR_PX), free - MIN_PANEL_PX);
      const max = isLowWindow() ? Infinity : share;
      const available = chosenPx ? free - chosenPx : panelPx ? Math.min(max, free - panelPx) : share;
      element.setAttribute('aria-valuenow', String(chosenPx || Math.round(view - above - available)));
      return Math.max(MIN_LANES_PX, Math.floor(Math.min(natural, available)));
    },
  };
}
