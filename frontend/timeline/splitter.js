/** The bar between lanes and panel: dragged or moved by arrow keys; the height of the panel is remembered. */

import { clamp } from '../lib/axis.js';
import { h, onDrag, onKeys } from '../lib/dom.js';
import { readPref, writePref } from '../lib/preferences.js';
import { isSmall } from './scale.js';

const MIN_PANEL_PX = 180;
/** Of lanes: the ruler, what the host did, its driving thread, and the gaps and runs of a device. */
const MIN_LANES_PX = 148;
/** Above the panel when it is dragged to the top: the toolbar and part of the lanes. */
const MIN_ABOVE_PANEL_PX = 140;
/** The heights of `.splitter` and `.toolbar` in styles.css. */
const SPLITTER_PX = 5;
const TOOLBAR_PX = 34;
const STEP_PX = 24;
/** The lanes' share of the view below the toolbar. */
const LANES_SHARE = 0.62;

/** @param {() => void} changed @param {() => number} height of the view */
export function createSplitter(changed, height) {
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
  const panel = () => /** @type {HTMLElement} */ (element.nextElementSibling).offsetHeight;

  /** @param {number} next */
  function set(next) {
    chosenPx = Math.round(clamp(next, MIN_PANEL_PX, height() - MIN_ABOVE_PANEL_PX));
    writePref('panel', String(chosenPx));
    changed();
  }
  onDrag(element, (event) => {
    const offset = panel() + event.clientY;
    return ({ clientY }) => set(offset - clientY);
  });
  const move = (/** @type {number} */ by) => set((chosenPx || panel()) + by);
  onKeys(element, '*', { ArrowUp: () => move(STEP_PX), ArrowDown: () => move(-STEP_PX) });
  return {
    element,
    /**
     * The height of the lanes: at most what they need. With a panel height that the user chose, the rest of the view;
     * otherwise at most 62 % of the view (not in a low window), and no more than the panel leaves.
     * @param {number} natural
     * @param {number} above px of the view over the lanes
     * @param {number} panelPx px that the panel needs, 0: as much as there is
     */
    lanes(natural, above, panelPx) {
      const view = height();
      const free = view - above - SPLITTER_PX;
      const share = Math.min(view * LANES_SHARE - (above - TOOLBAR_PX), free - MIN_PANEL_PX);
      const most = isSmall() ? Infinity : share;
      const available = chosenPx ? free - chosenPx : panelPx ? Math.min(most, free - panelPx) : share;
      element.setAttribute('aria-valuenow', String(chosenPx || Math.round(view - above - available)));
      return Math.max(MIN_LANES_PX, Math.floor(Math.min(natural, available)));
    },
  };
}
