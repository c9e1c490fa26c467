/** What the window shows, or what a merged slice holds, as a table: all that the canvas says, to read. */

import { h, button } from '../lib/dom.js';
import { LABELS } from '../lib/classes.js';
import { columnUnit, count, digits, rangeText, timeCell } from '../lib/format.js';
import { table } from '../lib/table.js';
import { classMark, eventLink } from './panel-parts.js';

/** @typedef {import('../lib/types').Brief} Brief */

/**
 * @param {string} title @param {{start_ps: number, end_ps: number}} span
 * @param {import('../lib/types').TableAnswer} answer @param {Map<string, string>} rows labels by id
 * @param {import('./panel-parts.js').PanelActions} act @returns {import('./panel-parts.js').PanelContent}
 */
export function listContent(title, span, answer, rows, act) {
  const unit = columnUnit(answer.items.map(({ duration_ps }) => duration_ps));
  const cut = answer.count > answer.items.length;
  const element = table({
    label: title, testid: 'timeline-table', items: answer.items,
    open: (brief) => act.open(brief), select: (brief) => act.select(brief),
    columns: [
      { key: 'row', head: 'Row', value: ({ row }) => rows.get(row) ?? row, cell: ({ row }) => h('span', { class: 'sec' }, rows.get(row) ?? row) },
      { key: 'name', head: 'Event', value: ({ name }) => name, cell: (/** @type {Brief} */ brief) => [...classMark(brief.class), eventLink(brief, act)] },
      { key: 'class', head: 'Class', value: (brief) => (brief.class ? LABELS[brief.class] : ''), cell: (brief) => h('span', { class: 'sec' }, brief.class ? LABELS[brief.class] ?? '' : '') },
      { key: 'start', head: 'Start, ms', number: true, value: ({ start_ps }) => start_ps, ps: ({ start_ps }) => start_ps, cell: ({ start_ps }) => digits(start_ps / 1e9, 3) },
      { key: 'time', head: `Time, ${unit.name}`, number: true, value: ({ duration_ps }) => duration_ps, ps: ({ duration_ps }) => duration_ps, cell: ({ duration_ps }) => timeCell(duration_ps, unit) },
    ],
  });
  element.classList.add('fill');
  const number = cut ? `${count(answer.items.length)} of ${count(answer.count)} events; select a shorter window for the rest` : `${count(answer.count)} events`;
  return {
    title, note: `${number} · ${rangeText(span.start_ps, span.end_ps)}`, body: element,
    buttons: [button('Close table', act.close)],
  };
}
