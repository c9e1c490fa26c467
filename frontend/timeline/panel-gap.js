/** The panel of a gap: what the host did in it, and the events that ended it, in order. */

import { h, button } from '../lib/dom.js';
import { LABELS } from '../lib/classes.js';
import { kindTag, lengthBar, hue } from '../lib/cards.js';
import { columnUnit, count, cutMiddle, digits, rangeText, timeText } from '../lib/format.js';
import { roundParts } from '../lib/parts.js';
import { liveTable } from '../lib/table.js';
import { partsTable, stackedBar } from './parts.js';
import { classMark } from './panel-parts.js';

/** @typedef {import('../lib/views').GapDetail} GapDetail */
/** @typedef {GapDetail['chain'][number]} Piece */
/**
 * @typedef {object} GapActions
 * @property {() => void} frame @property {(piece: Piece) => void} mark outline a piece in the lanes
 * @property {(piece: Piece) => void} open select the event of a piece @property {(gap: GapDetail) => void} occurrences
 * @property {(text: string) => void} copy
 * @property {(device: string) => string} name
 * @property {(query: {session: string, device: string, start_ps: number}) => Promise<GapDetail>} bring asks for a gap
 */

/** @param {GapDetail} gap @param {GapActions} act @returns {import('./panel-parts.js').PanelContent} */
export function gapContent(gap, act) {
  const { device, duration_ps, start_ps, kind, sentence, by_class_ps, after } = gap;
  const step = gap.step_number ?? gap.step;
  const name = act.name(device);
  const where = (/** @type {import('../lib/types').ClassName} */ own) => (own === 'unrecorded' ? '' : (gap.by_thread ?? [])
    .filter((part) => part.class === own).sort((a, b) => b.ps - a.ps)[0]?.thread ?? '');
  return {
    title: `Gap of ${timeText(duration_ps)} on ${name}`,
    tags: [kindTag(kind), ...(step == null ? [] : [`step ${step}`])],
    note: rangeText(start_ps, start_ps + duration_ps) + coresNote(gap),
    buttons: [
      button('Frame', act.frame, {}, h('kbd', null, 'f')),
      ...(gap.occurrences ? [button(`Occurrences: ${count(gap.occurrences)}`, () => act.occurrences(gap), { 'data-testid': 'gap-occurrences' })] : []),
      button('Copy as text', () => act.copy(gapText(gap, name)), { 'data-testid': 'gap-copy' }),
    ],
    body: h('div', { class: 'columns stacked' },
      h('section', { 'data-testid': 'gap-parts' }, sentence ? h('p', { class: 'sec' }, sentence) : null, stackedBar(by_class_ps), partsTable(by_class_ps, 'Gap', where)),
      h('section', null, chainTable(gap, act, after ? `Device run ${after} begins on ${name}` : `${name} works again`))),
  };
}

/** @param {GapDetail} gap */
function coresNote({ cores }) {
  return cores && cores > 1 ? `, the same on ${count(cores)} cores` : '';
}

/** @param {GapDetail} gap @param {GapActions} act @param {string} end */
function chainTable(gap, act, end) {
  const { chain, start_ps, duration_ps } = gap;
  const unit = columnUnit([duration_ps]);
  const rounded = roundParts(chain.map((piece) => piece.duration_ps), unit.ps / 1000);
  /** @type {Piece|null} */
  let marked = null;
  const named = (/** @type {Piece} */ piece) => piece.class !== 'unrecorded' && piece.name !== 'unrecorded';
  const { element, refresh } = liveTable({
    label: 'Why it ended', testid: 'gap-chain', items: chain,
    select: (piece) => { marked = piece; act.mark(piece); refresh(); },
    open: (piece) => { if (named(piece)) act.open(piece); },
    selected: (piece) => piece === marked,
    columns: [
      { key: 'number', head: '#', number: true, cell: (piece) => String(chain.indexOf(piece) + 1) },
      { key: 'name', head: 'Why it ended: in order, from the device’s last op to its next run', title: ({ name }) => name,
        cell: (piece) => [...classMark(piece.class), named(piece)
          ? h('button', { type: 'button', class: 'link', onclick: (/** @type {Event} */ event) => { event.stopPropagation(); act.open(piece); } }, cutMiddle(piece.name, 44))
          : h('span', { class: 'sec' }, 'nothing recorded')] },
      { key: 'class', head: 'Class', cell: (piece) => h('span', { class: 'sec' }, LABELS[piece.class] ?? '') },
      { key: 'thread', head: 'Thread', title: ({ thread }) => thread, cell: ({ thread }) => h('span', { class: 'sec' }, thread || '–') },
      { key: 'from', head: `From, ${unit.name}`, number: true, ps: (piece) => piece.start_ps - start_ps, cell: (piece) => '+' + digits((piece.start_ps - start_ps) / unit.ps, 3) },
      { key: 'time', head: `Time, ${unit.name}`, number: true, ps: (piece) => piece.duration_ps, cell: (piece) => digits(rounded[chain.indexOf(piece)] / 1000, 3) },
      { key: 'bar', head: 'Within the gap', cell: (piece) => within(piece, gap) },
    ],
    foot: ['', end, '', '', '+' + digits(duration_ps / unit.ps, 3), h('span', { 'data-ps': duration_ps }, digits(rounded.reduce((sum, part) => sum + part, 0) / 1000, 3)), ''],
  });
  return element;
}

/** @param {Piece} piece @param {GapDetail} gap */
function within(piece, { start_ps, duration_ps }) {
  const bar = lengthBar(piece.duration_ps / duration_ps, hue(piece.class));
  bar.classList.add('w-bar');
  bar.style.paddingLeft = `${((piece.start_ps - start_ps) / duration_ps) * 100}%`;
  bar.style.boxSizing = 'border-box';
  const mark = /** @type {HTMLElement} */ (bar.firstElementChild);
  mark.style.width = `${(piece.duration_ps / Math.max(1, start_ps + duration_ps - piece.start_ps)) * 100}%`;
  mark.style.minWidth = '2px';
  return bar;
}

/** The gap for a message or an issue. @param {GapDetail} gap @param {string} name */
export function gapText({ kind, duration_ps, start_ps, sentence, by_class_ps, chain, ...gap }, name) {
  const step = gap.step_number ?? gap.step;
  const parts = /** @type {[import('../lib/types').ClassName, number][]} */ (Object.entries(by_class_ps)).filter(([, ps]) => ps > 0).sort((a, b) => b[1] - a[1]);
  return [
    `Gap of ${timeText(duration_ps)} on ${name}, ${kind}${step == null ? '' : `, step ${step}`}, ${rangeText(start_ps, start_ps + duration_ps)}`,
    sentence ?? '', '', ...parts.map(([own, ps]) => `${timeText(ps)}\t${LABELS[own]}`), '',
    ...chain.map((piece, index) => `${index + 1}. +${timeText(piece.start_ps - start_ps)}\t${timeText(piece.duration_ps)}\t${piece.name}\t${piece.thread}`), '',
  ].join('\n');
}
