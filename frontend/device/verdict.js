/** The Device view's verdict: what the device is busy with, how efficiently, and four figures. */

import { h } from '../lib/dom.js';
import { cutMiddle, headlineTime, MISSING, plural, share, timeText } from '../lib/format.js';
import { groupBy, total } from '../lib/totals.js';
import { divisor, isInRow, isNearRoof, roundTree } from './rows.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').RestRow} RestRow */
/** @typedef {import('./types').TreeRow} TreeRow */
/** @typedef {import('../lib/routes').BoundBy} BoundBy */

/** @type {Record<BoundBy, string>} */
const BOUND_TEXTS = {
  memory: 'bound by memory',
  compute: 'bound by compute',
  link: 'bound by links between devices',
  wait: 'most of it waits',
  neither: 'below half of both roofs',
  mixed: 'with no single bound',
  unknown: 'with an unknown bound',
};

/** Marks a part of a sentence as bold. @param {string} text @returns {[string]} */
const bold = (text) => [text];

/** An annotation with this share of the time says little: its largest part with `MIN_PART_SHARE` is named instead. */
const NEARLY_ALL = 0.9;
const MIN_PART_SHARE = 0.1;
/** Minimum share of work with known rates for a statement about all work. */
const MIN_KNOWN_SHARE = 0.5;
const MAX_NAME_LETTERS = 60;

/** `the step’s op time`, `a step’s time in loop fusion` @param {DeviceAnswer} document */
const wholeText = ({ chosen: { steps, category } }) =>
  `${steps === 'all' ? 'the session' : steps === 'mean' ? 'a step' : 'the step'}’s ` +
  `${category === null ? 'op time' : `time in ${category}`}`;

/** An op's share of its roof: `, at 93 % of HBM bandwidth`. @param {OpRow} row */
function roofShareText({ flops_share, bytes_share }) {
  if (flops_share === null && bytes_share === null) return '';
  return (bytes_share ?? 0) >= (flops_share ?? 0)
    ? `, at ${share(bytes_share)} of HBM bandwidth`
    : `, at ${share(flops_share)} of peak FLOP/s`;
}

/** ` at 17 % of peak FLOP/s and 48 % of HBM bandwidth`, as far as known. @param {TreeRow} row */
function ratesText({ flops_share, bytes_share }) {
  const parts = [
    ...(flops_share === null ? [] : [`${share(flops_share)} of peak FLOP/s`]),
    ...(bytes_share === null ? [] : [`${share(bytes_share)} of HBM bandwidth`]),
  ];
  return parts.length ? ` at ${parts.join(' and ')}` : '';
}

/**
 * The innermost annotation with half of the time, otherwise the largest outermost one. If it has nearly all of the
 * time, its largest part takes its place.
 * @param {TreeRow[]} tree
 * @param {number} totalPs
 */
function mainRow(tree, totalPs) {
  const largest = (/** @type {(row: TreeRow) => boolean} */ filter) =>
    tree.filter(filter).sort((a, b) => b.ps - a.ps)[0];
  const row =
    tree.filter(({ ps }) => 2 * ps >= totalPs).sort((a, b) => b.depth - a.depth)[0] ?? largest(({ depth }) => !depth);
  const part = largest(({ hasNested }) => !hasNested);
  return row.ps >= NEARLY_ALL * totalPs && part.ps >= MIN_PART_SHARE * totalPs ? part : row;
}

/** @param {TreeRow} row @param {boolean} [startsSentence] */
const nameOf = (row, startsSentence = false) =>
  row.path === null
    ? `${startsSentence ? 'W' : 'w'}ork without an annotation`
    : row.path.slice(row.path.lastIndexOf('/') + 1);

/**
 * The sentence in parts; bold parts are in arrays.
 * @param {DeviceAnswer} document
 * @param {TreeRow[]} tree
 * @param {OpRow[]} rows
 * @param {RestRow[]} rest
 * @returns {(string|[string])[]}
 */
export function verdictParts(document, tree, rows, rest) {
  const { total: sums, verdict, paths } = document;
  const totalPs = sums.self_ps / divisor(document);
  if (!sums.op_count) {
    const { steps, category } = document.chosen;
    return [
      `${category === null ? 'No op' : `No op of ${category}`} ` +
      `${steps === 'all' ? 'of this device is in the capture' : 'of this step ran on this device'}.`,
    ];
  }
  const known_ps = verdict?.known_ps ?? 0;
  const knownShare = known_ps / Math.max(1, sums.self_ps - sums.other_ps);
  const shareOfBound = (/** @type {BoundBy} */ bound) =>
    total(
      [...rows, ...rest].filter(({ bound_by }) => bound_by === bound),
      'ps',
    ) / totalPs;
  for (const [bound, text] of /** @type {[BoundBy, string][]} */ ([
    ['wait', 'only waits for copies or other asynchronous ops'],
    ['link', 'is collectives and transfers'],
  ])) {
    const [longest] = wholeOps(rows.filter(({ bound_by }) => bound_by === bound));
    if (shareOfBound(bound) > 0.5 && longest) {
      return [
        bold(share(shareOfBound(bound))),
        ` of ${wholeText(document)} ${text}; ${longest.op} alone is ${timeText(longest.ps)}.`,
        ...(verdict && knownShare >= MIN_KNOWN_SHARE
          ? [' The other ops run at ', bold(share(verdict.roof_share)), ' of the roof for their kind.']
          : []),
      ];
    }
  }
  const rounded = roundTree(tree);
  /** The share that the tree prints. @param {TreeRow} row */
  const shareOf = (row) => share(rounded.get(row)?.share || row.ps / totalPs);
  const largest = mainRow(tree, totalPs);
  // Without annotations the category is more informative.
  const isUnannotated =
    largest.path === null && largest.ps >= NEARLY_ALL * totalPs && document.chosen.category === null;
  /** The main clause: what takes which share of the time. @type {(row: TreeRow) => (string|[string])[]} */
  const mainClause = (row) =>
    isUnannotated && row === largest
      ? [
          bold(`${document.categories[0]} ops`),
          ' take ',
          bold(share(document.category_ps[0] / sums.self_ps)),
          ` of ${wholeText(document)}, ${row.ps < totalPs ? 'nearly all of ' : ''}which has no annotation`,
        ]
      : [bold(nameOf(row, true)), ' takes ', bold(shareOf(row)), ` of ${wholeText(document)}`];
  const opSentence = (/** @type {OpRow} */ op) =>
    ` ${cutMiddle(op.op, MAX_NAME_LETTERS)} alone is ${timeText(op.ps)}${roofShareText(op)}.`;
  if (!verdict) {
    if (largest.bound_by === 'memory' && largest.bytes_share) {
      return [...mainClause(largest), ' at ', bold(share(largest.bytes_share)), ' of HBM bandwidth: bound by memory.'];
    }
    const [op] = wholeOps(
      rows.filter(
        ({ path, category }) =>
          isInRow(path, largest.key) && (!isUnannotated || category === document.categories[0]),
      ),
    );
    return [
      ...mainClause(largest),
      `.${op && op.ps >= MIN_PART_SHARE * largest.ps ? opSentence(op) : ''} How near that is to the roof is unknown: ` +
      `${unknownReason(document, rows)}.`,
    ];
  }
  const path = paths[verdict.path] ?? null;
  const farthest = tree.find((row) => !row.hasNested && row.path === path) ?? largest;
  const mostlyUnknown = knownShare < MIN_KNOWN_SHARE && (farthest !== largest || isNearRoof(document));
  const unknownParts = mostlyUnknown
    ? [...mainClause(largest), `. FLOPs and bytes are known for ${share(known_ps / sums.self_ps)} of that time`]
    : [];
  if (isNearRoof(document)) {
    return mostlyUnknown
      ? [...unknownParts, '; those ops run at ', bold(share(verdict.roof_share)), ' of the roof for their kind.']
      : [
          'The ops run at ',
          bold(share(verdict.roof_share)),
          ' of what their kind allows; ',
          bold(nameOf(largest)),
          `, ${BOUND_TEXTS[largest.bound_by]}, is ${shareOf(largest)} of ${wholeText(document)}.`,
        ];
  }
  if (mostlyUnknown) {
    return [
      ...unknownParts,
      '; farthest from the roof is ',
      bold(nameOf(farthest)),
      `, ${shareOf(farthest)} of the time${ratesText(farthest)}.`,
    ];
  }
  const op = rows[verdict.op];
  return [
    ...mainClause(farthest),
    `${ratesText(farthest)}: ${BOUND_TEXTS[farthest.bound_by]}.${op ? opSentence(op) : ''}`,
  ];
}

/**
 * Joins the rows of each op: an op with several annotations has a row in each. Kernels without a program may be
 * different ops of one name. The op with most time is first.
 * @param {OpRow[]} rows
 */
const wholeOps = (rows) =>
  [...groupBy(rows, ({ id, op, program }) => (program ? `${op}\n${program}` : id)).values()]
    .map((parts) => ({ ...parts[0], ps: total(parts, 'ps') }))
    .sort((a, b) => b.ps - a.ps);

/** Why the distance to the roof is unknown. @param {DeviceAnswer} document @param {OpRow[]} rows */
function unknownReason({ peaks: { flops_per_s, bytes_per_s } }, rows) {
  if (flops_per_s === null && bytes_per_s === null) return 'the peaks of this device are not known';
  if (flops_per_s === null || bytes_per_s === null) return 'one of the peaks of this device is not known';
  return rows.some(({ flops }) => flops) ? 'no op has both FLOPs and bytes' : 'the capture has no FLOP or byte counts';
}

/**
 * @param {DeviceAnswer} document
 * @param {TreeRow[]} tree
 * @param {OpRow[]} rows
 * @param {RestRow[]} rest
 * @param {string} coverage the hosts covered; empty for all
 */
export function verdictBlock(document, tree, rows, rest, coverage) {
  const { total: sums, cores, chosen } = document;
  const ps = sums.self_ps / divisor(document);
  const core = cores > 1 ? `, per core${coverage ? ' of these hosts' : ''}` : '';
  const steps =
    chosen.steps === 'all'
      ? 'the session'
      : chosen.steps === 'mean'
        ? `mean of ${plural(document.whole_steps, 'step')}`
        : 'one step';
  /**
   * @param {string} name @param {string} value @param {string} meaning
   * @param {{ps?: number, title?: string}} [options]
   */
  const figure = (name, value, meaning, options) =>
    h(
      'div',
      { 'data-testid': `kpi-${name}`, title: options?.title },
      h('dd', { 'data-ps': options?.ps }, value),
      h('dt', null, meaning),
    );
  return h(
    'section',
    { class: 'verdict across', 'aria-label': 'Verdict' },
    h(
      'div',
      { 'data-testid': 'device-verdict' },
      h(
        'p',
        null,
        verdictParts(document, tree, rows, rest).map((part) =>
          typeof part === 'string' ? part : h('b', null, part[0]),
        ),
      ),
      coverage && h('p', { class: 'small secondary', 'data-testid': 'device-hosts' }, coverage),
    ),
    h(
      'dl',
      { class: 'figures' },
      figure(
        'work',
        headlineTime(ps),
        `${document.chosen.category ?? 'op time'}, ${steps}${core}`,
        { ps: Math.round(ps) },
      ),
      figure('mfu', share(sums.mfu), 'of peak FLOP/s (MFU) in this time', {
        title: 'MFU: the FLOPs of the program as a share of what the device could compute in this time',
      }),
      figure('hbm', share(sums.bytes_share), 'of HBM bandwidth in this time'),
      figure(
        'counted',
        sums.self_ps ? share(sums.flops_known_ps / sums.self_ps) : MISSING,
        'of this time with a FLOP count',
      ),
    ),
  );
}
