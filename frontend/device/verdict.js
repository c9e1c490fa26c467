/** What the device is busy with and how well, in one or two sentences, and four figures. */

import { h } from '../lib/dom.js';
import { headline, MISSING, plural, share, timeText } from '../lib/format.js';
import { total } from '../lib/items.js';
import { divisor, hasRates, isReached } from './data.js';

/** @typedef {import('./types').DeviceDocument} DeviceDocument */
/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').RestRow} RestRow */
/** @typedef {import('./types').TreeRow} TreeRow */
/** @typedef {import('./types').Bound} Bound */

/** @type {Record<Bound, string>} */
const BOUND_TEXTS = {
  memory: 'bound by memory', compute: 'bound by compute', link: 'bound by links between devices', wait: 'most of it waits', neither: 'below half of both roofs',
  mixed: 'with no single bound', unknown: 'with an unknown bound',
};

/** A part of a sentence that stands out. @param {string} text @returns {[string]} */
const strong = (text) => [text];

/** `the step’s device work`, `a step’s time in loop fusion` @param {DeviceDocument} document */
const whole = ({ chosen: { st, category } }) => `${st === 'all' ? 'the session' : st === 'mean' ? 'a step' : 'the step'}’s ${category === null ? 'device work' : `time in ${category}`}`;

/** How near an op comes to its roof: `, at 93 % of HBM bandwidth`. @param {OpRow} row */
function near({ flops_share, bytes_share }) {
  if (flops_share === null && bytes_share === null) return '';
  return (bytes_share ?? 0) >= (flops_share ?? 0) ? `, at ${share(bytes_share)} of HBM bandwidth` : `, at ${share(flops_share)} of peak FLOP/s`;
}

/** The innermost annotation that has half of the time; without one the largest of the outermost. @param {TreeRow[]} tree @param {number} all */
const mainRow = (tree, all) => tree.filter(({ ps }) => 2 * ps >= all).sort((a, b) => b.depth - a.depth)[0] ?? tree.filter(({ depth }) => !depth).sort((a, b) => b.ps - a.ps)[0];

/** The sentence in parts; those that stand out are in brackets. @param {DeviceDocument} document @param {TreeRow[]} tree @param {OpRow[]} rows @param {RestRow[]} rest @returns {(string|[string])[]} */
export function verdictParts(document, tree, rows, rest) {
  const { total: sums, verdict, peaks, paths } = document;
  const all = sums.self_ps / divisor(document);
  if (!sums.kinds) {
    const { st, category } = document.chosen;
    return [`${category === null ? 'No op' : `No op of ${category}`} ${st === 'all' ? 'of this device is in the capture' : 'of this step ran on this device'}.`];
  }
  const nameOf = (/** @type {TreeRow} */ row, inside = false) => (row.path === null ? `${inside ? 'w' : 'W'}ork without an annotation` : row.own ? row.path.slice(row.path.lastIndexOf('/') + 1) : row.name);
  const largest = mainRow(tree, all);
  const told = (/** @type {Bound} */ bound) => total([...rows, ...rest].filter(({ bound_by }) => bound_by === bound), 'ps') / all;
  for (const [bound, text] of /** @type {[Bound, string][]} */ ([['wait', 'only waits for copies or other asynchronous ops'], ['link', 'is collectives and transfers']])) {
    const most = rows.find(({ bound_by }) => bound_by === bound);
    if (told(bound) > 0.5 && most) {
      return [strong(share(told(bound))), ` of ${whole(document)} ${text}; ${most.op} alone is ${timeText(most.ps)}.`, ...(verdict ? [' Its other ops run at ', strong(share(verdict.reached)), ' of what their kind allows.'] : [])];
    }
  }
  if (!verdict) {
    const why = peaks.flops_per_s === null && peaks.bytes_per_s === null ? 'the peaks of this device are not known' : 'the capture has no FLOP or byte counts';
    /** @type {(string|[string])[]} */
    const takes = [strong(nameOf(largest)), ' takes ', strong(share(largest.ps / all)), ` of ${whole(document)}`];
    if (largest.bound_by === 'memory' && largest.bytes_share) return [...takes, ' at ', strong(share(largest.bytes_share)), ' of HBM bandwidth: bound by memory.'];
    return [...takes, `. How near that is to the roof is not known: ${why}.`];
  }
  const path = paths[verdict.path] ?? null;
  const own = tree.find((row) => !row.parent && row.path === path) ?? largest;
  if (isReached(document)) {
    return ['The ops run at ', strong(share(verdict.reached)), ' of what their kind allows; ', strong(nameOf(largest, true)), `, ${BOUND_TEXTS[largest.bound_by]}, is ${share(largest.ps / all)} of ${whole(document)}.`];
  }
  const op = rows[verdict.op];
  const parts = [strong(nameOf(own)), ' takes ', strong(share(own.ps / all)), ` of ${whole(document)} at `, strong(share(own.flops_share)), ` of peak: ${BOUND_TEXTS[own.bound_by]}.`];
  return op ? [...parts, ` ${op.op} alone is ${timeText(op.ps)}${near(op)}.`] : parts;
}

/** @param {DeviceDocument} document @param {TreeRow[]} tree @param {OpRow[]} rows @param {RestRow[]} rest @param {string} of which hosts this is, where not all */
export function verdictBlock(document, tree, rows, rest, of) {
  const { total: sums, cores, chosen: { st } } = document;
  const ps = sums.self_ps / divisor(document);
  const core = cores > 1 ? ', per core' : '';
  /** @param {string} name @param {string} value @param {string} meaning @param {Record<string, any>} [more] */
  const figure = (name, value, meaning, more) => h('div', { 'data-testid': `kpi-${name}`, title: more?.title }, h('dd', { 'data-ps': more?.ps }, value), h('dt', null, meaning));
  return h('div', { class: 'verdict across' },
    h('div', { 'data-testid': 'device-verdict' }, h('p', null, verdictParts(document, tree, rows, rest).map((part) => (typeof part === 'string' ? part : h('b', null, part[0])))), of && h('p', { class: 'small sec', 'data-testid': 'device-hosts' }, of)),
    h('dl', { class: 'figures' },
      figure('work', headline(ps), `${document.chosen.category ?? 'device work'}, ${st === 'all' ? 'the session' : st === 'mean' ? `mean of ${plural(document.whole_steps, 'step')}` : 'one step'}${core}`, { ps: Math.round(ps) }),
      figure('mfu', share(hasRates(rows) ? sums.mfu : null), 'of peak FLOP/s (MFU) in this time', { title: 'MFU: the FLOPs that the program asks for, as a share of what the device could compute in this time' }),
      figure('hbm', share(sums.bytes_share), 'of HBM bandwidth in this time'),
      figure('counted', hasRates(rows) && sums.self_ps ? share(sums.counted_ps / sums.self_ps) : MISSING, 'of this time with a FLOP count')));
}
