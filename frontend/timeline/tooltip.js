/** A few words beside the pointer, 120 ms after it rests. Nothing stands here that the panel does not have. */

import { h, fill } from '../lib/dom.js';
import { count, placeText, timeText } from '../lib/format.js';
import { whatIs } from './scene.js';

const DELAY_MS = 120;

/** @param {import('./scene.js').Found} found @returns {string[]} name, then lines */
export function tooltipLines(found) {
  const length = found.end_ps - found.start_ps;
  if (found.count > 1) {
    return [`${count(found.count)} events`,
      `${timeText(found.busy_ps || length)} busy of ${timeText(length)}`, `most: ${found.name}`];
  }
  const at = `at ${placeText(found.start_ps)} · ${found.lane.row.label}`;
  return [found.name || whatIs(found), `${whatIs(found)} · ${timeText(length)}`, at];
}

export function createTooltip() {
  const element = h('div', { class: 'tooltip none', role: 'tooltip', 'data-testid': 'tooltip' });
  let timer = 0;
  let shown = '';
  return {
    element,
    /** @param {import('./scene.js').Found|null} found @param {number} x @param {number} y of the window */
    show(found, x, y) {
      clearTimeout(timer);
      const key = found ? `${found.row} ${found.depth} ${found.start_ps}` : '';
      if (!found) {
        shown = '';
        element.classList.add('none');
        return;
      }
      const place = () => {
        shown = key;
        const [name, ...lines] = tooltipLines(found);
        fill(element, h('b', null, name), lines.map((line) => h('span', { class: 'line' }, line, h('br', null))));
        element.classList.remove('none');
        element.style.left = `${Math.min(x + 12, innerWidth - element.offsetWidth - 8)}px`;
        element.style.top = `${y + 16 + element.offsetHeight > innerHeight ? y - element.offsetHeight - 8 : y + 16}px`;
      };
      if (shown === key) place();
      else {
        element.classList.add('none');
        timer = window.setTimeout(place, DELAY_MS);
      }
    },
  };
}
