/** The card of device time by how the scope of its ops was found. */

import { h } from '../lib/dom.js';
import { card } from '../lib/cards.js';
import { share, timeText } from '../lib/format.js';
import { partColumns, table } from '../lib/table.js';
import { TERMS } from '../lib/terms.js';

/** @typedef {import('../lib/routes').PropagationAnswer} PropagationAnswer */

const STATES = /** @type {const} */ (['direct', 'recovered', 'bare', 'none']);

/** A part of the bar with a larger share shows its name, time and share. */
const MIN_NAMED_SHARE = 0.12;
/** A part with a larger share than this shows its share alone. */
const MIN_WRITTEN_SHARE = 0.03;

/**
 * @param {PropagationAnswer} document
 * @param {string} stepName
 * @param {import('../lib/dom.js').Child[]} choices
 */
export function coverageCard(document, stepName, choices) {
  const { coverage, total, device, hint, words } = document;
  const rows = STATES.map((key) => ({ key, word: words[key], source: TERMS[words[key]] }));
  const [stepParts, captureParts] = [coverage, total].map((sums) =>
    rows.map(({ key }) => sums[/** @type {const} */ (`${key}_ps`)]),
  );
  /** Indices of the states. */
  const items = [...rows.keys()];
  const inStep = partColumns('Time', items, (/** @type {number} */ index) => stepParts[index]);
  const inCapture = partColumns(
    'Whole capture, all devices',
    items,
    (/** @type {number} */ index) => captureParts[index],
  );
  const bar = rows.map(({ key, word }, index) => {
    const text = `${word} ${inStep.texts[index]}\u202f${inStep.unit.name} · ${share(inStep.shares[index])}`;
    const partShare = inStep.shares[index];
    return stepParts[index]
      ? h(
          'div',
          { class: `of-${key}`, title: text, 'data-ps': stepParts[index], style: { flex: `${partShare} 1 0` } },
          partShare > MIN_NAMED_SHARE && h('span', { class: 'whole' }, text),
          partShare > MIN_WRITTEN_SHARE &&
            h('span', { class: partShare > MIN_NAMED_SHARE ? 'brief' : '' }, share(partShare)),
        )
      : null;
  });
  return card(
    'Where the device time went',
    {
      class: 'across',
      note: [stepName, device?.name, coverage.device_ps && `${timeText(coverage.device_ps)} on the device`]
        .filter(Boolean)
        .join(', '),
      right: choices,
    },
    hint && h('p', { 'data-testid': 'propagation-hint' }, hint),
    coverage.device_ps
      ? [
          h('div', { class: 'coverage', 'data-testid': 'coverage-bar' }, bar),
          h(
            'details',
            null,
            h(
              'summary',
              { class: 'small muted' },
              rows.filter((_, index) => stepParts[index])
                .map(({ word, source }) => `${word}: ${source}`)
                .join(' · '),
            ),
            table({
              label: 'Coverage',
              testid: 'coverage-table',
              items,
              foot: ['All ops', inStep.sum, share(1), inCapture.sum, ''],
              columns: [
                { head: 'Scope', cell: (index) => rows[index].word },
                inStep.time,
                inStep.share,
                inCapture.time,
                { head: 'From', cell: (index) => rows[index].source },
              ],
            }),
          ),
        ]
      : null,
  );
}
