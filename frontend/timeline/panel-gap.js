/** The panel of a gap: the host's work in it, and the events that ended it, in order. */

import { h, button, fill, percent } from '../lib/dom.js';
import { CLASSES, LABELS, sortByTime, classChip } from '../lib/classes.js';
import { kindTag, hue, link, severityTag } from '../lib/cards.js';
import { count, cutMiddle, digits, plural, rangeText, timeText } from '../lib/format.js';
import { stepOf } from '../gaps/group.js';
import { TABLES } from '../lib/table-definitions.js';
import { sortableTable, partColumns, timeColumn } from '../lib/table.js';
import { delayText } from './panel-collective.js';
import { besideColumn, frameButton, partsTable, quietColumn, stackedBar } from './panel-parts.js';

/** @typedef {import('../lib/routes').GapAnswer} GapDetail */
/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {GapDetail['chain'][number]} Piece */
/**
 * @typedef {object} GapActions
 * @property {(piece: Piece) => void} markPiece outlines the event of a piece in the lanes
 * @property {(piece: Piece) => void} openPiece selects it
 * @property {(gap: GapDetail) => void} showStep shows the gap's step
 * @property {(place: import('../lib/link.js').LinkState) => void} openView opens another view
 * @property {() => string} linkedFinding the id of the finding that led to the gap, or empty
 * @property {(gap: GapDetail, id: string) => {at: number, count: number, before: GapItem|null, after: GapItem|null}}
 *   placeInFinding the gap's place among those that a finding explains
 * @property {(gap: GapItem, id: string) => void} showGapOfFinding shows another gap of a finding
 * @property {(gap: GapDetail) => void} showOccurrences @property {(text: string) => void} copy
 * @property {(gap: GapDetail) => Promise<import('../lib/routes').CollectiveArrivals|null>} fetchDelayed
 *   fetches the collective that a gap delays
 */

const NARROW_BELOW_PX = 1200;
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
  const beside = gap.gap_of_other_host && { ...gap.gap_of_other_host, name: act.shortHost(gap.gap_of_other_host.host) };
  // Explanatory columns give way to times; titles and the other table have their content.
  const brief = Boolean(beside) || innerWidth < NARROW_BELOW_PX;
  // `by_thread` has most time first.
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
        : brief
          ? `, on ${count(cores)} cores`
          : `, the same on ${count(cores)} cores (mean ${timeText(mean_ps)})`),
    buttons: [
      frameButton(act),
      button(
        `Pattern: ${plural(occurrences, 'gap')}${cores === 1 ? '' : ' on all cores'}`,
        () => on.showOccurrences(gap),
        { 'data-testid': 'gap-occurrences', title: 'Gaps between the same two programs, each core’s counted' },
      ),
      button('Copy as text', () => on.copy(wordsOf(gap, name, delays.textContent ?? '')), {
        'data-testid': 'gap-copy',
      }),
    ],
    body: h(
      'div',
      { class: 'gap-body' },
      h(
        'p',
        { class: 'sec', 'data-testid': 'gap-sentence' },
        sentence,
        gap.gap_of_other_host && ` ${besideText(gap.gap_of_other_host, act)}`,
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
            beside,
            brief,
            head: hasOtherClasses(gap) ? 'Driving thread, by class' : undefined,
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
                : brief
                  ? `${after} begins`
                  : `Device run ${after} begins on ${name}`,
            beside,
            brief,
          ),
        ),
      ),
    ),
  };
}

/**
 * What to do about a gap: the finding that brought the reader here, else the one that explains most of it, and the way
 * to its other gaps.
 * @param {GapDetail} gap
 * @param {GapActions} on
 */
function findingLine(gap, on) {
  const { findings, sentence, larger_limit } = gap;
  const finding = findings.find(({ id }) => id === on.linkedFinding()) ?? findings[0];
  if (!finding) return null;
  const { id, severity, title, advice } = finding;
  const { at, count: many, before, after } = on.placeInFinding(gap, id);
  const step = (/** @type {string} */ text, /** @type {GapItem|null} */ to, /** @type {string} */ label) =>
    button(
      text,
      () => {
        if (to) on.showGapOfFinding(to, id);
      },
      { class: 'small-button', disabled: !to, 'aria-label': label },
    );
  return h(
    'div',
    { class: 'row gap-finding', 'data-testid': 'gap-finding' },
    severityTag(severity),
    link(sentence.startsWith(title) ? 'Finding' : title, () => on.openView({ v: '', sel: `fin:${id}`, fi: '' }), {
      title,
      'data-testid': 'gap-finding-link',
    }),
    h('span', { class: 'do' }, h('b', null, 'Do: '), advice, larger_limit && ` ${larger_limit}`),
    at >= 0 &&
      many > 1 &&
      h(
        'span',
        { class: 'row' },
        step('‹', before, 'Previous gap that the finding explains'),
        link(
          `${count(at + 1)} of ${plural(many, 'gap')} of the finding`,
          () => on.openView({ v: 'gaps', sel: '', f: `finding:${id}` }),
          {
            title: 'All gaps that the finding explains; the same gap on several cores counts once',
            'data-testid': 'gap-finding-all',
          },
        ),
        step('›', after, 'Next gap that the finding explains'),
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
 * Whether the parts, which are what the driving thread did, have other classes than the chain.
 * @param {GapDetail} gap
 */
function hasOtherClasses(gap) {
  const { by_class_ps, duration_ps } = gap;
  const listed = sumChain(gap);
  return CLASSES.some((name) => Math.abs((by_class_ps[name] ?? 0) - (listed[name] ?? 0)) > duration_ps / 50);
}

/** @param {GapDetail} gap */
const stepTag = (gap) => (stepOf(gap) ? [`step ${stepOf(gap)}`] : []);

/** @param {NonNullable<GapDetail['gap_of_other_host']>} beside @param {import('./panel-parts.js').PanelActions} act */
const besideText = ({ host, duration_ps }, act) => `On ${act.shortHost(host)} it lasts ${timeText(duration_ps)}.`;

/** @param {Piece} piece @param {number} most letters */
const nameOf = ({ name, class: className, event }, most) =>
  className === 'unrecorded' && !event ? 'nothing recorded' : cutMiddle(name, most);

/** Host work while a launch waited; muted, as it is no reason. @param {Piece} piece @param {number} most names */
function concurrentText({ meanwhile: concurrent }, most) {
  const recorded = concurrent.filter((part) => part.class !== 'unrecorded');
  const names = recorded.slice(0, most).map(({ name }) => cutMiddle(name, 20));
  return names.length > 0 && h('small', { class: 'muted' }, ` meanwhile ${names.join(', ')}`);
}

/**
 * @param {GapDetail} gap
 * @param {GapActions} on
 * @param {string} end
 * @param {import('./panel-parts.js').Beside & {chain_ps: Record<string, number>}|null} beside
 * @param {boolean} brief
 */
function chainTable(gap, on, end, beside, brief) {
  const { chain, kind, start_ps, duration_ps } = gap;
  const { time, sum, unit } = partColumns(TABLES.gap_chain.duration_ps.head, chain, 'duration_ps');
  const from = (/** @type {number} */ ps) => '+' + digits(ps / unit.ps, 3);
  // A repeated event shows the other host's time at its first occurrence.
  const besideCells =
    beside &&
    besideColumn(beside, unit, chain, (piece) =>
      chain.find(({ name }) => name === piece.name) === piece ? beside.chain_ps[piece.name] : undefined,
    );
  const letters = brief ? 36 : 44;
  /** @type {Piece|null} */
  let marked = null;
  const { element, refresh } = sortableTable({
    label: 'Why it ended',
    testid: 'gap-chain',
    items: chain,
    fixed: true,
    select: (piece) => {
      marked = piece;
      on.markPiece(piece);
      refresh();
    },
    open: (piece) => {
      if (piece.event) on.openPiece(piece);
    },
    selected: (piece) => piece === marked,
    name: (piece) =>
      `${chain.indexOf(piece) + 1} of ${chain.length}: ${nameOf(piece, Infinity)}, ${LABELS[piece.class]}, ` +
      `${timeText(piece.duration_ps)}, ${piece.thread || 'no thread'}`,
    columns: [
      { head: '#', number: true, cell: (piece) => String(chain.indexOf(piece) + 1) },
      {
        head:
          kind === 'queued'
            ? 'Meanwhile on the host, which is not why the device waits'
            : hasOtherClasses(gap)
              ? 'Why it ended, in order, across threads'
              : brief
                ? 'Why it ended, in order'
                : 'Why it ended: in order, from the device’s last op to its next run',
        title: ({ name, class: className, meanwhile: concurrent }) =>
          [
            `${name}, ${LABELS[className]}`,
            ...concurrent.map((part) => `meanwhile ${part.name} ${timeText(part.duration_ps)}`),
          ].join('\n'),
        cell: (piece) => [
          classChip(piece.class),
          piece.event
            ? link(nameOf(piece, letters), () => on.openPiece(piece))
            : h('span', { class: 'sec' }, nameOf(piece, letters)),
          concurrentText(piece, brief ? 1 : 2),
        ],
      },
      ...(brief
        ? []
        : [quietColumn(TABLES.gap_chain.class.head, (/** @type {Piece} */ piece) => LABELS[piece.class])]),
      quietColumn(TABLES.gap_chain.thread.head, (/** @type {Piece} */ { thread }) => thread || '–'),
      // Since the gap's start, in the unit of the gap.
      timeColumn(TABLES.gap_chain.start_ps.head, unit, (piece) => piece.start_ps - start_ps, {
        cell: (piece) => from(piece.start_ps - start_ps),
      }),
      time,
      ...(besideCells ? [besideCells.time] : []),
      {
        head: 'Within the gap',
        cell: (piece) =>
          h(
            'span',
            { class: 'bar bare w-bar' },
            h('i', {
              style: {
                background: hue(piece.class),
                'margin-left': percent((piece.start_ps - start_ps) / duration_ps),
                width: percent(piece.duration_ps / duration_ps),
                'min-width': '2px',
              },
            }),
          ),
      },
    ],
    foot: [
      h('span', { class: 'muted', title: plural(chain.length, 'event') }, count(chain.length)),
      end,
      '',
      ...(brief ? [] : ['']),
      from(duration_ps),
      sum,
      ...(besideCells ? [besideCells.sum] : []),
      '',
    ],
  });
  return element;
}

/**
 * The gap as text for a message or a bug report.
 * @param {GapDetail} gap
 * @param {string} name
 * @param {string} delays what it delays
 */
function wordsOf(gap, name, delays) {
  const { kind, duration_ps, start_ps, sentence, larger_limit, by_class_ps, chain } = gap;
  return [
    [
      `Gap of ${timeText(duration_ps)} on ${name}`,
      kind,
      ...stepTag(gap),
      rangeText(start_ps, start_ps + duration_ps),
    ].join(', '),
    [sentence + delays, larger_limit].join(' ').trim(),
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
