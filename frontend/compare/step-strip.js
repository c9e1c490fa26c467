/**
 * The steps of median length of two sessions on one axis: annotations, classes of the host, and runs and gaps of the
 * first device until the last run that the step launched. A session with several hosts is represented by a step of its
 * median host.
 */

import { annotationTones, toneColor } from '../lib/annotation-tones.js';
import { h, percent } from '../lib/dom.js';
import { LABELS, fillColors } from '../lib/classes.js';
import { shortProgram, windowLinkState } from '../lib/cards.js';
import { headlineTime, timeText, unitFor } from '../lib/format.js';
import { axisGrid, axisLane, axisSlice, fittingText } from '../lib/axis.js';
import { maximum } from '../lib/totals.js';

/** @typedef {import('../lib/routes').DefaultStep} DefaultStep */
/** @typedef {Pick<import('../lib/routes').StepRun, 'start_ps'|'duration_ps'>} StepInterval */

/** Length of the axis over that of the longer step, so that the line at the step's end is visible. */
const AXIS_LENGTH_FACTOR = 1.08;

/** `step 1208 · 243.2 ms` @param {DefaultStep} step */
const stepText = ({ number, duration_ps }) =>
  [...(number === null ? [] : [`step ${number}`]), headlineTime(duration_ps)].join(' · ');

/** The end of the step, or of the last run that it launched. @param {DefaultStep} step */
const endOf = ({ start_ps, duration_ps, runs }) =>
  maximum(
    runs.filter(({ is_own }) => is_own).map((span) => span.start_ps + span.duration_ps),
    start_ps + duration_ps,
  );

/**
 * @param {[string, DefaultStep|null][]} sides names and steps
 * @param {(name: string, state: import('../lib/link.js').LinkState) => void} open shows a window of that session
 */
export function stepStrip(sides, open) {
  const length = maximum(sides.map(([, step]) => (step ? endOf(step) - step.start_ps : 1))) * AXIS_LENGTH_FACTOR;
  const unit = unitFor(length);
  const tones = annotationTones({
    '': [...new Set(sides.flatMap(([, step]) => step?.phases.map(({ name }) => name) ?? []))],
  });

  /** @param {string} sessionName @param {DefaultStep} step */
  function lanes(sessionName, step) {
    const end = endOf(step);
    /**
     * @param {StepInterval} span
     * @param {string} key of the slice's colours
     * @param {string} name
     * @param {{texts?: string[], pattern?: string}} [options] `texts`: the first one that fits is shown, by default the
     *   name; `pattern`: the CSS class of the hatching
     */
    const slice = (span, key, name, { texts = [name], pattern = '' } = {}) => {
      const from = Math.max(span.start_ps, step.start_ps);
      const until = Math.min(span.start_ps + span.duration_ps, end);
      return axisSlice(
        `run tone ${pattern}`,
        fittingText(texts, (until - from) / length),
        `${name}, ${timeText(span.duration_ps)}`,
        (from - step.start_ps) / length,
        (until - step.start_ps) / length,
        () => open(sessionName, windowLinkState(span.start_ps, span.start_ps + span.duration_ps)),
        fillColors(key),
      );
    };
    return [
      h('b', { class: 'run-label' }, sessionName),
      h(
        'span',
        {
          class: fittingText([stepText(step)], step.duration_ps / length) ? 'step-end' : 'step-end short',
          style: { left: percent(step.duration_ps / length) },
        },
        stepText(step),
      ),
      axisLane(
        'annotations',
        step.phases.map((span) => slice(span, toneColor(tones.get(span.name) ?? 0), span.name)),
      ),
      axisLane(
        'host',
        step.host.map((span) =>
          slice(span, `c-${span.class}`, LABELS[span.class], { pattern: `k-${span.class}` }),
        ),
      ),
      axisLane(
        step.device?.split('/').at(-1) ?? 'device',
        step.runs.length
          ? step.runs.map((span) => {
              const { program, is_own } = span;
              const time = timeText(span.duration_ps);
              return slice(span, 'dev', `${program}${is_own ? '' : ', launched by another step'}`, {
                texts: is_own
                  ? [`${program} ${time}`, `${shortProgram(program)} ${time}`, shortProgram(program)]
                  : [`of another step, ${time}`, 'of another step'],
                pattern: is_own ? '' : 'rest',
              });
            })
          : [h('span', { class: 'muted small lane-note' }, 'no run in this step')],
      ),
      axisLane(
        'idle',
        step.gaps.length
          ? step.gaps.map((span) =>
              slice(span, `c-${span.cause}`, `idle, ${LABELS[span.cause]}`, {
                texts: [timeText(span.duration_ps)],
                pattern: `k-${span.cause}`,
              }),
            )
          : [h('span', { class: 'muted small lane-note' }, 'no gap in this step')],
      ),
    ].flat();
  }

  return h('div', { class: 'axis', 'data-testid': 'compare-strip' },
    axisGrid(length, unit), sides.flatMap(([name, step]) => (step ? lanes(name, step) : [])),
    sides.some(([, step]) => step?.is_cut) && [
      h('span', { class: 'run-label' }),
      h(
        'p',
        { class: 'small muted' },
        'Of very many annotations or runs the first are drawn, of very many gaps the longest.',
      ),
    ]);
}
