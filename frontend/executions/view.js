/** Executions: what each program's runs cost the host, and how much of it is the device's work. */

import { h, fill } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { loadOnce } from '../frame/once.js';
import { card, classCell, emptyCard, link, windowPlace } from '../lib/cards.js';
import { columnUnit, count, cutMiddle, deviceTimeCell, digits, MISSING, plural, share, timeCell, timeText } from '../lib/format.js';
import { table, liveTable } from '../lib/table.js';
import { saveCsv } from '../lib/csv.js';
import { againstCard, bringSource, stepMeans } from './against.js';
import { COSTS, divisor, savings, smallOnes, sumCosts } from './costs.js';
import { createStrip, runRows } from './strip.js';

/** @typedef {import('../lib/views').Executions} Executions */
/** @typedef {import('../lib/views').ExecutionRow} ExecutionRow */
/** @typedef {import('./costs.js').Scope} Scope */
/** @typedef {import('./costs.js').CostName} CostName */

/** @type {[Scope, string][]} */
const SCOPES = [['run', 'mean of a run'], ['step', 'per step and core'], ['total', 'total']];

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function create(app) {
  const element = h('div', { class: 'cards executions' });
  const overhead = h('div', { class: 'fill' });
  /** @type {Executions|null} */
  let answer = null;
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  /** @type {Scope} */
  let scope = 'run';
  /** The open session, and the second one of the link. @type {import('./costs.js').Source[]} */
  let sources = [];
  const beside = h('div', { class: 'side' });
  const strip = createStrip(app, (step) => { void bringStep(step); });
  const stepCount = () => (session?.rows ?? []).filter(({ kind }) => kind === 'steps').reduce((sum, row) => sum + row.events, 0);
  const deviceCount = () => session?.devices.length ?? 1;

  /** Another step on the axis: only its runs are asked for again. @param {number} step index */
  async function bringStep(step) {
    const own = session;
    if (!own || !answer || answer.step === step) return;
    app.link.set({ st: String(answer.steps?.[step] ?? step) }, 'push');
    try {
      const next = await get('executions', { session: own.session.name, step });
      if (own !== session) return;
      answer = { ...answer, runs: next.runs, step: next.step };
      strip.draw(answer, own);
      drawOverhead();
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      app.note({ id: 'executions', severity: 'error', message });
      app.live.alarm(message);
    }
  }

  /** The numbers of the steps, where the answer does not have them. */
  async function bringNumbers() {
    const own = session;
    if (!own || !answer || answer.steps || answer.step == null) return;
    const { steps } = await get('compiles', { session: own.session.name }).catch(() => ({ steps: [] }));
    if (own !== session) return;
    answer = { ...answer, steps };
    strip.draw(answer, own);
  }

  /** The step of the link, by its number. */
  function linkedStep() {
    const at = app.link.state.st && answer?.steps ? answer.steps.findIndex((number, index) => String(number ?? index) === app.link.state.st) : -1;
    if (at >= 0) void bringStep(at);
  }

  function draw() {
    if (!answer || !session) return 'empty';
    const { executions } = answer;
    app.count('executions', count(executions.length));
    if (!executions.length) {
      fill(element, emptyCard('Executions', 'No execution in this capture.', 'Capture while the device runs programs: at least one whole step.'));
      return 'empty';
    }
    const select = h('select', { 'aria-label': 'Times', 'data-testid': 'execution-scope', onchange: () => {
      scope = /** @type {Scope} */ (select.value);
      drawOverhead();
    } }, SCOPES.filter(([name]) => name !== 'step' || stepCount()).map(([name, text]) => h('option', { value: name }, text)));
    select.value = scope;
    fill(element,
      card('Overhead per execution', { note: 'host time lasts from the execute call to the later of its end and the device’s end',
        right: [legend(), h('span', { class: 'pick' }, h('span', null, 'times'), select),
          h('button', { type: 'button', 'data-testid': 'export-csv', onclick: save }, 'Export CSV')], class: 'across' }, overhead),
      strip.element, beside, readingCard(answer));
    drawBeside();
    drawOverhead();
    strip.draw(answer, session);
    return 'ready';
  }

  function drawBeside() {
    if (answer) fill(beside, sources.length > 1 ? againstCard(sources) : kindsCard(answer), betweenCard(answer));
  }

  /** Brings the second session of the link, if there is one. */
  async function bringOther() {
    const [own] = sources;
    const other = app.link.state.c;
    if (!own || !answer || (sources[1]?.name ?? '') === (other ?? '')) return;
    sources = [own];
    try {
      if (other) {
        const [overview, second] = await Promise.all([get('overview', { session: own.name }), bringSource(other)]);
        if (sources[0] !== own || app.link.state.c !== other) return;
        sources = [{ ...own, step: stepMeans(overview).step }, second];
      }
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      app.note({ id: 'executions', severity: 'error', message });
      app.live.alarm(message);
    }
    drawBeside();
    drawOverhead();
  }

  const legend = () => h('span', { class: 'legend' }, /** @type {const} */ ([['d', 'device'], ['q', 'queue: the device was busy with earlier work'], ['o', 'overhead']])
    .map(([sign, text]) => h('span', null, h('i', { class: `cost-mark ${sign}`, 'aria-hidden': 'true' }), text)));

  function drawOverhead() {
    if (!answer) return;
    const of = new Map(sources.flatMap((source) => source.rows.map((row) => [row, source])));
    const executions = sources.flatMap(({ rows }) => rows);
    const per = (/** @type {ExecutionRow} */ row, /** @type {CostName} */ key) => row[key] / divisor(scope, row, of.get(row)?.steps ?? 0, of.get(row)?.devices ?? 1);
    const unit = columnUnit(executions.map((row) => per(row, 'host_ps')));
    const most = Math.max(...executions.map((row) => per(row, 'host_ps')));
    const groups = sources.flatMap((source) => [...new Set(source.rows.map(({ kind }) => kind))].map((kind) => {
      const rows = source.rows.filter((row) => row.kind === kind);
      return { rows, text: groupText(kind, rows, source) };
    }));
    const textOf = new Map(groups.flatMap(({ rows, text }) => rows.map((row) => [row, text])));
    const [own] = sources;
    const sum = sumCosts(own.rows);
    const ofSum = scope === 'run' ? sum.count : scope === 'step' ? own.steps * own.devices : 1;
    /** @param {CostName} key @param {string} head @returns {import('../lib/table.js').Column<ExecutionRow>} */
    const cost = (key, head) => ({ key, head: `${head}, ${unit.name}`, number: true, value: (row) => per(row, key), ps: (row) => Math.round(per(row, key)),
      cell: (row) => {
        const text = key === 'device_ps' ? deviceTimeCell(per(row, key), unit) : timeCell(per(row, key), unit);
        if (key === 'host_ps') return of.get(row) === own ? placeOf(row, text) : text;
        return key === 'overhead_ps' ? h('b', null, text) : text;
      } });
    const { element: rows } = liveTable({
      label: 'Overhead per execution', testid: 'overhead-table', items: groups.flatMap((group) => group.rows), rowHeight: 24,
      sort: app.link.state.o, ordered: (o) => app.link.set({ o }, 'push'), rowid: (row) => `execution-${row.program}`,
      group: groups.length > 1 ? (row) => textOf.get(row) ?? '' : undefined,
      columns: [
        { key: 'program', head: 'Program', value: ({ program }) => program, title: ({ program, program_ids }) => [program, ...program_ids].join('\n'),
          cell: (row) => [h('code', null, cutMiddle(row.program, 40)), row.program_ids.length > 1 ? h('span', { class: 'muted small' }, ` ${row.program_ids.length} variants`) : ''] },
        { key: 'launches', head: 'Launches', number: true, value: (row) => row.launches, cell: (row) => count(row.launches) },
        { key: 'count', head: 'Runs', number: true, value: (row) => row.count, cell: (row) => count(row.count) },
        cost('host_ps', 'Host'), cost('device_ps', 'Device'), cost('queue_ps', 'Queue'), cost('overhead_ps', 'Overhead'),
        { key: 'share', head: 'Of host', number: true, value: (row) => row.overhead_ps / row.host_ps, cell: (row) => share(row.host_ps ? row.overhead_ps / row.host_ps : null) },
        { key: 'bar', head: `Device, queue and overhead, 0 – ${digits(most / unit.ps, most / unit.ps < 10 ? 1 : 0)}\u202f${unit.name}`, cell: (row) => costBar(row, (key) => per(row, key) / most) },
        { key: 'join', head: 'Join', value: ({ join }) => join, title: ({ join }) => JOINS[join], cell: ({ join }) => h('span', { class: 'sec' }, join) },
      ],
      foot: [(sources.length > 1 ? 'This session' : 'All') + (scope === 'run' ? ', mean of a run' : scope === 'step' ? ', per step and core' : ''), count(sum.launches), count(sum.count),
        ...COSTS.map((key) => h('span', { 'data-ps': Math.round(sum[key] / ofSum) }, timeCell(sum[key] / ofSum, unit))), share(sum.host_ps ? sum.overhead_ps / sum.host_ps : null), '', ''],
    });
    fill(overhead, rows);
  }

  /** Host time leads to the program's run in the step that is drawn. @param {ExecutionRow} row @param {string} text */
  function placeOf(row, text) {
    const run = answer?.runs ? runRows(answer.runs).find(({ program }) => program === row.program) : null;
    return run ? link(text, () => app.open(windowPlace(Math.min(run.launch_start_ps ?? run.start_ps, run.start_ps), run.start_ps + run.duration_ps))) : text;
  }

  /** @param {string} kind @param {ExecutionRow[]} rows @param {import('./costs.js').Source} source */
  function groupText(kind, rows, { name, steps, devices }) {
    const each = sumCosts(rows).count / (steps * devices);
    return [kind, sources.length > 1 ? name : '', plural(rows.length, 'program'),
      steps ? `${digits(each, Number.isInteger(each) ? 0 : 1)} ${each === 1 ? 'execution' : 'executions'} per step` : ''].filter(Boolean).join(' · ');
  }

  /** @param {Executions} all */
  function kindsCard({ executions, kinds, lead }) {
    const names = Object.keys(kinds).length ? Object.keys(kinds) : [...new Set(executions.map(({ kind }) => kind))];
    const steps = Math.max(1, stepCount() * deviceCount());
    const items = names.map((name) => ({ ...sumCosts(executions.filter(({ kind }) => kind === name)), ...kinds[name], name }));
    const unit = columnUnit(items.map(({ host_ps }) => host_ps / steps));
    /** @param {CostName} key @param {string} head @returns {import('../lib/table.js').Column<typeof items[number]>} */
    const cost = (key, head) => ({ key, head: `${head}, ${unit.name}`, number: true, value: (item) => item[key], ps: (item) => Math.round(item[key] / steps), cell: (item) => timeCell(item[key] / steps, unit) });
    const all = sumCosts(executions);
    return card('By kind', { note: stepCount() ? 'per step and core' : 'total' }, table({
      label: 'By kind', testid: 'lazy-dynamo-table', items,
      columns: [
        { key: 'name', head: 'Kind', value: ({ name }) => name, cell: ({ name }) => name },
        { key: 'count', head: 'Runs', number: true, value: (item) => item.count, cell: (item) => digits(item.count / steps, Number.isInteger(item.count / steps) ? 0 : 2) },
        cost('host_ps', 'Host'), cost('device_ps', 'Device'), cost('overhead_ps', 'Overhead'),
      ],
      foot: ['All', digits(all.count / steps, Number.isInteger(all.count / steps) ? 0 : 2), .../** @type {const} */ (['host_ps', 'device_ps', 'overhead_ps']).map((key) => timeCell(all[key] / steps, unit))],
    }), lead ? h('p', { class: 'sec' }, leadText(lead)) : null);
  }

  /** @param {Executions} all */
  function betweenCard({ between }) {
    if (!between.length) return null;
    const unit = columnUnit(between.map(({ mean_ps }) => mean_ps));
    return card('Between device runs', { note: 'idle on one device' }, h('div', { class: 'fill' }, table({
      label: 'Between device runs', testid: 'between-table', items: between,
      columns: [
        { key: 'ends', head: 'From → to', value: ({ before, after }) => `${before} ${after}`, title: ({ before, after }) => `${before ?? MISSING} → ${after ?? MISSING}`,
          cell: ({ before, after }) => link(`${before ? cutMiddle(before, 15) : MISSING} → ${after ? cutMiddle(after, 15) : MISSING}`, () => app.open({ v: 'gaps', sel: '', f: '' })) },
        ...(between.some(({ cause }) => cause) ? [{ key: 'cause', head: 'Mostly', cell: (/** @type {Executions['between'][number]} */ { cause }) => (cause ? classCell(cause) : '') }] : []),
        { key: 'count', head: 'Count', number: true, value: (item) => item.count, cell: (item) => count(item.count) },
        { key: 'mean', head: `Mean, ${unit.name}`, number: true, value: ({ mean_ps }) => mean_ps, ps: ({ mean_ps }) => Math.round(mean_ps), cell: ({ mean_ps }) => timeCell(mean_ps, unit) },
      ],
    })));
  }

  /** @param {Executions} all */
  function readingCard({ executions, fit }) {
    const joined = executions.filter(({ join }) => join !== 'none');
    const small = smallOnes(joined);
    const each = Math.max(1, stepCount() * deviceCount());
    const cost = sumCosts(small);
    const rows = savings(joined, fit, stepCount(), deviceCount());
    const unit = columnUnit(rows.map(({ now_ps }) => now_ps));
    const means = (/** @type {CostName} */ key) => joined.map((row) => row[key] / Math.max(1, row.count));
    const range = (/** @type {number[]} */ values) => `${timeText(Math.min(...values), 1)} – ${timeText(Math.max(...values), 1)}`;
    const text = [
      joined.length > 1 ? `Overhead of a run is ${range(means('overhead_ps'))} for device runs of ${range(means('device_ps'))}.` : '',
      fit && fit.n > 2 ? `The fit over ${count(fit.n)} runs: ${timeText(Math.max(0, fit.fixed_ps))} per execution, whatever it does${fit.slope > 0.001 ? `, and ${timeText(fit.slope * 1e9)} per ms of device time` : ''}.` : '',
      small.length ? `${plural(small.length, 'program')} ${small.length === 1 ? 'takes' : 'take'} ${timeText(cost.overhead_ps / each)} of overhead ${stepCount() ? 'per step ' : ''}for ${timeText(cost.device_ps / each)} of device work: merge them, or avoid the syncs that make them.` : '',
      sumCosts(joined).queue_ps > sumCosts(joined).host_ps / 2 ? 'Most host time is queue: the host runs ahead of the device, and that is good.' : '',
    ].filter(Boolean).join(' ');
    return card('What this says', { class: 'across' }, h('div', { class: 'two' },
      h('p', { class: 'reading' }, text || 'Each execution takes longer on the device than its overhead: nothing to gain by merging.'),
      rows.length ? table({
        label: 'If there were fewer executions', testid: 'cost-table', items: rows,
        columns: [
          { key: 'name', head: stepCount() ? 'Overhead per step and core' : 'Overhead', cell: ({ name }) => name },
          { key: 'now', head: `Now, ${unit.name}`, number: true, ps: ({ now_ps }) => Math.round(now_ps), cell: ({ now_ps }) => timeCell(now_ps, unit) },
          { key: 'then', head: `Then, ${unit.name}`, number: true, ps: ({ then_ps }) => Math.round(then_ps), cell: ({ then_ps }) => timeCell(then_ps, unit) },
          { key: 'saved', head: `Saved, ${unit.name}`, number: true, ps: (row) => Math.round(row.now_ps - row.then_ps), cell: (row) => timeCell(row.now_ps - row.then_ps, unit) },
        ],
      }) : null));
  }

  function save() {
    if (!answer) return;
    saveCsv('executions.csv', ['program', 'kind', 'join', 'launches', 'count', ...COSTS],
      answer.executions.map((row) => [row.program, row.kind, row.join, row.launches, row.count, ...COSTS.map((key) => row[key])]));
  }

  const data = loadOnce(app, 'executions', element, (/** @type {Executions} */ next, own) => {
    answer = next;
    session = own;
    sources = [{ name: own.session.name, rows: next.executions, steps: stepCount(), devices: deviceCount(), step: null }];
    void bringOther();
    const state = draw();
    void bringNumbers().then(linkedStep);
    return state;
  });
  return { element, open: data.open, filter() {}, move() {
      void bringOther();
      linkedStep();
    }, show: data.show, recolor() {} };
}

const JOINS = { exact: 'The trace says which call made the run.', ordered: 'Call and run are joined by their order.', none: 'The call of the run is not known.' };

/** @param {NonNullable<Executions['lead']>} lead */
function leadText({ mean_ps, min_ps, max_ps }) {
  return mean_ps >= 0 ? `The host enqueues a run ${timeText(mean_ps)} before the device is done with the one before, in the mean (${timeText(min_ps)} to ${timeText(max_ps)}).`
    : `The device waits ${timeText(-mean_ps)} for each run to be enqueued, in the mean.`;
}

/** @param {ExecutionRow} row @param {(key: CostName) => number} part from 0 to 1 */
function costBar(row, part) {
  const mark = (/** @type {CostName} */ key, /** @type {string} */ sign) => {
    if (!row[key]) return null;
    const own = h('i', { class: sign, title: `${key.replace('_ps', '')} ${timeText(row[key])} in all` });
    own.style.width = `${part(key) * 100}%`;
    return own;
  };
  return h('div', { class: 'costs', 'aria-hidden': 'true' }, mark('device_ps', 'd'), mark('queue_ps', 'q'), mark('overhead_ps', 'o'));
}
