/** The section Memory of the Device view: what fills the memory of a device at the peak of a program. */

import { annotationTones, toneColor } from '../lib/annotation-tones.js';
import { niceTicks } from '../lib/axis.js';
import { card, cutName, emptyCard, lengthBar, link, rung, rungAxis, tableCard } from '../lib/cards.js';
import { chip } from '../lib/classes.js';
import { exportButton } from '../lib/csv.js';
import { definedColumns } from '../lib/defined-column.js';
import { fill, h, keepFocus, labelledSelect, percent } from '../lib/dom.js';
import { bytes, count, digits, MISSING, plural, share } from '../lib/format.js';
import { TABLES } from '../lib/table-definitions.js';
import { countColumn, sortableTable } from '../lib/table.js';
import { total } from '../lib/totals.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote } from '../frame/stale-note.js';
import { squarify } from './treemap.js';

/** @typedef {import('../lib/routes').MemoryAnswer} MemoryAnswer */
/** @typedef {MemoryAnswer['tree'][number]} MemoryNode */
/** @typedef {MemoryAnswer['programs'][number]} MemoryProgram */
/** @typedef {import('../lib/types').Ready} Ready */

/** @typedef {'parameter_bytes'|'bytes'|'gradient_bytes'} Kind */
/** The parts of an annotation: the key of their bytes, their name and their texture. */
const KINDS = /** @type {[key: Kind, name: string, texture: string][]} */ ([
  ['parameter_bytes', 'parameters', ''],
  ['bytes', 'activations', 'values'],
  ['gradient_bytes', 'gradients', 'gradients-of'],
]);
/** Smaller areas of the picture, as shares of its width and height, have no text; narrow ones do not name the part. */
const [MIN_TEXT_WIDTH, MIN_TEXT_HEIGHT, MIN_KIND_WIDTH] = [0.06, 0.16, 0.14];
/** Smaller shares of the peak are not drawn. */
const MIN_AREA = 1e-4;
/** Width over height of the picture, for the shape of its areas. */
const ASPECT = 3.4;
const MAX_NAME_LETTERS = 40;

/** @param {MemoryNode} node */
const sumOf = (node) => node.parameter_bytes + node.bytes + node.gradient_bytes;

/** The key of a node in links. @param {MemoryNode} node */
const keyOf = ({ path }) => path ?? 'no_annotation';

/** @type {import('./view.js').CreateSection} */
export function memorySection(app, sectionSwitch) {
  const filters = h('div', { class: 'filters across', 'data-testid': 'memory-filters' }, sectionSwitch());
  const element = h('div', { class: 'cards device-memory' }, filters);
  const noteStale = createStaleNote(app, 'device', 'memory');
  /** @type {MemoryAnswer} */
  let answer;
  /** @type {Ready} */
  let session;
  /** The program of the drawn document. */
  let requested = '';

  const query = () => ({ program: app.link.state.pg ?? null });
  /** @param {string} pg */
  function request(pg) {
    app.link.set({ pg }, 'push');
    data.reload();
  }
  /** Selects an annotation, or ends that. @param {MemoryNode} node */
  function select(node) {
    const an = keyOf(node);
    app.link.set({ an: app.link.state.an === an ? '' : an }, 'push');
    keepFocus(element, draw);
  }

  function draw() {
    const { programs, program, tree, headline, details } = answer;
    requested = app.link.state.pg ?? '';
    const row = programs.find(({ program: name }) => name === program);
    fill(filters, sectionSwitch());
    if (!row) {
      fill(element, filters, emptyCard(
        'Memory',
        'This capture has no program whose buffers it describes.',
        'Captures of JAX and PyTorch/XLA describe them with the HLO of the programs that ran.',
      ));
      return /** @type {'empty'} */ ('empty');
    }
    filters.append(
      labelledSelect('program', programs.map(({ program: name }) => name), row.program, request, 'memory-program'),
      h('span', { class: 'grow' }),
      h('span', { class: 'small secondary' }, 'of one device, as in xprof’s memory viewer'),
    );
    const programsList = programsCard(programs, row.program, request, tree.length ? '' : 'across');
    fill(
      element,
      filters,
      h(
        'section',
        { class: 'answer', 'aria-label': 'Memory', 'data-testid': 'memory-answer' },
        h('p', { class: 'headline' }, headline),
        details && h('p', { class: 'details' }, details),
      ),
      peakCard(row, tree),
      tree.length ? [treemapCard(), programsList, annotationsCard(row)] : programsList,
    );
    return /** @type {'ready'} */ ('ready');
  }

  /** The tone of each node: that of the outermost annotation around it. */
  function tonesOfTree() {
    const outermost = answer.tree.filter(({ depth, path }) => !depth && path !== null);
    const tones = annotationTones({ ...session.annotations, memory: outermost.map(({ name }) => name) });
    let tone = '';
    return new Map(answer.tree.map((node) => {
      if (!node.depth) tone = node.path === null ? 'a8' : toneColor(tones.get(node.name) ?? 0);
      return [node, tone];
    }));
  }

  function treemapCard() {
    const tones = tonesOfTree();
    const peak = total(answer.tree.filter(({ depth }) => !depth), sumOf);
    /** The areas of each outermost annotation. @type {{node: MemoryNode, areas: Area[]}[]} */
    const groups = [];
    for (const node of answer.tree) {
      if (!node.depth) groups.push({ node, areas: [] });
      const own = /** @type {Record<string, any>} */ (node);
      groups.at(-1)?.areas.push(...KINDS.flatMap(([key, kind, texture]) => {
        const size = own[`own_${key}`];
        return size > MIN_AREA * peak ? [{ node, kind, texture, size }] : [];
      }));
    }
    const shown = groups.filter(({ areas }) => areas.length).map(({ areas }) => areas.sort((a, b) => b.size - a.size))
      .sort((a, b) => total(b, 'size') - total(a, 'size'));
    const places = squarify(shown.map((areas) => total(areas, 'size')), { x: 0, y: 0, width: ASPECT, height: 1 });
    const areas = shown.flatMap((group, at) => {
      const rectangles = squarify(group.map(({ size }) => size), places[at]);
      return group.map((area, index) => areaElement(area, rectangles[index], tones.get(area.node) ?? ''));
    });
    return card(
      'By annotation',
      {
        note: 'area: bytes at the peak',
        right: h('small', { class: 'secondary' }, 'plain: parameters · darker: activations · striped: gradients'),
      },
      h('div', {
        class: 'treemap', role: 'img', 'data-testid': 'memory-treemap',
        'aria-label': 'Memory at the peak by annotation; the table has the same numbers',
      }, areas),
    );
  }

  /** The name of a node without that of the outermost one around it. @param {MemoryNode} node */
  function nameBelowOutermost(node) {
    const names = [node.name];
    let { depth } = node;
    for (let at = answer.tree.indexOf(node); depth > 1; at -= 1) {
      const outer = answer.tree[at];
      if (outer.depth < depth) {
        names.unshift(outer.name);
        depth = outer.depth;
      }
    }
    return names.flatMap((name, index) => (index ? ['/', h('wbr', null), name] : [name]));
  }

  /** @typedef {{node: MemoryNode, kind: string, texture: string, size: number}} Area */
  /** @param {Area} area @param {import('./treemap.js').Rectangle} rectangle @param {string} tone */
  function areaElement({ node, kind, texture, size }, { x, y, width, height }, tone) {
    const fits = width / ASPECT > MIN_TEXT_WIDTH && height > MIN_TEXT_HEIGHT;
    const isChosen = app.link.state.an === keyOf(node);
    return h(
      'div',
      {
        class: `${texture} ${isChosen ? 'chosen' : ''}`,
        title: `${node.path ?? node.name}: ${kind} ${bytes(size)}`,
        'data-key': keyOf(node),
        style: {
          '--k': `var(--${tone})`, left: percent(x / ASPECT), top: percent(y), width: percent(width / ASPECT),
          height: percent(height),
        },
        onclick: () => select(node),
      },
      fits && [
        h('b', null, nameBelowOutermost(node)),
        h('span', null, width / ASPECT < MIN_KIND_WIDTH ? bytes(size) : `${kind} ${bytes(size)}`),
      ],
    );
  }

  /** @param {MemoryProgram} row */
  function annotationsCard({ program, peak_bytes }) {
    const tones = tonesOfTree();
    const { path, share: shareColumn, ...sizes } = TABLES.memory_by_annotation;
    const sized = Object.fromEntries(Object.keys(sizes).map((key) => {
      const value = (/** @type {MemoryNode} */ node) =>
        key === 'sum_bytes' ? sumOf(node) : /** @type {Record<string, any>} */ (node)[key];
      return [key, {
        value,
        cell: (/** @type {MemoryNode} */ node) => (value(node) ? bytes(value(node)) : MISSING),
        title: (/** @type {MemoryNode} */ node) => plural(value(node), 'byte'),
      }];
    }));
    const roots = answer.tree.filter(({ depth }) => !depth);
    const { element: table } = sortableTable({
      label: 'Memory by annotation',
      testid: 'memory-table',
      items: answer.tree,
      fixed: true,
      columns: [
        ...definedColumns({ path }, {
          path: { cell: nameCell, title: (/** @type {MemoryNode} */ node) => node.path ?? '' },
        }),
        ...definedColumns(sizes, sized),
        {
          head: '', name: 'Share, as a bar',
          cell: (/** @type {MemoryNode} */ node) => lengthBar(sumOf(node) / peak_bytes, `var(--${tones.get(node)})`),
        },
        ...definedColumns({ shareColumn }, {
          shareColumn: { field: (/** @type {MemoryNode} */ node) => sumOf(node) / peak_bytes },
        }),
      ],
      foot: ['Peak', ...KINDS.map(([key]) => bytes(total(roots, key))), bytes(peak_bytes), '', share(1)],
      select,
      selected: (node) => app.link.state.an === keyOf(node),
      open: ({ path: an }) => an && openWork(an),
      key: keyOf,
    });
    const keys = ['path', ...KINDS.map(([key]) => key), ...KINDS.map(([key]) => `own_${key}`)];
    return card(
      'Table',
      {
        note: `at the peak of ${cutName(program, MAX_NAME_LETTERS)}; each row has what is inside it, and gradients ` +
          'stand with their annotation',
        class: 'across memory-annotations',
        right: exportButton(`${session.session.name.replace(/\W+/g, '_')}_memory`, keys, () => answer.tree),
      },
      h('div', { class: 'fill' }, table),
    );

    /** @param {MemoryNode} node */
    function nameCell({ name, depth, path: an }) {
      const node = answer.tree.find((other) => other.path === an);
      return h('span', { style: { 'padding-left': `${depth * 14}px` } }, chip(node ? tones.get(node) ?? '' : ''),
        an === null ? name : link(name, () => openWork(an), { title: 'Show its ops' }));
    }
  }

  /** Opens the work of an annotation. @param {string} an */
  const openWork = (an) => app.open({ v: 'device', ds: '', an });

  const data = createDocumentView(app, 'memory', element, (next, openSession) => {
    [answer, session] = [next, openSession];
    noteStale(next.stale && `No program ${app.link.state.pg} in this session; the one with the highest peak is shown.`);
    return draw();
  }, query);

  const followLink = data.whenDrawn(() => {
    if ((app.link.state.pg ?? '') !== requested) data.reload();
    else keepFocus(element, draw);
  });

  return { element, followLink, open: data.open, show: data.show, filter: data.reload };
}

/**
 * The peak and its parts on one axis with other buffers; the device's capacity on a scale of its own.
 * @param {MemoryProgram} row @param {MemoryNode[]} tree
 */
function peakCard(row, tree) {
  const { program, exact, peak_bytes, total_bytes, peak_at, padding_bytes, other_bytes, capacity_bytes } = row;
  const used = peak_bytes + (other_bytes ?? 0);
  const axis = Math.max(total_bytes, used) * 1.02;
  /** @param {string} className @param {number} from @param {number} to @param {number} [length] of the axis */
  const piece = (className, from, to, length = axis) =>
    h('i', { class: className, style: { left: percent(from / length), width: percent((to - from) / length) } });
  const roots = tree.filter(({ depth }) => !depth);
  const parts = h('span', { class: 'stack', style: { left: '0', width: percent(peak_bytes / axis) } },
    KINDS.map(([key, kind, texture]) => {
      const size = total(roots, key);
      return size > 0 && h('span', {
        class: `part ${texture}`, style: { flex: `${size} 1 0` }, title: `${kind}: ${plural(size, 'byte')}`,
      }, h('b', null, `${kind} ${bytes(size)}`));
    }));
  const power = Math.floor(Math.log10(Math.max(1, axis)) / 3) * 3;
  return card(
    'At the peak',
    {
      note: [program, ...(peak_at ? [peak_at] : [])].map((name) => cutName(name, MAX_NAME_LETTERS)).join(', at '),
      class: 'across',
    },
    h(
      'div',
      { class: 'ladder', role: 'list', 'data-testid': 'memory-peak' },
      exact
        ? rung('peak', bytes(peak_bytes), [parts, piece('ghost', peak_bytes, total_bytes)],
          `${bytes(total_bytes)} reserved${padding_bytes ? `; padding ${bytes(padding_bytes)}` : ''}`)
        : rung('peak', `≥\u202f${bytes(peak_bytes)}`,
          [piece('solid', 0, peak_bytes), piece('uncertain', peak_bytes, total_bytes)],
          `at most ${bytes(total_bytes)}`),
      other_bytes !== null && exact && rung('with other buffers', bytes(used),
        [piece('solid', 0, peak_bytes), piece('uncertain', peak_bytes, used)], `${bytes(other_bytes)} of others`),
      rungAxis(niceTicks((axis * 0.96) / 10 ** power).map((tick) =>
        h('span', { class: 'run-tick', style: { left: percent((tick * 10 ** power) / axis) } },
          tick ? digits(tick, String(tick).split('.')[1]?.length) : bytes(10 ** power).replace(/^[\d.]+/, '0')))),
      capacity_bytes !== null && rung('of the capacity', bytes(capacity_bytes),
        [piece('ghost', 0, 1, 1), piece('solid', 0, Math.min(1, used / capacity_bytes), 1)],
        `${share(used / capacity_bytes)} in use`),
    ),
  );
}

/**
 * @param {MemoryProgram[]} programs @param {string} chosen @param {(program: string) => void} choose
 * @param {string} className
 */
const programsCard = (programs, chosen, choose, className) =>
  tableCard(
    'Programs',
    { note: `${count(programs.length)} that ran`, class: `memory-programs ${className}` },
    {
      testid: 'memory-programs',
      items: programs,
      sort: '-peak_bytes',
      columns: [
        ...definedColumns({ program: TABLES.memory.program }),
        countColumn('Runs', (/** @type {MemoryProgram} */ { runs }) => runs),
        ...definedColumns({ peak_bytes: TABLES.memory.peak_bytes, total_bytes: TABLES.memory.total_bytes }, {
          peak_bytes: {
            cell: (/** @type {MemoryProgram} */ row) => `${row.exact ? '' : '≥\u202f'}${bytes(row.peak_bytes)}`,
          },
        }),
      ],
      select: ({ program }) => choose(program),
      selected: ({ program }) => program === chosen,
      key: ({ program }) => program,
    },
  );
