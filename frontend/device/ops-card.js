/** The card around the table of ops: a heading that counts them, a search, a filter by bound, and the export. */

import { card } from '../lib/cards.js';
import { exportButton } from '../lib/csv.js';
import { h, labelledSelect, withValue } from '../lib/dom.js';
import { plural } from '../lib/format.js';
import { BOUND_WORDS, CSV_HEADS, divisor } from './rows.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('../lib/routes').BoundBy} BoundBy */

/** `22 rows of all steps, 310 executions per step and core, by own time` @param {DeviceAnswer} document */
export function headingText(document) {
  const { total: { op_count, executions }, chosen, cores } = document;
  const isMean = chosen.steps === 'mean';
  return `${plural(op_count, 'row')}${isMean ? ' of all steps' : ''}, ` +
    `${plural(Math.round(executions / divisor(document)), 'execution')}${isMean ? ' per step' : ''}` +
    `${cores > 1 ? (isMean ? ' and core' : ' per core') : ''}, by own time`;
}

/**
 * Notes on an annotation or op of the link that the drawn work does not have.
 * @param {import('../lib/link.js').LinkState} state
 * @param {import('./types').TreeRow[]} tree
 * @param {import('./types').OpRow[]} rows
 */
export const missingTexts = ({ an, op }, tree, rows) => [
  an && !tree.some(({ key }) => key === an) && `The chosen work has no annotation ${an}, which the link names.`,
  op && !rows.some(({ id }) => id === op) && `The chosen work has no op ${op}, which the link names.`,
];

/**
 * @param {{heading: HTMLElement, search: HTMLInputElement, list: HTMLElement}} elements `list` has the table
 * @param {object} options
 * @param {BoundBy[]} options.bounds to choose from
 * @param {string|undefined} options.bound the chosen one; undefined or empty for any
 * @param {(bound: string) => void} options.setBound
 * @param {string} options.fileName of the export
 * @param {() => Promise<Record<string, any>[]|null>} options.csvItems null if they cannot be loaded
 */
export const opsCard = ({ heading, search, list }, { bounds, bound = '', setBound, fileName, csvItems }) =>
  card(
    'Device work by op',
    {
      note: heading,
      class: 'across ops-card',
      right: [
        h('span', { class: 'field' }, search, h('kbd', null, '/')),
        labelledSelect(
          'bound by',
          withValue(
            [['', 'any'], ...bounds.map((name) => /** @type {[string, string]} */ ([name, BOUND_WORDS[name]]))],
            bound,
          ),
          bound,
          setBound,
          'filter-bound',
        ),
        exportButton(fileName, CSV_HEADS, csvItems),
      ],
    },
    list,
  );
