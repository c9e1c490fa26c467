/** The bar of what the host time of executions consists of, with its legend. */

import { h, percent } from '../lib/dom.js';
import { legend } from '../lib/classes.js';
import { timeText } from '../lib/format.js';

/** @typedef {import('../lib/routes').ExecutionRow} ExecutionRow */
/** @typedef {import('./cards.js').CostName} CostName */

/** What host time consists of, each with its class in the style sheet. @type {[CostName, string, string][]} */
const COST_MARKS = [
  ['device_ps', 'device-run', 'device run'],
  ['queue_ps', 'queue', 'queue: the device was busy with earlier work'],
  ['overhead_ps', 'overhead', 'overhead'],
];

export const costLegend = () =>
  legend(
    COST_MARKS.map(([, className, text]) => [
      h('i', { class: `cost-mark ${className}`, 'aria-hidden': 'true' }),
      text,
    ]),
  );

/** @param {ExecutionRow} row @param {(key: CostName) => number} shareOf from 0 to 1 */
export const costBar = (row, shareOf) =>
  h(
    'div',
    { class: 'costs', 'aria-hidden': 'true' },
    COST_MARKS.filter(([key]) => row[key]).map(([key, className, name]) =>
      h('i', {
        class: className,
        title: `${name.split(':')[0]} ${timeText(row[key])} in total`,
        style: { width: percent(shareOf(key)) },
      }),
    ),
  );
