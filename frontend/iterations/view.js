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
import { count, digits, listedRows, MISSING, timeText, unitFor } from '../lib/format.js';
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
 * @typedef {{start_ps: number, wall_ps: number, device_ps: number, part: Part|null, kind: number, name: string,
 *   host: string}} Iteration
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

/** The unit of the times of all kinds. @param {KindRow[]} kinds */
const unitOf = (kinds) => unitFor(maximum(kinds.map(({ wall_ps }) => wall_ps.p99), 0));

/**
 * The parts with their times rounded to thousandths of a unit, so that all of them add up to the mean iteration.
 * @param {KindRow} kind @param {import('../lib/format.js').Unit} unit
 */
function roundedParts({ parts }, unit) {
  const rounded = roundParts(parts.flatMap(({ exposed_ps, hidden_ps }) => [exposed_ps, hidden_ps]), unit.ps / 1000);
  return parts.map((part, at) => ({ ...part, exposed: rounded[2 * at], hidden: rounded[2 * at + 1] }));
}
const roundedText = (/** @type {number} */ rounded) => digits(rounded / 1000, 3);

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
  /** @type {ReturnType<typeof kindsCard>|null} */
  let byKind = null;
  const hostTime = h('div', null);
  const aboutLines = h('p', { class: 'small muted' });
  /** @type {KindRow[]} */
  let kinds = [];
  /** The kind that is shown unless the link has another one. */
  let main = 0;
  /** @type {Iteration[]} */
  let iterations = [];
  /** The highest bar: longer iterations had no request for a time, and are cut. */
  let limit_ps = 0;
  let hasHosts = false;
  const chart = createBarChart({
    items: 'iterations', barOf, open: (index) => show(iterations[index]), lines: percentilesOfKind,
  });

  const kindOf = (/** @type {Iteration} */ { kind }) => kinds[kind].name;
  const selectedKind = () => kinds.find(({ name }) => name === app.link.state.kd) ?? kinds[main];
  /** @param {KindRow} kind */
  function select(kind) {
    app.link.set({ kd: kind === kinds[main] ? '' : kind.name }, 'push');
    drawKind();
  }
  /** Shows which kind is selected: in the table, in the chart, and the host's time in an iteration of it. */
  function drawKind() {
    byKind?.refresh();
    fill(hostTime, hostCard(selectedKind(), unitOf(kinds)));
    if (!iterations.length) return;
    chart.draw();
    const isCut = iterations.some(({ wall_ps }) => wall_ps > limit_ps);
    fill(
      aboutLines,
      `Dashed: p50 and p99 of ${selectedKind().name}.${isCut ? ' Bars with time without a request are cut.' : ''}`,
    );
  }

  /** @returns {[number, string][]} */
  function percentilesOfKind() {
    const { p50, p99 } = selectedKind().wall_ps;
    return [[p50, 'p50'], [p99, 'p99']];
  }

  /** @param {number} index @returns {import('../lib/bar-chart.js').Bar} */
  function barOf(index) {
    const iteration = iterations[index];
    const { name, wall_ps, device_ps, part } = iteration;
    const height_ps = Math.min(wall_ps, limit_ps);
    const [color, texture] = part ? lookOf(part) : ['surface', ''];
    const waits = `the device waits ${timeText(wall_ps - device_ps)}${part ? `, longest: ${words(part)}` : ''}`;
    return {
      key: String(index),
      name: String(index),
      title: `${name}, ${kindOf(iteration)}, ${timeText(wall_ps)}, ${waits}`,
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
  function linkTo(text, kind, ps) {
    const shown = iterations.find((row) => kinds[row.kind] === kind && row.wall_ps === ps);
    return shown ? link(text, () => show(shown), { title: 'An iteration of this length in the timeline' }) : text;
  }

  /** @param {IterationsAnswer} answer @param {import('../lib/types').Ready} session */
  function draw(answer, { session: { hosts } }) {
    const { headline, details } = answer;
    kinds = answer.kinds;
    main = answer.main ?? 0;
    inOrder = byKind = null;
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
    byKind = kindsCard(kinds, linkTo, select, selectedKind);
    fill(
      element,
      answerSection('What the device waits for', headline, details, 'iterations-answer'),
      ladderCard(answer, linkTo),
      byKind.element,
      hostTime,
      card(
        'In order',
        {
          note: 'the device’s work, above it the time it waits, in the colour of the longest part' +
            listedRows(iterations, answer.count, 'from the first on'),
          class: 'in-order',
        },
        iterations.length > 0 && chart.elements,
        aboutLines,
        inOrder.element,
      ),
      templatesCard(answer.templates),
    );
    drawKind();
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
        definedColumn(kind, { field: kindOf }),
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
    element,
    open: data.open,
    show: data.show,
    followLink: data.whenDrawn(() => {
      inOrder?.refresh();
      drawKind();
    }),
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
          `kind-ladder-${kind.name}`,
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

/**
 * The numbers of the bars, which add up as they are printed.
 * @param {KindRow[]} kinds @param {LinkTo} linkTo
 * @param {(kind: KindRow) => void} select @param {() => KindRow} selectedKind
 */
function kindsCard(kinds, linkTo, select, selectedKind) {
  const unit = unitOf(kinds);
  const parts = partsIn(kinds);
  const areOfOneTemplate = kinds.every(({ template }) => template === kinds[0].template);
  const items = kinds.map((kind) => {
    const { mean, p50, p99 } = kind.wall_ps;
    return { ...kind, row: kind, rounded: roundedParts(kind, unit), mean_ps: mean, p50_ps: p50, p99_ps: p99 };
  });
  /** @typedef {typeof items[number]} Item */
  const {
    kind: kindHead, template: templateHead, count: countHead, launched_ps, round_trips, arrays_sent, programs, ...times
  } = TABLES.iterations;
  /** @param {'exposed'|'hidden'} key */
  const sumOf = (key) => (/** @type {Item} */ { rounded }) => roundedText(total(rounded, key));
  /** @param {'p50_ps'|'p99_ps'} key */
  const linked = (key) => ({
    timeUnit: unit,
    cell: (/** @type {Item} */ item) => linkTo(digits(item[key] / unit.ps, 3), item.row, item[key]),
  });
  const table = sortableTable({
    label: 'By kind',
    testid: 'iterations-table',
    items,
    select: ({ row }) => select(row),
    selected: ({ row }) => row === selectedKind(),
    columns: [
      ...definedColumns(
        { kind: kindHead, template: templateHead, count: countHead },
        { kind: { field: 'name' }, ...(areOfOneTemplate && { template: null }) },
      ),
      ...slotColumns(items),
      ...definedColumns(times, {
        mean_ps: { timeUnit: unit },
        p50_ps: linked('p50_ps'),
        p99_ps: linked('p99_ps'),
        device_ps: { timeUnit: unit, cell: sumOf('hidden') },
        bubble_ps: { timeUnit: unit, cell: (/** @type {Item} */ item) => h('b', null, sumOf('exposed')(item)) },
      }),
      ...parts.map((part) =>
        timeColumn(words(part), unit, (/** @type {Item} */ item) => item.bubble_by_part_ps[part] ?? 0, {
          head: words(part),
          cell: ({ rounded }) => roundedText(rounded.find((row) => row.part === part)?.exposed ?? 0),
        }),
      ),
      ...definedColumns({ launched_ps, round_trips, arrays_sent, programs }, { launched_ps: { timeUnit: unit } }),
    ],
  });
  const partKeys = parts.map((part) => `bubble_by_part_ps.${part}`);
  const rows = () => items.map((item) => ({
    ...item, ...Object.fromEntries(parts.map((part, at) => [partKeys[at], item.bubble_by_part_ps[part] ?? 0])),
  }));
  return {
    element: card(
      'By kind',
      {
        note: 'never averaged over kinds; the parts add up to what the device waits',
        class: 'across',
        right: exportButton('iterations', [...Object.keys(TABLES.iterations), ...partKeys], rows),
      },
      h('div', { class: 'fill' }, table.element),
    ),
    refresh: table.refresh,
  };
}

/** @typedef {{slots: KindRow['slots']}} Slotted */

/** A column per number in the names of annotations: its range. @param {Slotted[]} items */
const slotColumns = (items) =>
  [...new Set(items.flatMap(({ slots }) => Object.keys(slots)))].map((word) =>
    countColumn(word, (/** @type {Slotted} */ { slots }) => slots[word]?.median, {
      title: ({ slots }) => (slots[word] ? `median ${count(slots[word].median)}` : ''),
      cell({ slots }) {
        if (!slots[word]) return MISSING;
        const { min, max } = slots[word];
        return min === max ? count(min) : `${count(min)} – ${count(max)}`;
      },
    }),
  );

/**
 * What the server's thread does in an iteration of a kind.
 * @param {KindRow} kind @param {import('../lib/format.js').Unit} unit
 */
function hostCard(kind, unit) {
  const items = roundedParts(kind, unit);
  return tableCard(
    `Host time: ${kind.name}`,
    { note: 'of the server’s thread, in the mean' },
    {
      testid: 'host-parts',
      items,
      columns: definedColumns(TABLES.parts, {
        part: { cell: (/** @type {typeof items[number]} */ item) => partCell(item.part) },
        exposed_ps: { timeUnit: unit, cell: ({ exposed }) => roundedText(exposed) },
        hidden_ps: { timeUnit: unit, cell: ({ hidden }) => roundedText(hidden) },
      }),
      foot: ['All', roundedText(total(items, 'exposed')), roundedText(total(items, 'hidden'))],
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
        ...slotColumns(templates),
      ],
    },
  );
