/** The panel of a gap: the host's activity in it by class, and the chain of events that ended it. */

import { h, button, fill, percent } from '../lib/dom.js';
import { CLASSES, LABELS, sortByTime, classChip } from '../lib/classes.js';
import { kindTag, classColor, link, severityTag } from '../lib/cards.js';
import { count, cutMiddle, digits, plural, rangeText, timeText } from '../lib/format.js';
import { stepOf } from '../gaps/group.js';
import { TABLES } from '../lib/table-definitions.js';
import { sortableTable, partColumns, timeColumn } from '../lib/table.js';
import { delayText } from './panel-collective.js';
import { frameButton, otherGapColumn, partsTable, quietColumn, stackedBar } from './panel-parts.js';

/** @typedef {import('../lib/routes').GapAnswer} GapDetail */
/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {GapDetail['chain'][number]} Piece */
/**
 * @typedef {object} GapActions
 * @property {(piece: Piece) => void} outlinePiece outlines the event of a piece in the lanes
 * @property {(piece: Piece) => void} openPiece selects the event of a piece
 * @property {(gap: GapDetail) => void} showStep shows the gap's step
 * @property {(state: import('../lib/link.js').LinkState) => void} openView opens another view
 * @property {() => string} linkedFinding the id of the finding that led to the gap, or empty
 * @property {(gap: GapDetail, id: string) => {at: number, count: number, before: GapItem|null, after: GapItem|null}}
 *   positionInFinding the gap's index among those that a finding explains, their number, and its neighbours
 * @property {(gap: GapItem, id: string) => void} showGapOfFinding shows another gap of a finding
 * @property {(gap: GapDetail) => void} showOccurrences shows the gaps between the same two programs
 * @property {(text: string) => void} copy
 * @property {(gap: GapDetail) => Promise<import('../lib/routes').CollectiveArrivals|null>} fetchDelayed
 *   fetches the collective that a gap delays
 */

const NARROW_BELOW_PX = 1200;
/** The table by class and the chain count as equal up to this difference, as a share of the gap. */
const MAX_CHAIN_DIFFERENCE = 0.02;
/** Findings about compilations, detailed in the Compiles view. */
const COMPILE_FINDINGS = ['recompilation', 'dynamo_recompilation'];

/**
 * @param {GapDetail} gap
 * @param {import('./panel-parts.js').PanelActions} act
 * @param {GapActions} on
 * @returns {import('./panel-parts.js').PanelContent}
 */
export function gapContent(gap, act, on) {
  const { device, duration_ps, start_ps, kind, sentence, by_class_ps, by_thread, after, cores, mean_ps, occurrences } =
    gap;
  const name = act.deviceName(device);
  const delays = h('span', { 'data-testid': 'gap-delays' });
  void on.fetchDelayed(gap).then((collective) => fill(delays, delayText(collective, device, act)));
  const otherGap = gap.gap_of_other_host && {
    ...gap.gap_of_other_host,
    name: act.shortHost(gap.gap_of_other_host.host),
  };
  // Explanatory columns leave their space to the times; titles and the other table have their content.
  const narrow = Boolean(otherGap) || innerWidth < NARROW_BELOW_PX;
  const threadOf = (/** @type {import('../lib/routes').ClassName} */ className) =>
    className === 'unrecorded' ? '' : (by_thread.find((part) => part.class === className)?.thread ?? '');
  return {
    title: `Gap of ${timeText(duration_ps)} on ${name}`,
    tags: [
      kindTag(kind),
      ...stepTag(gap).map((step) =>
        link(step, () => on.showStep(gap), { class: 'tag link', 'data-testid': 'gap-step', title: 'Show the step' }),
      ),
    ],
    note:
      rangeText(start_ps, start_ps + duration_ps) +
      (cores === 1
        ? ''
        : narrow
          ? `, on ${count(cores)} cores`
          : `, the same on ${count(cores)} cores (mean ${timeText(mean_ps)})`),
    buttons: [
      frameButton(act),
      button(
        `Pattern: ${plural(occurrences, 'gap')}${cores === 1 ? '' : ' on all cores'}`,
        () => on.showOccurrences(gap),
        { 'data-testid': 'gap-occurrences', title: 'Gaps between the same two programs, each core’s counted' },
      ),
      button('Copy as text', () => on.copy(plainText(gap, name, delays.textContent ?? '')), {
        'data-testid': 'gap-copy',
      }),
    ],
    body: h(
      'div',
      { class: 'gap-body' },
      h(
        'p',
        { class: 'secondary', 'data-testid': 'gap-sentence' },
        sentence,
        otherGap && ` On ${otherGap.name} it lasts ${timeText(otherGap.duration_ps)}.`,
        delays,
      ),
      findingLine(gap, on),
      h(
        'div',
        { class: 'columns' },
        h(
          'section',
          { 'data-testid': 'gap-parts' },
          stackedBar(by_class_ps),
          partsTable(by_class_ps, 'Gap', threadOf, {
            otherGap,
            narrow,
            head: chainDiffers(gap) ? 'Driving thread, by class' : undefined,
          }),
        ),
        h(
          'section',
          null,
          chainTable(
            gap,
            on,
            !after
              ? `${name} works again`
              : gap.inside_run
                ? `${after} goes on`
                : narrow
                  ? `${after} begins`
                  : `Device run ${after} begins on ${name}`,
            otherGap,
            narrow,
          ),
        ),
      ),
    ),
  };
}

/**
 * What to do about a gap: the advice of the link's finding, else of the one that explains most of the gap, with links
 * to the finding's other gaps.
 * @param {GapDetail} gap
 * @param {GapActions} on
 */
function findingLine(gap, on) {
  const { findings, sentence } = gap;
  const finding = findings.find(({ id }) => id === on.linkedFinding()) ?? findings[0];
  if (!finding) return null;
  const { id, severity, title, advice } = finding;
  const { at, count: gapCount, before, after } = on.positionInFinding(gap, id);
  const gapButton = (/** @type {string} */ text, /** @type {GapItem|null} */ target, /** @type {string} */ label) =>
    button(
      text,
      () => {
        if (target) on.showGapOfFinding(target, id);
      },
      { class: 'small-button', disabled: !target, 'aria-label': label },
    );
  return h(
    'div',
    { class: 'row gap-finding', 'data-testid': 'gap-finding' },
    severityTag(severity),
    link(sentence.startsWith(title) ? 'Finding' : title, () => on.openView({ v: '', sel: `fin:${id}`, fi: '' }), {
      title,
      'data-testid': 'gap-finding-link',
    }),
    h('span', { class: 'advice' }, h('b', null, 'Do: '), advice),
    at >= 0 &&
      gapCount > 1 &&
      h(
        'span',
        { class: 'row' },
        gapButton('‹', before, 'Previous gap that the finding explains'),
        link(
          `${count(at + 1)} of ${plural(gapCount, 'gap')} of the finding`,
          () => on.openView({ v: 'gaps', sel: '', f: `finding:${id}` }),
          {
            title: 'All gaps that the finding explains; the same gap on several cores counts once',
            'data-testid': 'gap-finding-all',
          },
        ),
        gapButton('›', after, 'Next gap that the finding explains'),
      ),
    COMPILE_FINDINGS.includes(id) &&
      button('Compiles', () => on.openView({ v: 'compiles', sel: '', f: '' }), {
        class: 'small-button',
        'data-testid': 'gap-compiles',
      }),
  );
}

/** The time of a chain by class. @param {GapDetail} gap */
function sumChain({ chain }) {
  /** @type {import('./panel-parts.js').ByClass} */
  const sums = {};
  for (const piece of chain) sums[piece.class] = (sums[piece.class] ?? 0) + piece.duration_ps;
  return sums;
}

/**
 * Whether the time of a class on the driving thread differs from that in the chain by more than
 * `MAX_CHAIN_DIFFERENCE` of the gap.
 * @param {GapDetail} gap
 */
function chainDiffers(gap) {
  const { by_class_ps, duration_ps } = gap;
  const sums = sumChain(gap);
  return CLASSES.some(
    (name) => Math.abs((by_class_ps[name] ?? 0) - (sums[name] ?? 0)) > duration_ps * MAX_CHAIN_DIFFERENCE,
  );
}

/** @param {GapDetail} gap */
const stepTag = (gap) => (stepOf(gap) ? [`step ${stepOf(gap)}`] : []);

/** @param {Piece} piece @param {number} maxLetters */
const pieceName = ({ name, class: className, event }, maxLetters) =>
  className === 'unrecorded' && !event ? 'nothing recorded' : cutMiddle(name, maxLetters);

/**
 * The host's work while a launch waited, muted because it is not a reason.
 * @param {Piece} piece
 * @param {number} maxNames
 */
function concurrentText({ meanwhile }, maxNames) {
  const recorded = meanwhile.filter((part) => part.class !== 'unrecorded');
  const names = recorded.slice(0, maxNames).map(({ name }) => cutMiddle(name, 20));
  return names.length > 0 && h('small', { class: 'muted' }, ` meanwhile ${names.join(', ')}`);
}

/**
 * The table of the gap's chain.
 * @param {GapDetail} gap
 * @param {GapActions} on
 * @param {string} end text of the last row
 * @param {import('./panel-parts.js').OtherGap & {chain_ps: Record<string, number>}|null} otherGap
 * @param {boolean} narrow
 */
function chainTable(gap, on, end, otherGap, narrow) {
  const { chain, kind, start_ps, duration_ps } = gap;
  const { time, sum, unit } = partColumns(TABLES.gap_chain.duration_ps.head, chain, 'duration_ps');
  const sinceStart = (/** @type {number} */ ps) => '+' + digits(ps / unit.ps, 3);
  // A repeated event shows the other host's time at its first occurrence.
  const otherCells =
    otherGap &&
    otherGapColumn(otherGap, unit, chain, (piece) =>
      chain.find(({ name }) => name === piece.name) === piece ? otherGap.chain_ps[piece.name] : undefined,
    );
  const maxLetters = narrow ? 36 : 44;
  /** @type {Piece|null} */
  let selectedPiece = null;
  const { element, refresh } = sortableTable({
    label: kind === 'queued' ? 'Meanwhile on the host' : 'Why it ended',
    testid: 'gap-chain',
    items: chain,
    fixed: true,
    select: (piece) => {
      selectedPiece = piece;
      on.outlinePiece(piece);
      refresh();
    },
    open: (piece) => {
      if (piece.event) on.openPiece(piece);
    },
    selected: (piece) => piece === selectedPiece,
    name: (piece) =>
      `${chain.indexOf(piece) + 1} of ${chain.length}: ${pieceName(piece, Infinity)}, ${LABELS[piece.class]}, ` +
      `${timeText(piece.duration_ps)}, ${piece.thread || 'no thread'}`,
    columns: [
      { head: '#', number: true, cell: (piece) => String(chain.indexOf(piece) + 1) },
      {
        head:
          kind === 'queued'
            ? 'Meanwhile on the host, which is not why the device waits'
            : chainDiffers(gap)
              ? 'Why it ended, in order, across threads'
              : narrow
                ? 'Why it ended, in order'
                : 'Why it ended: in order, from the device’s last op to its next run',
        title: ({ name, class: className, meanwhile }) =>
          [
            `${name}, ${LABELS[className]}`,
            ...meanwhile.map((part) => `meanwhile ${part.name} ${timeText(part.duration_ps)}`),
          ].join('\n'),
        cell: (piece) => [
          classChip(piece.class),
          piece.event
            ? link(pieceName(piece, maxLetters), () => on.openPiece(piece))
            : h('span', { class: 'secondary' }, pieceName(piece, maxLetters)),
          concurrentText(piece, narrow ? 1 : 2),
        ],
      },
      ...(narrow
        ? []
        : [quietColumn(TABLES.gap_chain.class.head, (/** @type {Piece} */ piece) => LABELS[piece.class])]),
      quietColumn(TABLES.gap_chain.thread.head, (/** @type {Piece} */ { thread }) => thread || '–'),
      // The time since the gap's start, in the unit of the gap.
      timeColumn(TABLES.gap_chain.start_ps.head, unit, (piece) => piece.start_ps - start_ps, {
        cell: (piece) => sinceStart(piece.start_ps - start_ps),
      }),
      time,
      ...(otherCells ? [otherCells.time] : []),
      {
        head: 'Within the gap',
        cell: (piece) =>
          h(
            'span',
            { class: 'bar bare wide-bar' },
            h('i', {
              style: {
                background: classColor(piece.class),
                'margin-left': percent((piece.start_ps - start_ps) / duration_ps),
                width: percent(piece.duration_ps / duration_ps),
                'min-width': '2px',
              },
            }),
          ),
      },
    ],
    foot: [
      h('span', { class: 'muted', title: plural(chain.length, 'part') }, count(chain.length)),
      end,
      '',
      ...(narrow ? [] : ['']),
      sinceStart(duration_ps),
      sum,
      ...(otherCells ? [otherCells.sum] : []),
      '',
    ],
  });
  return element;
}

/**
 * The gap as text for a message or a bug report.
 * @param {GapDetail} gap
 * @param {string} name
 * @param {string} delays the sentence on the collective that the gap delays; empty without one
 */
function plainText(gap, name, delays) {
  const { kind, duration_ps, start_ps, sentence, by_class_ps, chain } = gap;
  return [
    [
      `Gap of ${timeText(duration_ps)} on ${name}`,
      kind,
      ...stepTag(gap),
      rangeText(start_ps, start_ps + duration_ps),
    ].join(', '),
    sentence + delays,
    '',
    ...sortByTime(by_class_ps).map(([className, ps]) => `${timeText(ps)}\t${LABELS[className]}`),
    '',
    ...chain.map(
      (piece, index) =>
        `${index + 1}. +${timeText(piece.start_ps - start_ps)}\t${timeText(piece.duration_ps)}\t${piece.name}` +
        `\t${piece.thread}`,
    ),
    '',
  ].join('\n');
}
