/** The executions of one step on one axis: the host's call until it is complete, the device's run, idle between. */

import { button, fill, h, labelledSelect } from '../lib/dom.js';
import { card, cores, deviceName, windowPlace } from '../lib/cards.js';
import { digits, MISSING, timeText, unitFor } from '../lib/format.js';
import { axisGrid, axisLane, axisSlice } from '../lib/axis.js';
import { rowsOf } from '../overview/step-data.js';
import { stackSpans } from './costs.js';
import { maximum, minimum } from '../lib/totals.js';

/**
 * @typedef {object} Run
 * @property {string} device
 * @property {number} start_ps
 * @property {number} duration_ps
 * @property {string} program
 * @property {number|null} launch_start_ps
 * @property {number} host_ps
 * @property {number} queue_ps
 * @property {number} overhead_ps
 * @property {number|null} lead_ps
 * @property {string} join
 */

const HOST_ROWS = 4;

/** @param {import('../frame/app.js').App} app @param {(step: number) => void} go another step, by its index */
export function createRunStrip(app, go) {
  const element = h('div', { class: 'strip-place' });
  let device = '';

  /** @param {import('../lib/routes').Executions} answer @param {import('../lib/types').Ready} session */
  function draw(answer, session) {
    /** @type {Run[]} */
    const allRuns = rowsOf({ ...answer.runs });
    const used = new Set(allRuns.map((run) => run.device));
    const devices = session.devices.map(({ id }) => id).filter((id) => used.has(id));
    if (!devices.includes(device)) [device = ''] = devices;
    const runs = allRuns.filter((run) => run.device === device).sort((a, b) => a.start_ps - b.start_ps);
    const { step } = answer;
    const host = session.devices.find(({ id }) => id === device)?.host;
    const nameOf = (/** @type {string} */ id) => {
      const item = session.devices.find((candidate) => candidate.id === id);
      return item ? deviceName(item, session.session.hosts) : id;
    };
    const ask = (/** @type {number} */ by) =>
      button(by < 0 ? '‹' : '›', () => go((step ?? 0) + by), {
        class: 'small-button',
        'aria-label': by < 0 ? 'Previous step' : 'Next step',
        disabled: (step ?? 0) + by < 0 || (step ?? 0) + by >= answer.steps.length,
      });
    fill(
      element,
      card(
        'One step, execution by execution',
        {
          note: runs.length ? 'same axis, from the step’s first execute call' : null,
          right: [
            devices.length > 1
              ? labelledSelect(
                  'device',
                  devices.map((id) => [id, nameOf(id)]),
                  device,
                  (id) => {
                    device = id;
                    draw(answer, session);
                  },
                )
              : null,
            ...(step == null
              ? []
              : [
                  ask(-1),
                  h(
                    'span',
                    { class: 'sec', 'data-testid': 'execution-step' },
                    `step ${answer.steps[step] ?? step}` +
                    `${host && session.session.hosts.length > 1 ? ` on ${host}` : ''}`,
                  ),
                  ask(1),
                ]),
          ],
        },
        h(
          'div',
          { class: 'axis', 'data-testid': 'executions-strip' },
          runs.length
            ? axis(runs)
            : h(
                'p',
                { class: 'sec' },
                devices.length > 1 ? `No run on ${cores(1)}.` : 'No execution belongs to this step.',
              ),
        ),
      ),
    );
  }

  /** @param {Run[]} runs */
  function axis(runs) {
    const begin = minimum(runs.map(({ launch_start_ps, start_ps }) => Math.min(launch_start_ps ?? start_ps, start_ps)));
    const end = maximum(
      runs.map((run) => Math.max(run.start_ps + run.duration_ps, (run.launch_start_ps ?? run.start_ps) + run.host_ps)),
    );
    const whole = Math.max(1, end - begin);
    const unit = unitFor(whole);
    /**
     * @param {string} sign
     * @param {number} from
     * @param {number} to
     * @param {string} text
     * @param {string} title
     * @param {number} [row]
     */
    const slice = (sign, from, to, text, title, row = 0) =>
      axisSlice(
        `run ${sign}`,
        text,
        title,
        (from - begin) / whole,
        (to - begin) / whole,
        1 / 40,
        () => app.open(windowPlace(from, to)),
        { top: `${row * 20 + 1}px` },
      );
    const calls = runs
      .filter((run) => run.launch_start_ps !== null)
      .sort((a, b) => (a.launch_start_ps ?? 0) - (b.launch_start_ps ?? 0));
    const spans = calls.map((run) => ({
      start: run.launch_start_ps ?? 0,
      end: (run.launch_start_ps ?? 0) + run.host_ps,
    }));
    const rows = stackSpans(spans, HOST_ROWS);
    const host = calls.map((run, index) => {
      const { start, end: until } = spans[index];
      const title = `${run.program}: host ${timeText(run.host_ps)} = device ${timeText(run.duration_ps)} + queue ` +
        `${timeText(run.queue_ps)} + overhead ${timeText(run.overhead_ps)}`;
      return slice('call', start, until, run.program, title, rows[index]);
    });
    const work = runs.map((run) => {
      const text = `${run.program} ${digits(run.duration_ps / unit.ps, 3)}`;
      return slice(
        'work tone',
        run.start_ps,
        run.start_ps + run.duration_ps,
        text,
        `${text}\u202f${unit.name} on the device`,
      );
    });
    const idle = runs.slice(1).flatMap((run, index) => {
      const from = runs[index].start_ps + runs[index].duration_ps;
      return run.start_ps > from
        ? [slice('rest', from, run.start_ps, timeText(run.start_ps - from), `idle ${timeText(run.start_ps - from)}`)]
        : [];
    });
    return [
      axisGrid(whole, unit),
      ...axisLane(
        'host',
        host,
        maximum(
          rows.map((row) => row + 1),
          1,
        ),
      ),
      ...axisLane('device', work),
      ...axisLane('idle', idle),
      h('span', { class: 'run-label' }),
      h(
        'p',
        { class: 'small muted' },
        'host: execute call to completion · device: the program’s run · idle: between runs',
        calls.length < runs.length && ` · ${MISSING} calls of ${runs.length - calls.length} runs are not known`,
      ),
    ];
  }

  return { element, draw };
}
