/** The Device view's verdict: what the device is busy with, how efficiently, and four figures. */

import { h } from '../lib/dom.js';
import { cutMiddle, headlineTime, MISSING, plural, share, timeText } from '../lib/format.js';
import { shortPathNames } from '../lib/path-names.js';
import { groupBy, total } from '../lib/totals.js';
import { missingPeaksText } from './peaks.js';
import { annotationPaths, divisor, isInRow, isNearRoof, roundTree } from './rows.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./types').OpRow} OpRow */
/** @typedef {import('./types').RestRow} RestRow */
/** @typedef {import('./types').TreeRow} TreeRow */
/** @typedef {import('../lib/routes').BoundBy} BoundBy */
/**
 * An op in all of its annotations, or ops that repeat (without `op`).
 * @typedef {Pick<OpRow, 'ps'|'flops_share'|'bytes_share'> & {name: string, op?: string}} MergedOps
 */

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

/** An annotation with this share of the time says little: the largest row without nested rows is named instead. */
const NEARLY_ALL_SHARE = 0.9;
/** Minimum share of the time of such a row, and of an op that is named beside an annotation. */
const MIN_NAMED_SHARE = 0.1;
/** Minimum share of work with known rates for a statement about all work. */
const MIN_KNOWN_SHARE = 0.5;
const MAX_NAME_LETTERS = 60;

/** `op time`, `time in loop fusion` @param {DeviceAnswer} document */
const timeName = ({ chosen: { category } }) => (category === null ? 'op time' : `time in ${category}`);

/** `the step’s op time`, `a step’s time in loop fusion` @param {DeviceAnswer} document */
const wholeText = (document) => {
  const { steps } = document.chosen;
  return `${steps === 'all' ? 'the session' : steps === 'mean' ? 'a step' : 'the step'}’s ${timeName(document)}`;
};

/**
 * The share of their roof that ops reach: `, at 93 % of HBM bandwidth`; empty if that is not known, as for a slice
 * without FLOPs.
 * @param {MergedOps} ops
 */
function roofShareText({ flops_share, bytes_share }) {
  if (!flops_share && bytes_share === null) return '';
  return (bytes_share ?? 0) >= (flops_share ?? 0)
    ? `, at ${share(bytes_share)} of HBM bandwidth`
    : `, at ${share(flops_share)} of peak FLOP/s`;
}

/** ` at 17 % of peak FLOP/s and 48 % of HBM bandwidth`, as far as known. @param {TreeRow} row */
function ratesText({ flops_share, bytes_share }) {
  const rates = [
    ...(flops_share === null ? [] : [`${share(flops_share)} of peak FLOP/s`]),
    ...(bytes_share === null ? [] : [`${share(bytes_share)} of HBM bandwidth`]),
  ];
  return rates.length ? ` at ${rates.join(' and ')}` : '';
}

/**
 * The innermost annotation with half of the time, otherwise the largest outermost one. If it has nearly all of the
 * time, the largest row without nested rows takes its place, unless that one has less than a tenth.
 * @param {TreeRow[]} tree
 * @param {number} total_ps
 */
function mainRow(tree, total_ps) {
  const largest = (/** @type {(row: TreeRow) => boolean} */ filter) =>
    tree.filter(filter).sort((a, b) => b.ps - a.ps)[0];
  const row =
    tree.filter(({ ps }) => 2 * ps >= total_ps).sort((a, b) => b.depth - a.depth)[0] ?? largest(({ depth }) => !depth);
  const leaf = largest(({ hasNested }) => !hasNested);
  return row.ps >= NEARLY_ALL_SHARE * total_ps && leaf.ps >= MIN_NAMED_SHARE * total_ps ? leaf : row;
}

/** @param {TreeRow} row @param {Map<string, string>} names by path @param {boolean} [startsSentence] */
const nameOf = ({ path }, names, startsSentence = false) =>
  path === null ? `${startsSentence ? 'W' : 'w'}ork without an annotation` : names.get(path) ?? path;

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
  const total_ps = sums.self_ps / divisor(document);
  if (!sums.op_count) {
    const { cores, chosen: { steps, category } } = document;
    const devices = cores > 1 ? 'these devices' : 'this device';
    return [
      `${category === null ? 'No op' : `No op of ${category}`} ` +
      `${steps === 'all' ? '' : `of ${steps === 'mean' ? 'a whole' : 'this'} step `}was recorded on ${devices}.`,
    ];
  }
  const known_ps = verdict?.known_ps ?? 0;
  const knownShare = known_ps / Math.max(1, sums.self_ps - sums.other_ps);
  const shareOfBound = (/** @type {BoundBy} */ bound) =>
    total(
      [...rows, ...rest].filter(({ bound_by }) => bound_by === bound),
      'ps',
    ) / total_ps;
  const awaited = rows.some(({ kind }) => kind === 'callback') ? 'callbacks or' : 'copies or other';
  for (const [bound, text] of /** @type {[BoundBy, string][]} */ ([
    ['wait', `only waits for ${awaited} asynchronous ops`],
    ['link', 'is collectives and transfers'],
  ])) {
    const [longest] = mergeOpRows(rows.filter(({ bound_by }) => bound_by === bound));
    if (shareOfBound(bound) > 0.5 && longest) {
      return [
        bold(share(shareOfBound(bound))),
        ` of ${wholeText(document)} ${text}; ${timeClause(longest, longest.name)}.`,
        ...(verdict && knownShare >= MIN_KNOWN_SHARE
          ? [' The other ops run at ', bold(share(verdict.roof_share)), ' of the roofline.']
          : []),
      ];
    }
  }
  const rounded = roundTree(tree);
  const annotations = annotationPaths(document);
  const names = shortPathNames([...annotations].filter(Boolean), annotations);
  /** The share that the tree prints. @param {TreeRow} row */
  const shareOf = (row) => share(rounded.get(row)?.share || row.ps / total_ps);
  const largest = mainRow(tree, total_ps);
  // Without annotations the category is more informative.
  const isUnannotated =
    largest.path === null && largest.ps >= NEARLY_ALL_SHARE * total_ps && document.chosen.category === null;
  /** The main clause: what takes which share of the time. @type {(row: TreeRow) => (string|[string])[]} */
  const mainClause = (row) =>
    isUnannotated && row === largest
      ? [
          bold(`${document.categories[0]} ops`),
          ' take ',
          bold(share(document.category_ps[0] / sums.self_ps)),
          ` of ${wholeText(document)}, ${row.ps < total_ps ? 'nearly all of ' : ''}which has no annotation`,
        ]
      : [bold(nameOf(row, names, true)), ' takes ', bold(shareOf(row)), ` of ${wholeText(document)}`];
  const opSentence = (/** @type {MergedOps} */ ops) =>
    ` ${timeClause(ops, cutMiddle(ops.name, MAX_NAME_LETTERS))}${roofShareText(ops)}.`;
  if (!verdict) {
    if (largest.bound_by === 'memory' && largest.bytes_share) {
      return [...mainClause(largest), ' at ', bold(share(largest.bytes_share)), ' of HBM bandwidth: bound by memory.'];
    }
    const [op] = mergeOpRows(
      rows.filter(
        ({ path, category }) =>
          isInRow(path, largest.key) && (!isUnannotated || category === document.categories[0]),
      ),
    );
    return [
      ...mainClause(largest),
      `.${op && op.ps >= MIN_NAMED_SHARE * largest.ps ? opSentence(op) : ''} How near that is to the roofline is ` +
      `unknown: ${unknownReason(document, rows)}.`,
    ];
  }
  const path = paths[verdict.path] ?? null;
  const farthest = tree.find((row) => !row.hasNested && row.path === path) ?? largest;
  const mostlyUnknown = knownShare < MIN_KNOWN_SHARE && (farthest !== largest || isNearRoof(document));
  const knownSentence = mostlyUnknown
    ? [
        ...mainClause(largest),
        `. FLOPs and bytes are known for ${share(known_ps / sums.self_ps)} of all ${timeName(document)}`,
      ]
    : [];
  if (isNearRoof(document)) {
    return mostlyUnknown
      ? [...knownSentence, '; those ops run at ', bold(share(verdict.roof_share)), ' of the roofline.']
      : [
          'The ops run at ',
          bold(share(verdict.roof_share)),
          ' of the roofline; ',
          bold(nameOf(largest, names)),
          `, ${BOUND_TEXTS[largest.bound_by]}, takes ${shareOf(largest)} of ${wholeText(document)}.`,
        ];
  }
  if (mostlyUnknown) {
    return [
      ...knownSentence,
      '; most time beyond the roofline is in ',
      bold(nameOf(farthest, names)),
      `: ${shareOf(farthest)} of the ${timeName(document)}${ratesText(farthest).replace(' at', ', at')}.`,
    ];
  }
  const [op] = mergeOpRows(rows.slice(verdict.op, verdict.op + 1));
  return [
    ...mainClause(farthest),
    `${ratesText(farthest)}: ${BOUND_TEXTS[farthest.bound_by]}.${op ? opSentence(op) : ''}`,
  ];
}

/**
 * Merges the rows of each op, and of ops that repeat, those with most time first: an op with several annotations has a
 * row in each. Rows without a program are not merged: they may be different kernels of one name.
 * @param {OpRow[]} rows
 * @returns {MergedOps[]}
 */
const mergeOpRows = (rows) =>
  [...groupBy(rows, ({ id, op, program, repeated }) => repeated ?? (program ? `${op}\n${program}` : id)).values()]
    .map(([row, ...others]) => row.repeated ?? { ...row, name: row.op, ps: total([row, ...others], 'ps') })
    .sort((a, b) => b.ps - a.ps);

/** `dot.1 alone is 30.000 ms`, `64 × dot take 30.000 ms` @param {MergedOps} ops @param {string} name */
const timeClause = ({ op, ps }, name) => `${name} ${op === undefined ? 'take' : 'alone is'} ${timeText(ps)}`;

/** Why the distance to the roofline is unknown. @param {DeviceAnswer} document @param {OpRow[]} rows */
function unknownReason({ peaks, chosen: { category } }, rows) {
  const hasFlops = rows.some(({ flops }) => flops);
  const hasBytes = rows.some(({ hbm_bytes }) => hbm_bytes !== null);
  return (
    missingPeaksText(peaks) ||
    (hasFlops
      ? 'no op has both FLOPs and bytes'
      : `${category === null ? 'the capture has' : 'these ops have'} no FLOP${hasBytes ? '' : ' or byte'} counts`)
  );
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
