/** The tables of lost annotations, of lines of Python, and of ops without an annotation or with several. */

import { h } from '../lib/dom.js';
import { card, codeCell, cutName, link } from '../lib/cards.js';
import { count, cutMiddle, share } from '../lib/format.js';
import { definedColumn } from '../lib/defined-column.js';
import { countColumn, table, textColumn } from '../lib/table.js';
import { TABLES } from '../lib/table-definitions.js';
import { columnUnit } from '../lib/totals.js';
import { isInside } from './tree.js';

/** @typedef {import('../lib/routes').PropagationAnswer} PropagationAnswer */
/** @typedef {(path: string|null) => Node|string} PathLink the name of an annotation, which selects it */

const { source: sourceDefinition, op: opDefinition, state: stateDefinition, device_ps } = TABLES.unannotated_ops;
const { parts: partsDefinition } = TABLES.shared_ops;

/** The note on rows that the server left out. @param {number} omitted @param {string} [ofWhat] */
export const omittedNote = (omitted, ofWhat = '') =>
  omitted ? h('p', { class: 'small muted' }, `and ${count(omitted)} more${ofWhat} with less time`) : null;

/**
 * Ops by their device time, the longest first.
 * @template {{device_ps: number}} T
 * @param {string} label
 * @param {string} testid
 * @param {T[]} items
 * @param {...import('../lib/table.js').Column<T>} columns
 */
const opsTable = (label, testid, items, ...columns) =>
  table({
    label,
    testid,
    items,
    columns: [...columns, definedColumn(device_ps, { timeUnit: columnUnit(items, (item) => item.device_ps) })],
  });

const lineColumn = () =>
  definedColumn(sourceDefinition, {
    cell: (/** @type {{source: string}} */ { source }) => (source ? codeCell(source, 36) : 'no line recorded'),
  });

/** @param {PathLink} pathLink */
const pathColumn = (pathLink) =>
  definedColumn(TABLES.annotations.path, {
    cell: (/** @type {{path: string|null}} */ { path }) => pathLink(path),
  });

/** @param {PropagationAnswer['lost']} lost @param {PathLink} pathLink */
export const lostTable = (lost, pathLink) =>
  table({
    label: 'Lost annotations',
    testid: 'lost-table',
    items: lost,
    columns: [
      pathColumn(pathLink),
      textColumn('Reason', 'reason'),
      {
        head: 'Remedy',
        cell(row) {
          const first = lost.find(({ reason }) => reason === row.reason) ?? row;
          return h('span', { class: 'secondary wrap' }, first === row ? row.advice : ['as for ', pathLink(first.path)]);
        },
      },
    ],
  });

/**
 * The lines of Python behind the ops of an annotation, or of all.
 * @param {PropagationAnswer} document
 * @param {string|null} selectedPath
 * @param {PathLink} pathLink
 * @param {() => void} showAll
 */
export function linesCard({ lines, left_out }, selectedPath, pathLink, showAll) {
  const items = lines.filter(
    ({ path }) => !selectedPath || path === selectedPath || isInside(path ?? '', selectedPath),
  );
  const note = selectedPath
    ? h('span', null, `of ${cutMiddle(selectedPath, 60)} `, link('show all', showAll))
    : 'of all ops; select an annotation to see its own';
  return card(
    'Lines of Python',
    { class: 'ops', note },
    opsTable('Lines of Python', 'source-table', items, lineColumn(), pathColumn(pathLink), countColumn('Ops', 'ops')),
    omittedNote(left_out.lines, selectedPath ? ', of any annotation,' : ''),
  );
}

/**
 * @param {PropagationAnswer} document
 * @param {PathLink} pathLink
 * @param {string} width class of the card
 */
export const opsCard = ({ unannotated_ops, shared_ops, left_out, words }, pathLink, width) =>
  card(
    'Ops without an annotation or with several',
    { class: `ops ${width}` },
    unannotated_ops.length
      ? opsTable(
          'Ops without an annotation',
          'unannotated-table',
          unannotated_ops,
          definedColumn(opDefinition, { cell: ({ op }) => cutName(op, 34) }),
          definedColumn(stateDefinition, { field: ({ state }) => words[state] }),
          lineColumn(),
          countColumn('Ops', 'count'),
        )
      : h('p', { class: 'secondary' }, 'Every op has an annotation.'),
    omittedNote(left_out.unannotated_ops),
    shared_ops.length
      ? [
          h('h3', null, 'Ops with several annotations: their time is divided among these'),
          opsTable(
            'Ops with several annotations',
            'shared-ops-table',
            shared_ops,
            definedColumn(opDefinition, { field: 'name', cell: ({ name }) => cutName(name, 30) }),
            {
              head: partsDefinition.head,
              cell: ({ parts, unscoped_share }) => [
                ...parts.flatMap((part) => [pathLink(part.path), ` ${share(part.share)} `]),
                unscoped_share ? `(${share(unscoped_share)} of its instructions have none)` : '',
              ],
            },
          ),
          omittedNote(left_out.shared_ops),
        ]
      : null,
  );
