/** The card of the roofline: the picture with its legend, or why there is none. */

import { button, h } from '../lib/dom.js';
import { card } from '../lib/cards.js';
import { drawableOps } from './layout.js';
import { toneChip } from './tree.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').OpRow} OpRow */

/**
 * @param {DeviceAnswer} document
 * @param {OpRow[]} rows
 * @param {Map<string, number>} tones
 * @param {Map<string, string>} names short names by path
 * @param {HTMLElement} picture
 * @param {() => void} setPeaks
 */
export function roofCard(document, rows, tones, names, picture, setPeaks) {
  const drawable = drawableOps(rows);
  const { missing_peaks, notes } = document;
  return card(
    'Against the roof',
    {
      note: drawable.length ? 'both axes logarithmic' : '',
      right: drawable.length ? h('span', { class: 'legend' }, legendEntries(drawable, tones, names)) : null,
      class: 'roof-card',
    },
    drawable.length
      ? [
          picture,
          missing_peaks &&
            h(
              'p',
              { class: 'small secondary' },
              `No roof is drawn: ${missing_peaks}. `,
              button('Set peaks…', setPeaks, { class: 'small-button', 'data-testid': 'set-peaks' }),
            ),
        ]
      : h('p', { 'data-testid': 'roofline-none' }, notes.no_picture),
  );
}

/** @param {OpRow[]} rows @param {Map<string, number>} tones @param {Map<string, string>} names */
function legendEntries(rows, tones, names) {
  const drawnPaths = new Set(rows.map(({ path }) => path));
  const paths = [...tones.keys()].filter((path) => drawnPaths.has(path));
  const untoned = rows.some(({ path }) => path !== null && !tones.has(path));
  return [
    ...paths.map((path) => h('span', { title: path }, toneChip(path, tones), names.get(path) ?? path)),
    untoned && h('span', null, toneChip('', new Map()), 'other'),
    rows.some(({ path }) => path === null) && h('span', null, toneChip(null, tones), 'no annotation'),
  ];
}
