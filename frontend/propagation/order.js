/** One step's phases on the host above their runs on a device, connected by ribbons or, if there are many, by phase. */

import { h, onKeys, percent, svg } from '../lib/dom.js';
import { toneColor } from '../lib/annotation-tones.js';
import { chip, fillColors, legend } from '../lib/classes.js';
import { plural, timeText, unitFor } from '../lib/format.js';
import { maximum, minimum, total } from '../lib/totals.js';
import { axisSlice, tickMarks } from '../lib/axis.js';

/** @typedef {import('../lib/routes').PropagationAnswer} PropagationAnswer */
/** @typedef {import('../lib/routes').DevicePhase} DevicePhase */

/** Size of the ribbons' drawing, in units of its own: it is stretched to the width of the strips. */
const DRAWING_WIDTH = 1000;
const DRAWING_HEIGHT = 280;
const MAX_LEGEND_PHASES = 12;
/** More runs have a strip per phase: their ribbons would cover each other. */
const MAX_RIBBON_RUNS = 60;
/** The reason why an annotation is lost is written below phases wider than this, as a share of the strip. */
const MIN_PHASE_WIDTH = 0.09;
/** Width of such a reason, as a share of the strip. */
const REASON_WIDTH = 0.17;

/** A scale from times to shares of the width. @param {number} from @param {number} to */
export const axisOf = (from, to) => (/** @type {number} */ ps) => (ps - from) / Math.max(1, to - from);

/**
 * Both ends of each run on an axis of the device's work, without idle time, as shares of the width.
 * @param {Pick<DevicePhase, 'device_ps'>[]} runs
 */
export function workSpans(runs) {
  const workAt = axisOf(0, total(runs, 'device_ps'));
  let end_ps = 0;
  return runs.map(({ device_ps }) => [workAt(end_ps), workAt((end_ps += device_ps))]);
}

/**
 * Both ends of each ribbon, as shares of the width. A phase on the host is divided among its ribbons by device time.
 * @param {Pick<PropagationAnswer, 'phase_rows'|'ribbons'>} answer
 * @param {(ps: number) => number} hostAt
 */
export function ribbonShapes({ phase_rows: { host, device }, ribbons }, hostAt) {
  const deviceSpans = workSpans(device);
  /** Device time of all ribbons of a host phase, by its index. @type {Record<number, number>} */
  const totals_ps = {};
  for (const ribbon of ribbons) {
    totals_ps[ribbon.host] = (totals_ps[ribbon.host] ?? 0) + device[ribbon.device].device_ps;
  }
  /** Device time of those ribbons that are placed already. @type {Record<number, number>} */
  const used_ps = {};
  return ribbons.map((ribbon) => {
    const [from, to] = [host[ribbon.host], device[ribbon.device]];
    const before = used_ps[ribbon.host] ?? 0;
    used_ps[ribbon.host] = before + to.device_ps;
    const along = (/** @type {number} */ ps) =>
      hostAt(from.start_ps + ((from.end_ps - from.start_ps) * ps) / Math.max(1, totals_ps[ribbon.host]));
    return {
      ...ribbon,
      from: [along(before), along(before + to.device_ps)],
      to: deviceSpans[ribbon.device],
    };
  });
}

/**
 * The interval that the host strip covers: the step or, if phases start outside it, the interval of the step's
 * annotation. A step that the host hands over lasts as long as its device work, so its phases may start before it.
 * @param {Pick<PropagationAnswer, 'tree'|'step'|'phase_rows'>} answer
 * @returns {[from: number, to: number]}
 */
export function hostInterval({ tree, step, phase_rows: { host } }) {
  if (!step) return [0, 0];
  const [begin, end] = [step.start_ps, step.start_ps + step.duration_ps];
  const isInStep = host.every(({ start_ps }) => start_ps >= begin && start_ps < end);
  const [from, to] = isInStep ? [begin, end] : (tree.find(({ path }) => path === step.name)?.host_interval ?? []);
  return [minimum(host.map(({ start_ps }) => start_ps), from), maximum(host.map(({ end_ps }) => end_ps), to)];
}

/** The SVG path of a ribbon. @param {ReturnType<typeof ribbonShapes>[number]} shape */
function ribbonPath({ from, to }) {
  const [a, b, c, d] = [...from, ...to].map((part) => (part * DRAWING_WIDTH).toFixed(2));
  const middle = DRAWING_HEIGHT / 2;
  return `M${a} 0C${a} ${middle} ${c} ${middle} ${c} ${DRAWING_HEIGHT}H${d}C${d} ${middle} ${b} ${middle} ${b} 0Z`;
}

/**
 * @param {PropagationAnswer} answer
 * @param {object} on
 * @param {(phase: number) => number} on.tone
 * @param {(phase: number) => void} on.phase
 * @param {(run: number) => void} on.run called with the index of the run
 * @param {() => void} on.leave called when a piece of a strip loses the focus
 */
export function createOrder(answer, on) {
  const { phases, phase_rows: strips, unannotated, order } = answer;
  // Ops with the step's own scope have a scope but no phase.
  const noPhaseName =
    total(strips.device, ({ phase, device_ps }) => (phase === null ? device_ps : 0)) > unannotated.step_device_ps
      ? 'no phase'
      : 'no scope';
  const hostAt = axisOf(...hostInterval(answer));
  const deviceSpans = workSpans(strips.device);
  const length = total(strips.device, 'device_ps');
  const isByPhase = !answer.ribbons.length || order.runs > MAX_RIBBON_RUNS;
  const nameOf = (/** @type {number|null} */ phase) => {
    if (phase === null) return noPhaseName;
    const { name, repetition } = phases[phase];
    return repetition ? `${name} ${repetition + 1}` : name;
  };
  const lossReason = (/** @type {number|null} */ phase) => (phase === null ? null : phases[phase].lost);

  /**
   * @param {string} kind
   * @param {number|null} phase
   * @param {string} text
   * @param {string} title
   * @param {number} from
   * @param {number} to
   * @param {() => void} open
   */
  const piece = (kind, phase, text, title, from, to, open) => axisSlice(`piece ${kind}`, text, title, from, to, open,
    phase === null ? {} : fillColors(toneColor(on.tone(phase))), { tabindex: -1 });
  const host = strips.host.map(({ phase, name, start_ps, end_ps }) =>
    piece(
      phase === null ? 'plain' : '',
      phase,
      name,
      `${name}: host ${timeText(end_ps - start_ps)}${lossReason(phase) ? `, lost: ${lossReason(phase)}` : ''}`,
      hostAt(start_ps),
      hostAt(end_ps),
      () => {
        if (phase !== null) on.phase(phase);
      },
    ),
  );
  // A lost annotation has a dashed line instead of a ribbon, with the reason if there is space.
  const stubs = strips.host
    .filter(({ phase }) => lossReason(phase))
    .map(({ phase, start_ps, end_ps }) => ({
      left: hostAt((start_ps + end_ps) / 2),
      text: hostAt(end_ps) - hostAt(start_ps) > MIN_PHASE_WIDTH ? `lost: ${lossReason(phase)}` : '',
    }))
    .map(({ left, text }, index, allStubs) =>
      h(
        'span',
        { class: 'stub', style: { left: percent(left) } },
        text && (allStubs[index + 1]?.left ?? 1) - left > REASON_WIDTH ? h('span', null, text) : null,
      ),
    );
  const device = strips.device.map((run, index) =>
    piece(
      run.phase === null ? 'of-bare' : isByPhase && run.inverted ? 'inverted' : '',
      run.phase,
      run.phase === null || isByPhase ? '' : nameOf(run.phase),
      `${nameOf(run.phase)}: device ${timeText(run.device_ps)}, ${plural(run.ops, 'op')}` +
      `${run.inverted ? ', ▼ inverted' : ''}${run.merged > 1 ? `, ${run.merged} runs` : ''}`,
      deviceSpans[index][0],
      deviceSpans[index][1],
      () => on.run(index),
    ),
  );
  const marks = strips.device.map(({ inverted }, index) =>
    inverted && h('i', { style: { left: percent((deviceSpans[index][0] + deviceSpans[index][1]) / 2) } }, '▼'));

  const shapes = ribbonShapes(answer, hostAt).sort((a, b) => Number(a.inverted) - Number(b.inverted));
  const ribbons = shapes.map((shape) => {
    const d = ribbonPath(shape);
    return svg(
      'g',
      {
        class: shape.inverted ? 'ribbon inverted' : 'ribbon',
        style: { '--k': `var(--${toneColor(on.tone(Number(strips.device[shape.device].phase)))})` },
        onclick: () => on.run(shape.device),
      },
      svg('title', null, device[shape.device].title),
      svg('path', { d }),
      shape.inverted && svg('path', { d, class: 'hatched' }),
    );
  });
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${DRAWING_WIDTH} ${DRAWING_HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg(
      'pattern',
      { id: 'ribbon-hatch', width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      svg('path', { d: 'M0 0V7', class: 'hatch-line' }),
    ),
    ribbons,
  );

  /** @param {((shape: typeof shapes[number]) => boolean)|null} isHighlighted */
  function highlightShapes(isHighlighted) {
    picture.classList.toggle('highlighting', isHighlighted !== null);
    ribbons.forEach((ribbon, index) => ribbon.classList.toggle('on', isHighlighted?.(shapes[index]) ?? false));
  }

  const focus = (/** @type {Element|null} */ target) => /** @type {HTMLElement|null} */ (target)?.focus();

  /**
   * A strip of pieces: one Tab stop; arrow keys move within it.
   * @param {HTMLButtonElement[]} pieces @param {string} label
   */
  function lane(pieces, label) {
    if (pieces[0]) pieces[0].tabIndex = 0;
    const element = h('div', { class: 'piece-lane', role: 'group', 'aria-label': label }, pieces);
    // Focus highlights ribbons as the pointer does.
    element.addEventListener('focusin', ({ target }) =>
      highlightShapes((shape) => host[shape.host] === target || device[shape.device] === target),
    );
    element.addEventListener('focusout', on.leave);
    onKeys(element, '*', {
      ArrowRight: (from) => focus(from.nextElementSibling),
      ArrowLeft: (from) => focus(from.previousElementSibling),
    });
    return element;
  }
  /** @type {Map<string, number>} */
  const legendTones = new Map(
    strips.host.flatMap(({ phase, name }) => (phase === null ? [] : [[name, on.tone(phase)]])),
  );
  const ofDevice = isByPhase
    ? (order.runs ? order.by_phase : [{ phase: null }]).map(({ phase }) => [
        nameOf(phase),
        '',
        lane(device.filter((_, index) => strips.device[index].phase === phase), `Runs of ${nameOf(phase)}`),
      ])
    : [
        ['', '', h('div', { class: 'ribbons' }, picture, stubs)],
        ['device', 'as run', lane(device, 'Runs of phases on the device')],
        ['', '', h('div', { class: 'marks', 'aria-hidden': 'true' }, marks)],
      ];
  const rows = [
    ['host', 'in order', lane(host, 'Phases on the host')],
    ...ofDevice,
    ['', '', h('div', { class: 'ticks-line', 'aria-hidden': 'true' }, tickMarks(length, unitFor(length)))],
    [
      '',
      '',
      legend(
        [
          ...[...legendTones].slice(0, MAX_LEGEND_PHASES).map(([name, tone]) => [chip(toneColor(tone)), name]),
          ...[
            ['in order', ''],
            ['inverted: runs after a later phase has started', 'inverted'],
            [noPhaseName, 'of-bare'],
          ].map(([text, className]) => [chip('a1', `ribbon-chip ${className}`), text]),
        ],
        { 'aria-hidden': 'true' },
      ),
    ],
  ];

  return {
    nameOf,
    length,
    titleOf: (/** @type {number} */ run) => device[run].title,
    element: h(
      'div',
      { class: isByPhase ? 'order by-phase' : 'order', 'data-testid': 'order-strip' },
      rows.flatMap(([label, note, row]) => [h('span', null, label, h('small', null, note)), row]),
    ),
    /**
     * Highlights the ribbons of the runs that a predicate selects; null highlights none.
     * @param {((phaseRun: DevicePhase, run: number) => boolean)|null} isHighlighted
     */
    highlight: (isHighlighted) =>
      highlightShapes(isHighlighted && (({ device: run }) => isHighlighted(strips.device[run], run))),
    /** Marks the selected phase or run as pressed. @param {number|null} phase @param {number} run */
    mark(phase, run) {
      host.forEach((button, index) =>
        button.setAttribute('aria-pressed', String(phase !== null && strips.host[index].phase === phase)),
      );
      device.forEach((button, index) =>
        button.setAttribute(
          'aria-pressed',
          String(run < 0 ? phase !== null && strips.device[index].phase === phase : index === run),
        ),
      );
    },
  };
}
