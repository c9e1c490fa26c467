/** The lanes for people who do not see them: a hidden list of rows, and what moving between slices says. */

import { h, fill } from '../lib/dom.js';
import { count, placeText, plural, share, timeText } from '../lib/format.js';
import { whatIs } from './scene.js';

export function createRowList() {
  const list = h('div', { role: 'grid', class: 'hidden', 'aria-label': 'Rows' });
  let drawn = '';
  return {
    element: list,
    /** @param {import('./layout.js').Lane[]} lanes */
    set(lanes) {
      const key = lanes.map(({ id, label }) => id + label).join();
      if (key === drawn) return;
      drawn = key;
      fill(list, lanes.map((lane) => h('div', { role: 'row', id: laneId(lane), 'data-row': lane.row.id },
        h('span', { role: 'gridcell' }, laneText(lane)))));
    },
  };
}

/** @param {import('./layout.js').Lane} lane */
export const laneId = (lane) => `lane-${lane.id}`;

/** `python (driving), depth 2, 62.2 % busy, 11 520 events` @param {import('./layout.js').Lane} lane */
export function laneText({ row, rows, kind, depth, label }) {
  const name = kind === 'slices' ? row.label : label;
  const events = rows.reduce((sum, own) => sum + own.events, 0);
  return [name, depth ? `depth ${depth + 1}` : '', row.share == null || kind === 'more' ? '' : `${share(row.share)} busy`,
    plural(events, 'event')].filter(Boolean).join(', ');
}

/** `StepMarker, step marker, 9.742 ms, at 739.896 ms, python` @param {import('./scene.js').Found} found */
export function foundText(found) {
  const length = timeText(found.end_ps - found.start_ps);
  const at = `at ${placeText(found.start_ps)}`;
  if (found.count > 1) return `${count(found.count)} events, most: ${found.name}, ${length}, ${at}, ${found.lane.row.label}`;
  return [found.name, whatIs(found), length, at, found.lane.row.label].filter(Boolean).join(', ');
}
