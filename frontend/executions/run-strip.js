/** The executions of one step on one axis: host calls, device runs, idle time; below them those of a second session. */

import { button, h, labelledSelect, refill } from '../lib/dom.js';
import { card, deviceName, shortProgram, windowLinkState } from '../lib/cards.js';
import { fillColors } from '../lib/classes.js';
import { count, digits, timeText, unitFor } from '../lib/format.js';
import { axisGrid, axisLane, axisSlice, fittingText } from '../lib/axis.js';
import { causeLabel } from '../gaps/cause.js';
import { rowsOf } from '../overview/step-data.js';
import { maximum, minimum } from '../lib/totals.js';

/**
 * @typedef {object} Run
 * @property {string} device
 * @property {number} start_ps
 * @property {number} duration_ps
 * @property {string} program
 * @property {number} launch_start_ps of the execute call
 * @property {number} host_ps
 * @property {number} queue_ps
 * @property {number} overhead_ps
 */

/**
 * The runs of a step on one device of a session.
 * @typedef {object} Side
 * @property {string} name above the lanes, empty without a second session
 * @property {Run[]} runs by start
 * @property {Executions['between']} between
 * @property {(state: import('../lib/link.js').LinkState) => void} open shows a window of the session's timeline
 */
/** @typedef {import('../lib/routes').Executions} Executions */
/** A session of the view, which may have two. @typedef {{name: string, answer: Executions}} Source */

const MAX_HOST_ROWS = 4;
const HOST_ROW_PX = 20;

/** @param {Executions} answer @param {string} [device] by default all @returns {Run[]} by start */
function runsOf({ runs }, device) {
  /** @type {Run[]} */
  const rows = rowsOf({ ...runs });
  return rows.filter((run) => !device || run.device === device).sort((a, b) => a.start_ps - b.start_ps);
}

/** From the first execute call or run to the end of the last one. @param {Run[]} runs @returns {[number, number]} */
const extent = (runs) => [
  minimum(runs.map((run) => Math.min(run.launch_start_ps, run.start_ps))),
  maximum(runs.map((run) => Math.max(run.start_ps + run.duration_ps, run.launch_start_ps + run.host_ps))),
];

/** What the strip leaves out of a step with very many runs. @param {Executions} answer */
function limitText({ runs, run_count }) {
  const listed = runs?.device.length ?? 0;
  return listed < run_count ? `; the first ${count(listed)} of ${count(run_count)} runs of the step` : '';
}

/** @param {Executions} answer @param {number|null} step index */
const stepText = ({ steps }, step) => (step == null ? '' : `step ${steps[step] ?? step}`);

/**
 * @param {import('../frame/app.js').App} app
 * @param {(step: number) => void} chooseStep by its index
 */
export function createRunStrip(app, chooseStep) {
  const element = h('div', { class: 'strip-place' });
  let device = '';

  /**
   * @param {Executions} answer
   * @param {import('../lib/types').Ready} session
   * @param {Source} [other] a second session, drawn with its own step on the device of that step's first run
   */
  function draw(answer, session, other) {
    const withRuns = new Set(runsOf(answer).map((run) => run.device));
    const devices = session.devices.map(({ id }) => id).filter((id) => withRuns.has(id));
    if (!devices.includes(device)) [device = ''] = devices;
    const runs = runsOf(answer, device);
    const isSubset = app.selection().devices.length < session.devices.length;
    const { step } = answer;
    const host = session.devices.find(({ id }) => id === device)?.host;
    const nameOf = (/** @type {string} */ id) => {
      const sessionDevice = session.devices.find((candidate) => candidate.id === id);
      return sessionDevice ? deviceName(sessionDevice, session.session.hosts) : id;
    };
    const stepButton = (/** @type {number} */ by) =>
      button(by < 0 ? '‹' : '›', () => chooseStep((step ?? 0) + by), {
        class: 'small-button',
        'aria-label': by < 0 ? 'Previous step' : 'Next step',
        'data-testid': by < 0 ? 'execution-previous' : 'execution-next',
        disabled: (step ?? 0) + by < 0 || (step ?? 0) + by >= answer.steps.length,
      });
    /** @type {Side[]} */
    const sides = [
      { name: other ? sideName(session.session.name, answer) : '', runs, between: answer.between, open: app.open },
    ];
    if (other) {
      const [first] = runsOf(other.answer);
      sides.push({
        name: sideName(other.name, other.answer),
        runs: first ? runsOf(other.answer, first.device) : [],
        between: other.answer.between,
        open: (state) => app.open({ s: other.name, c: session.session.name, ...state }),
      });
    }
    refill(
      element,
      card(
        'One step, execution by execution',
        {
          note: runs.length ? `same axis, from the step’s first execute call${limitText(answer)}` : null,
          right: [
            devices.length > 1
              ? labelledSelect(
                  'device',
                  devices.map((id) => [id, nameOf(id)]),
                  device,
                  (id) => {
                    device = id;
                    draw(answer, session, other);
                  },
                  'execution-device',
                )
              : null,
            ...(step == null
              ? []
              : [
                  stepButton(-1),
                  h(
                    'span',
                    { class: 'secondary', 'data-testid': 'execution-step' },
                    `${stepText(answer, step)}${host && session.session.hosts.length > 1 ? ` on ${host}` : ''}`,
                  ),
                  stepButton(1),
                ]),
          ],
        },
        h(
          'div',
          { class: 'axis', 'data-testid': 'executions-strip' },
          runs.length
            ? axis(sides.filter((side) => side.runs.length))
            : h('p', { class: 'secondary' }, noRunsText(answer, isSubset)),
        ),
      ),
    );
  }

  return { element, draw };
}

/**
 * Why no run is drawn.
 * @param {Pick<Executions, 'step'|'runs'>} answer
 * @param {boolean} isSubset whether only some devices are chosen
 */
export function noRunsText({ step, runs }, isSubset) {
  if (step === null) return 'The capture has no steps.';
  if (!runs) return 'This step’s host is not in memory; choose it in the header.';
  return `No execution ${isSubset ? 'on the chosen devices ' : ''}belongs to this step.`;
}

/**
 * Assigns overlapping spans to rows: each to the first free row.
 * @param {{start: number, end: number}[]} spans by start
 * @param {number} maxRows spans that do not fit share the last row
 * @returns {number[]} the row of each span
 */
export function stackSpans(spans, maxRows) {
  /** @type {number[]} */
  const ends = [];
  return spans.map(({ start, end }) => {
    let row = ends.findIndex((until) => until <= start);
    if (row < 0) row = Math.min(ends.length, maxRows - 1);
    ends[row] = Math.max(ends[row] ?? 0, end);
    return row;
  });
}

/**
 * The intervals in which no run is on the device: from the end of the latest one, `previous`, to the start of `run`.
 * @template {Pick<Run, 'start_ps'|'duration_ps'>} R
 * @param {R[]} runs by start; they may overlap
 */
export function idleBetween(runs) {
  let previous = runs[0];
  return runs.flatMap((run) => {
    const [before, from] = [previous, previous.start_ps + previous.duration_ps];
    if (run.start_ps + run.duration_ps > from) previous = run;
    return run.start_ps > from ? [{ from, previous: before, run }] : [];
  });
}

/** `lazy · resnet50/lazy · step 3` @param {string} name @param {Executions} answer */
const sideName = (name, answer) =>
  [[...new Set(answer.executions.map(({ kind }) => kind))].join(' and '), name, stepText(answer, answer.step)]
    .filter(Boolean)
    .join(' · ');

/** @param {Side[]} sides */
function axis(sides) {
  const length = maximum(sides.map(({ runs }) => extent(runs)).map(([begin, end]) => end - begin), 1);
  const unit = unitFor(length);
  return [
    axisGrid(length, unit),
    ...sides.flatMap((side) => [
      ...(side.name ? [h('b', { class: 'run-label side-name' }, side.name)] : []),
      ...lanes(side, length, unit),
    ]),
    h('span', { class: 'run-label' }),
    h(
      'p',
      { class: 'small muted' },
      'host: execute call to completion · device: the program’s run · idle: between runs, coloured by what the ' +
      'host mostly does meanwhile',
    ),
  ];
}

/**
 * The lanes of one session: calls on the host, runs on the device, idle time between them.
 * @param {Side} side
 * @param {number} length of the axis, ps
 * @param {import('../lib/format.js').Unit} unit
 */
function lanes({ runs, between, open }, length, unit) {
  const [begin] = extent(runs);
  /**
   * @param {string} kind class
   * @param {number} from
   * @param {number} until
   * @param {string[]} texts from the longest to the shortest
   * @param {string} title
   * @param {Record<string, string>} [style]
   */
  const slice = (kind, from, until, texts, title, style) =>
    axisSlice(
      `run ${kind}`,
      fittingText(texts, (until - from) / length),
      title,
      (from - begin) / length,
      (until - begin) / length,
      () => open(windowLinkState(from, until)),
      style,
    );
  const calls = [...runs].sort((a, b) => a.launch_start_ps - b.launch_start_ps);
  const spans = calls.map((run) => ({ start: run.launch_start_ps, end: run.launch_start_ps + run.host_ps }));
  const rows = stackSpans(spans, MAX_HOST_ROWS);
  const host = calls.map((run, index) =>
    slice(
      'call',
      spans[index].start,
      spans[index].end,
      [run.program, shortProgram(run.program)],
      `${run.program}: host ${timeText(run.host_ps)} = device ${timeText(run.duration_ps)} + queue ` +
        `${timeText(run.queue_ps)} + overhead ${timeText(run.overhead_ps)}`,
      { top: `${rows[index] * HOST_ROW_PX + 1}px` },
    ),
  );
  const work = runs.map((run) => {
    const time = digits(run.duration_ps / unit.ps, 3);
    return slice(
      'work tone',
      run.start_ps,
      run.start_ps + run.duration_ps,
      [`${run.program} ${time}`, `${shortProgram(run.program)} ${time}`, shortProgram(run.program)],
      `${run.program} ${time}\u202f${unit.name} on the device`,
    );
  });
  const idle = idleBetween(runs).map(({ from, previous, run }) => {
    const time = timeText(run.start_ps - from);
    const { cause, queued } =
      between.find((pair) => pair.before === previous.program && pair.after === run.program) ?? {};
    return slice(
      cause ? `tone k-${cause}` : 'rest',
      from,
      run.start_ps,
      [time],
      `idle ${time}${cause ? `; mostly ${causeLabel(queued ? 'queued' : cause)} between these programs` : ''}`,
      cause ? fillColors(`c-${cause}`) : {},
    );
  });
  return [
    ...axisLane('host', host, maximum(rows.map((row) => row + 1), 1)),
    ...axisLane('device', work),
    ...axisLane('idle', idle.length ? idle : [h('span', { class: 'muted small lane-note' }, 'none between runs')]),
  ];
}
