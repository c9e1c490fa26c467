/**
 * The Iterations view: what the device waits for in the loop of a server that decodes, by kind of iteration, and the
 * iterations in order of time.
 */

import { niceLength, tickMarks } from '../lib/axis.js';
import { createBarChart } from '../lib/bar-chart.js';
import {
  answerSection, card, emptyCard, link, NO_ITERATIONS_TEXT, rung, rungAxis, stackedBar, tableCard, windowLinkState,
} from '../lib/cards.js';
import { chip, legend } from '../lib/classes.js';
import { definedColumn, definedColumns } from '../lib/defined-column.js';
import { exportButton } from '../lib/csv.js';
import { fill, h, percent } from '../lib/dom.js';
import { count, digits, listedRows, timeText, unitFor } from '../lib/format.js';
import { escapeItem } from '../lib/link.js';
import { roundParts } from '../lib/rounded-parts.js';
import { countColumn, linkedOrder, sortableTable, startColumn, textColumn, timeColumn } from '../lib/table.js';
import { TABLES } from '../lib/table-definitions.js';
import { maximum, total } from '../lib/totals.js';
import { createDocumentView } from '../frame/document-view.js';
import { rowsOf } from '../overview/step-data.js';

/** @typedef {import('../lib/routes').IterationsAnswer} IterationsAnswer */
/** @typedef {import('../lib/routes').KindRow} KindRow */
/** @typedef {import('../lib/routes').Part} Part */
/** @typedef {import('../lib/cards.js').Piece} Piece */
/** @typedef {(text: string, kind: KindRow, ps: number) => import('../lib/dom.js').Child} LinkTo */
/**
 * @typedef {{start_ps: number, wall_ps: number, device_ps: number, part: Part|null, kind: KindRow['kind'],
 *   name: string, host: string}} Iteration
 */

/** The parts in the order of the loop, each with the class that has its colour. @type {Record<Part, string>} */
const CLASS_OF_PART = {
  no_requests: 'unrecorded', schedule: 'python', build: 'tracing', to_device: 'to_device', launch: 'dispatch',
  wait: 'wait', results: 'from_device', compile: 'compile', other: 'other', unrecorded: 'unrecorded',
};

const RECOGNISED =
  'Servers are recognised by the annotations of their iterations, as vLLM, sglang and MaxText record them.';

/** Colour and texture of a part. @param {Part} part @returns {[string, string]} */
const lookOf = (part) => [`c-${CLASS_OF_PART[part]}`, `k-${CLASS_OF_PART[part]}`];
const words = (/** @type {string} */ name) => name.replaceAll('_', ' ');
/** A part as chip and name. @param {Part} part */
const partCell = (part) => [chip(...lookOf(part)), words(part)];

/** @param {KindRow[]} kinds */
const partsIn = (kinds) =>
  /** @type {Part[]} */ (Object.keys(CLASS_OF_PART)).filter((name) =>
    kinds.some(({ parts }) => parts.some(({ part }) => part === name)),
  );

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function iterationsView(app) {
  const element = h('div', { class: 'cards iterations' });
  /** @type {ReturnType<typeof sortableTable>|null} */
  let inOrder = null;
  /** @type {Iteration[]} */
  let iterations = [];
  /** The highest bar: longer iterations had no request for a time, and are cut. */
  let limit_ps = 0;
  let hasHosts = false;
  const chart = createBarChart({ items: 'iterations', barOf, open: (index) => show(iterations[index]) });

  /** @param {number} index @returns {import('../lib/bar-chart.js').Bar} */
  function barOf(index) {
    const { kind, name, wall_ps, device_ps, part } = iterations[index];
    const height_ps = Math.min(wall_ps, limit_ps);
    const [color, texture] = part ? lookOf(part) : ['surface', ''];
    const waits = `the device waits ${timeText(wall_ps - device_ps)}${part ? `, longest: ${words(part)}` : ''}`;
    return {
      key: String(index),
      name: String(index),
      title: `${name}, ${words(kind)}, ${timeText(wall_ps)}, ${waits}`,
      ps: wall_ps,
      height_ps,
      parts: [
        [device_ps, { class: '', style: { '--k': 'var(--dev)' }, title: `device ${timeText(device_ps)}` }],
        [Math.max(0, height_ps - device_ps), { class: texture, style: { '--k': `var(--${color})` }, title: waits }],
      ],
    };
  }

  /** Opens an iteration in the timeline. @param {Iteration} iteration */
  const show = ({ start_ps, wall_ps, host }) =>
    app.open({
      ...windowLinkState(start_ps, start_ps + wall_ps),
      ...(hasHosts && { x: escapeItem(app.firstDevice(host)) }),
    });

  /** A text that opens the iteration of a kind with this duration; plain if it is not listed. @type {LinkTo} */
  function linkTo(text, { kind }, ps) {
    const shown = iterations.find((row) => row.kind === kind && row.wall_ps === ps);
    return shown ? link(text, () => show(shown), { title: 'An iteration of this length in the timeline' }) : text;
  }

  /** @param {IterationsAnswer} answer @param {import('../lib/types').Ready} session */
  function draw(answer, { session: { hosts } }) {
    const { kinds, headline, details } = answer;
    inOrder = null;
    if (!kinds.length) {
      fill(element, emptyCard('Iterations', NO_ITERATIONS_TEXT, RECOGNISED));
      return /** @type {'empty'} */ ('empty');
    }
    iterations = rowsOf({ ...answer.iterations });
    hasHosts = hosts.length > 1;
    limit_ps = maximum(
      iterations.map(({ wall_ps, device_ps, part }) => (part === 'no_requests' ? device_ps : wall_ps)),
      0,
    );
    chart.set(iterations.map(({ wall_ps }) => Math.min(wall_ps, limit_ps)), String);
    inOrder = inOrderTable();
    fill(
      element,
      answerSection('What the device waits for', headline, details, 'iterations-answer'),
      ladderCard(answer, linkTo),
      kindsCard(kinds, linkTo),
      hostCard(kinds),
      card(
        'In order',
        {
          note: 'the device’s work, above it the time it waits, in the colour of the longest part' +
            listedRows(iterations, answer.count, 'from the first on'),
          class: 'in-order',
        },
        iterations.length > 0 && chart.elements,
        iterations.some(({ wall_ps }) => wall_ps > limit_ps) &&
          h('p', { class: 'small muted' }, 'Bars with time without a request are cut.'),
        inOrder.element,
      ),
      templatesCard(answer.templates),
    );
    if (iterations.length) chart.draw();
    return /** @type {'ready'} */ ('ready');
  }

  function inOrderTable() {
    const unit = unitFor(maximum(iterations.map(({ wall_ps }) => wall_ps), 0));
    const { kind, device_ps, bubble_ps } = TABLES.iterations;
    const start = startColumn('start_ps');
    return sortableTable({
      label: 'Iterations in order',
      testid: 'iterations-list',
      ...linkedOrder(app.link, ''),
      items: iterations,
      columns: [
        { ...start, cell: (/** @type {Iteration} */ item) => link(start.cell(item), () => show(item)) },
        textColumn('Name', 'name', { cell: ({ name }) => h('code', null, name) }),
        definedColumn(kind),
        ...(hasHosts ? [textColumn('Host', (/** @type {Iteration} */ { host }) => host)] : []),
        timeColumn('Duration', unit, 'wall_ps'),
        definedColumn(device_ps, { timeUnit: unit }),
        definedColumn(bubble_ps, {
          timeUnit: unit,
          field: (/** @type {Iteration} */ { wall_ps, device_ps: works_ps }) => wall_ps - works_ps,
        }),
        textColumn('Longest part', ({ part }) => part && words(part), { cell: ({ part }) => part && partCell(part) }),
      ],
    });
  }

  const data = createDocumentView(app, 'iterations', element, draw);
  return {
    element, open: data.open, show: data.show, followLink: data.whenDrawn(() => inOrder?.refresh()),
  };
}

/**
 * The kinds on one axis: the device's work and what it waits for, below it what the host does during the work. Time
 * without a request is left out.
 * @param {IterationsAnswer} answer @param {LinkTo} linkTo
 */
function ladderCard({ kinds, scheduling }, linkTo) {
  const parts = (/** @type {KindRow} */ kind) => kind.parts.filter(({ part }) => part !== 'no_requests');
  const lengthOf = (/** @type {KindRow} */ kind) => kind.device_ps + total(parts(kind), 'exposed_ps');
  const axis_ps = niceLength(maximum(kinds.map((kind) => Math.max(lengthOf(kind), kind.host_ps)), 1));
  const unit = unitFor(axis_ps);
  /** @param {string} name @param {number} ps @param {[string, string]} look @returns {Piece} */
  const piece = (name, ps, look) => ({
    ps, look, label: `${name} ${digits(ps / unit.ps, 2)}`, title: `${name} ${timeText(ps)}`,
  });
  /** @param {KindRow} kind @param {'exposed_ps'|'hidden_ps'} key */
  const pieces = (kind, key) => parts(kind).map((row) => piece(words(row.part), row[key], lookOf(row.part)));
  return card(
    'One iteration of each kind',
    { note: 'means: what the device does, then what it waits for', class: 'across kinds' },
    h(
      'div',
      { class: 'ladder', role: 'list', 'data-testid': 'bubble-ladder' },
      kinds.flatMap((kind) => [
        rung(
          linkTo(kind.name, kind, kind.wall_ps.p50),
          timeText(lengthOf(kind), 2),
          [stackedBar([piece('device', kind.device_ps, ['dev', '']), ...pieces(kind, 'exposed_ps')], axis_ps)],
          kind.note,
          `kind-ladder-${kind.kind}`,
        ),
        rung(
          h('small', { class: 'muted' }, 'host meanwhile'),
          '',
          [
            stackedBar(pieces(kind, 'hidden_ps'), axis_ps),
            // Below this time of the device, no server gets by scheduling ahead.
            scheduling?.ahead_by && h('i', { class: 'free', style: { left: percent(kind.host_ps / axis_ps) } }),
          ],
          '',
        ),
      ]),
      rungAxis(tickMarks(axis_ps, unit, 'run-tick')),
    ),
    legend([
      [chip('dev'), 'device'],
      ...partsIn(kinds).flatMap((part) => (part === 'no_requests' ? [] : [partCell(part)])),
    ]),
  );
}

/** The numbers of the bars, which add up as they are printed. @param {KindRow[]} kinds @param {LinkTo} linkTo */
function kindsCard(kinds, linkTo) {
  const unit = unitFor(maximum(kinds.map(({ wall_ps }) => wall_ps.p99), 0));
  const parts = partsIn(kinds);
  const items = kinds.map((kind) => {
    const { wall_ps: { mean, p50, p99 }, device_ps, bubble_by_part_ps } = kind;
    const [works, ...waits] = roundParts(
      [device_ps, ...parts.map((part) => bubble_by_part_ps[part] ?? 0)],
      unit.ps / 1000,
    );
    return { ...kind, mean_ps: mean, p50_ps: p50, p99_ps: p99, works, waits };
  });
  /** @typedef {typeof items[number]} Item */
  const { round_trips, arrays_sent, programs, ...times } = TABLES.iterations;
  const text = (/** @type {number} */ rounded) => digits(rounded / 1000, 3);
  /** @param {'p50_ps'|'p99_ps'} key */
  const linked = (key) => ({
    timeUnit: unit,
    cell: (/** @type {Item} */ item) => linkTo(digits(item[key] / unit.ps, 3), item, item[key]),
  });
  return tableCard(
    'By kind',
    {
      note: 'never averaged over kinds; the parts add up to what the device waits',
      class: 'across',
      right: exportButton('iterations', Object.keys(TABLES.iterations), () => items),
    },
    {
      testid: 'iterations-table',
      items,
      columns: [
        ...definedColumns(times, {
          kind: { field: 'name' },
          mean_ps: { timeUnit: unit },
          p50_ps: linked('p50_ps'),
          p99_ps: linked('p99_ps'),
          device_ps: { timeUnit: unit, cell: (/** @type {Item} */ { works }) => text(works) },
          bubble_ps: {
            timeUnit: unit,
            cell: (/** @type {Item} */ { waits }) => h('b', null, text(total(waits, Number))),
          },
        }),
        ...parts.map((part, at) =>
          timeColumn(words(part), unit, (/** @type {Item} */ item) => item.bubble_by_part_ps[part] ?? 0, {
            head: words(part),
            cell: ({ waits }) => text(waits[at]),
          }),
        ),
        ...definedColumns({ round_trips, arrays_sent, programs }),
      ],
    },
  );
}

/** What the server's thread does in an iteration of each kind. @param {KindRow[]} kinds */
function hostCard(kinds) {
  const items = kinds.flatMap((kind) => kind.parts.map((row) => ({ ...row, kind: kind.name })));
  const timeUnit = unitFor(maximum(items.map((row) => row.exposed_ps + row.hidden_ps), 0));
  return tableCard(
    'Host time of an iteration',
    { note: 'of the server’s thread' },
    {
      testid: 'host-parts',
      items,
      group: ({ kind }) => kind,
      columns: definedColumns(TABLES.parts, {
        part: { cell: (/** @type {typeof items[number]} */ { part }) => partCell(part) },
        exposed_ps: { timeUnit },
        hidden_ps: { timeUnit },
      }),
    },
  );
}

/** Names of annotations that differ only in numbers. @param {IterationsAnswer['templates']} templates */
const templatesCard = (templates) =>
  templates.length > 0 &&
  tableCard(
    'Annotations that differ in numbers',
    { class: 'across' },
    {
      testid: 'templates-table',
      items: templates,
      columns: [
        textColumn('Name', 'name', { cell: ({ name }) => h('code', null, name) }),
        countColumn('Annotations', 'count'),
        countColumn('Names', 'texts'),
        textColumn('Numbers', ({ slots }) =>
          Object.entries(slots).map(([word, { min, max }]) => `${word} ${count(min)} – ${count(max)}`).join(' · ')),
      ],
    },
  );
