/** The Executions view: host time of each program's runs, and the device's share of it. */

import { fill, h, labelledSelect } from '../lib/dom.js';
import { columnUnit, maximum } from '../lib/totals.js';
import { get, createLatestChannel } from '../lib/api.js';
import { chosenDevices } from '../lib/devices.js';
import { linkedStepIndex, listText, stepKey } from '../lib/link.js';
import { createDocumentView } from '../frame/document-view.js';
import { createStaleNote, staleStepText } from '../frame/stale-note.js';
import { card, codeCell, emptyCard, link, NO_EXECUTIONS_TEXT, windowLinkState } from '../lib/cards.js';
import {
  count,
  deviceTimeCell,
  digits,
  MISSING,
  plural,
  share,
  timeCell,
  timeText,
} from '../lib/format.js';
import { csvKeys, definedColumn } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';
import { linkedOrder, sortableTable, sumText } from '../lib/table.js';
import { exportButton } from '../lib/csv.js';
import { lazySteps } from '../compare/lazy.js';
import { betweenCard, causesCard, COSTS, kindsCard, readingCard } from './cards.js';
import { costBar, costLegend } from './cells.js';
import { rowsOf } from '../overview/step-data.js';
import { createRunStrip } from './run-strip.js';

/** @typedef {import('../lib/routes').Executions} Executions */
/** @typedef {import('../lib/routes').ExecutionRow} ExecutionRow */
/** What costs refer to. @typedef {keyof import('../lib/routes').CostsByBasis} Basis */
/** @typedef {import('./cards.js').CostName} CostName */
/** @typedef {import('./run-strip.js').Source} Source */

/** @type {[Basis, string][]} */
const BASES = [['run', 'mean of a run'], ['step', 'per step and core'], ['total', 'total, all cores']];

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function executionsView(app) {
  const element = h('div', { class: 'cards executions' });
  const tablePlace = h('div', { class: 'fill' });
  /** @type {Executions} */
  let answer;
  /** @type {import('../lib/types').Ready} */
  let session;
  /** @type {Basis} */
  let basis = 'run';
  /** The open session, and the second one of the link. @type {Source[]} */
  let sources = [];
  /** How the second session differs. @type {import('../lib/routes').CompareAnswer|null} */
  let comparison = null;
  /** @type {ReturnType<typeof sortableTable>|null} */
  let overheadTable = null;
  const aside = h('div', { class: 'side' });
  const noteStale = createStaleNote(app, 'executions');
  const strip = createRunStrip(app, (step) => {
    app.link.set({ st: stepKey(answer.steps, step) }, 'push');
    noteStale();
    void fetchStep(step);
  });
  /** The step drawn if the link names none. */
  let defaultStep = -1;
  const stepChannel = createLatestChannel('executions');
  /** Query parameter for the chosen devices; null if all are chosen. */
  const deviceQuery = (/** @type {import('../lib/types').Ready} */ openSession) => {
    const { devices } = app.selection();
    const { length } = openSession.devices;
    return { devices: devices.length < length ? listText(chosenDevices(devices, openSession.devices)) : null };
  };

  /** Draws another step, with its runs from a new answer. @param {number} step index */
  async function fetchStep(step) {
    const requested = session;
    stepChannel.cancel();
    if (answer.step === step) return;
    try {
      const next = await stepChannel.get({ session: requested.session.name, step, ...deviceQuery(requested) });
      answer = { ...answer, runs: next.runs, step: next.step };
      strip.draw(answer, requested, sources[1]);
      drawTable();
    } catch (error) {
      ifOpen(requested.session.name, () => app.reportError('executions', error));
    }
  }

  /** Draws the link's step, otherwise the default one. */
  function drawLinkedStep() {
    const { st } = app.link.state;
    const linkedStep = linkedStepIndex(answer.steps, st);
    const step = linkedStep < 0 ? defaultStep : linkedStep;
    noteStale(
      linkedStep < 0 && !answer.partial && staleStepText(st, step < 0 ? '' : `step ${answer.steps[step]} is`),
    );
    if (step >= 0) void fetchStep(step);
  }

  function draw() {
    const { executions } = answer;
    if (!executions.length) {
      const isSubset = app.selection().devices.length < session.devices.length;
      const [text, advice] = isSubset
        ? ['No execution on the chosen devices.', 'Choose others in the header.']
        : [
            NO_EXECUTIONS_TEXT,
            session.diagnostics.find(({ id }) => id === 'no_launches')?.message ??
              'Capture while the device runs programs: at least one whole step.',
          ];
      fill(element, emptyCard('Executions', text, advice));
      return 'empty';
    }
    const bases = BASES.filter(([name]) => name !== 'step' || answer.core_steps);
    if (!bases.some(([name]) => name === basis)) basis = 'run';
    fill(
      element,
      card(
        'Executions',
        {
          note: 'host time: from the execute call to the later of its end and the end of the device’s run',
          right: [
            costLegend(),
            labelledSelect(
              'times',
              bases,
              basis,
              (value) => {
                basis = /** @type {Basis} */ (value);
                drawTable();
              },
              'execution-scope',
            ),
            exportButton('executions', csvKeys(TABLES.executions), () => executions),
          ],
          class: 'across',
        },
        tablePlace,
      ),
      h('div', { class: 'side' }, strip.element, causesCard(answer), readingCard(answer)),
      aside,
    );
    drawAside();
    drawTable();
    strip.draw(answer, session, sources[1]);
    return 'ready';
  }

  function drawAside() {
    fill(
      aside,
      comparison?.lazy_dynamo
        ? card('Lazy against dynamo', { note: 'per step and core' }, lazySteps(comparison.lazy_dynamo))
        : kindsCard(answer),
      betweenCard(answer, app.open),
    );
  }

  /** Fetches the second session of the link, if any. */
  async function fetchCompared() {
    const [openSource] = sources;
    const linkedName = app.link.state.c;
    const otherName = linkedName === openSource.name ? '' : linkedName;
    if ((sources[1]?.name ?? '') === (otherName ?? '')) return;
    sources = [openSource];
    comparison = null;
    const isCurrent = () => sources[0] === openSource && app.link.state.c === linkedName;
    try {
      if (otherName) {
        const next = await get('compare', { session: openSource.name, other: otherName });
        // Only now the other session is read: earlier, the answer could cover some of its hosts.
        const otherAnswer = await get('executions', { session: otherName });
        if (!isCurrent()) return;
        comparison = next;
        sources = [openSource, { name: otherName, answer: otherAnswer }];
      }
    } catch (error) {
      if (!isCurrent()) return;
      app.reportError('executions', error);
    }
    drawAside();
    drawTable();
    strip.draw(answer, session, sources[1]);
  }

  function drawTable() {
    const sourceOf = new Map(
      sources.flatMap((source) => source.answer.executions.map((row) => [row, source])),
    );
    const executions = [...sourceOf.keys()];
    const costsOf = (/** @type {Pick<ExecutionRow, 'costs'>} */ { costs }) => costs[basis] ?? costs.total;
    const barEnd = (/** @type {ExecutionRow} */ row) => costsOf(row).host_ps ?? costsOf(row).device_ps;
    const unit = columnUnit(executions, barEnd);
    const longest = maximum(executions.map(barEnd));
    const groups = sources.flatMap((source) => Object.entries(source.answer.kinds).map(([kind, sums]) => ({
      rows: source.answer.executions.filter((row) => row.kind === kind),
      text: groupText(kind, sums, source),
    })));
    const textOf = new Map(groups.flatMap(({ rows, text }) => rows.map((row) => [row, text])));
    const [openSource] = sources;
    const { all } = openSource.answer;
    const showsRanges = basis === 'run' && executions.some((row) => row.count > 1);
    const hasRange = (/** @type {CostName} */ key) => showsRanges && key === 'device_ps';
    /**
     * The columns of a cost and, if shown, of its range.
     * @param {CostName} key @returns {import('../lib/table.js').Column<ExecutionRow>[]}
     */
    const costColumns = (key) => {
      const text = (/** @type {number|null} */ ps) => (key === 'device_ps' ? deviceTimeCell : timeCell)(ps, unit);
      const column = definedColumn(TABLES.executions[key], {
        key,
        timeUnit: unit,
        field: (/** @type {ExecutionRow} */ row) => costsOf(row)[key],
        cell: (row) => {
          const content = text(costsOf(row)[key]);
          if (key === 'host_ps' && sourceOf.get(row) === openSource) return link(content, () => goToRun(row));
          return key === 'overhead_ps' ? h('b', null, content) : content;
        },
      });
      return hasRange(key)
        ? [
            column,
            {
              head: 'Min – max',
              number: true,
              title: ({ count: n, spread: { device_ps } }) => `median ${timeText(n > 1 ? device_ps.median : null)}`,
              cell: ({ count: n, spread: { device_ps: { min, max } } }) =>
                h('span', { class: 'secondary' }, n > 1 ? `${text(min)} – ${text(max)}` : MISSING),
            },
          ]
        : [column];
    };
    const goToRun = (/** @type {ExecutionRow} */ row) => {
      if (sourceOf.get(row) === openSource) void openRun(row.program);
    };
    overheadTable = sortableTable({
      label: 'Executions',
      testid: 'overhead-table',
      items: groups.flatMap((group) => group.rows),
      ...linkedOrder(app.link, ''),
      rowTestid: (row) => `execution-${row.program}`,
      select: goToRun,
      group: groups.length > 1 ? (row) => textOf.get(row) ?? '' : undefined,
      columns: [
        definedColumn(TABLES.executions.program, {
          title: ({ program, program_ids }) => [program, ...program_ids].join('\n'),
          cell: (row) => [
            codeCell(row.program, 40),
            row.program_ids.length > 1
              ? h('span', { class: 'muted small' }, ` ${row.program_ids.length} variants`)
              : '',
          ],
        }),
        definedColumn(TABLES.executions.launches),
        definedColumn(TABLES.executions.count),
        ...COSTS.flatMap(costColumns),
        definedColumn(TABLES.executions.overhead_share, { key: 'share' }),
        {
          head: `Device, queue and overhead, 0 – ${digits(longest / unit.ps, longest / unit.ps < 10 ? 1 : 0)}` +
            `\u202f${unit.name}`,
          cell: (row) => costBar(row, (key) => (costsOf(row)[key] ?? 0) / longest),
        },
      ],
      foot: [
        (sources.length > 1 ? 'This session' : 'All') +
          (basis === 'run' ? ', mean of a run' : basis === 'step' ? ', per step and core' : ''),
        sumText(count(all.launches)),
        sumText(count(all.count)),
        ...COSTS.flatMap((key) => {
          const ps = costsOf(all)[key];
          return [
            h(
              'span',
              { 'data-ps': ps, class: basis === 'total' && 'sum' },
              timeCell(ps, unit),
            ),
            ...(hasRange(key) ? [''] : []),
          ];
        }),
        share(all.overhead_share),
        '',
      ],
    });
    tablePlace.classList.toggle('ranged', showsRanges);
    fill(tablePlace, overheadTable.element);
  }

  /**
   * Runs `act` unless another session was opened meanwhile.
   * @param {string} name
   * @param {() => void} act
   */
  const ifOpen = (name, act) => { if (data.isDrawn() && name === session.session.name) act(); };

  /**
   * Opens a program's run in the drawn step, else the longest of its runs among the first 1,000 hits of a search for
   * its name on the chosen devices.
   * @param {string} program
   */
  async function openRun(program) {
    const run = rowsOf({ ...answer.runs }).find((candidate) => candidate.program === program);
    if (run) {
      return app.open(
        windowLinkState(Math.min(run.launch_start_ps, run.start_ps), run.start_ps + run.duration_ps),
      );
    }
    const { rows, session: { name } } = session;
    const { devices } = app.selection();
    try {
      const {
        hits: { n, s, d },
        names,
      } = await get('search', {
        session: name,
        q: program,
        rows: rows
          .filter(({ kind, device }) => kind === 'modules' && devices.includes(device ?? ''))
          .map(({ id }) => id)
          .join(','),
      });
      const longest = n.reduce((best, nameIndex, index) => {
        const isOfProgram = names[nameIndex].name.replace(/\(\d+\)$/, '') === program;
        return isOfProgram && (best < 0 || d[index] > d[best]) ? index : best;
      }, -1);
      ifOpen(name, () => {
        if (longest < 0) app.live.announceNow(`No run of ${program} is in the timeline.`);
        else app.open(windowLinkState(s[longest], s[longest] + d[longest]));
      });
    } catch (error) {
      ifOpen(name, () => app.reportError('executions', error));
    }
  }

  /** @param {string} kind @param {import('../lib/routes').ExecutionSums} sums @param {Source} source */
  function groupText(kind, { programs, per_step: perStep }, { name, answer: { core_steps } }) {
    return [
      kind,
      sources.length > 1 ? name : '',
      plural(programs, 'program'),
      core_steps
        ? `${digits(perStep, Number.isInteger(perStep) ? 0 : 1)} ${perStep === 1 ? 'execution' : 'executions'} per step`
        : '',
    ]
      .filter(Boolean)
      .join(' · ');
  }

  const data = createDocumentView(app, 'executions', element, (next, nextSession) => {
    stepChannel.cancel();
    answer = next;
    defaultStep = next.step ?? -1;
    session = nextSession;
    sources = [{ name: nextSession.session.name, answer: next }];
    comparison = null;
    void fetchCompared();
    const state = draw();
    drawLinkedStep();
    return state;
  }, deviceQuery);
  const followLink = data.whenDrawn(() => {
    overheadTable?.refresh();
    void fetchCompared();
    drawLinkedStep();
  });
  return {
    element, followLink, open: data.open, filter: data.reload,
    show(on) {
      data.show(on);
      if (on) followLink();
    },
  };
}
