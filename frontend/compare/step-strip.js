/**
 * The usual step of two sessions on one axis: annotations, what the host did, runs of the first device, its idle time.
 */

import { h, percent } from '../lib/dom.js';
import { LABELS, inked } from '../lib/classes.js';
import { windowPlace } from '../lib/cards.js';
import { headline, timeText, unitFor } from '../lib/format.js';
import { axisGrid, axisLane, axisSlice } from '../lib/axis.js';
import { maximum } from '../lib/totals.js';

/** @typedef {import('./types').UsualStep} UsualStep */
/** @typedef {import('./types').Span} Span */

/** `step 1208 · 243.2 ms` @param {UsualStep} step */
const stepText = ({ number, duration_ps }) =>
  [...(number === null ? [] : [`step ${number}`]), headline(duration_ps)].join(' · ');

/**
 * @param {[string, UsualStep|null][]} sides names and steps
 * @param {(which: string, place: import('../lib/link.js').LinkState) => void} open a place in the session of that name
 */
export function stepStrip(sides, open) {
  const whole = maximum(sides.map(([, step]) => step?.duration_ps ?? 1)) * 1.08;
  const unit = unitFor(whole);
  const order = [...new Set(sides.flatMap(([, step]) => step?.phases.map(({ name }) => name) ?? []))];
  const rank = (/** @type {string} */ name) => 1 + Math.floor((order.indexOf(name) * 6) / Math.max(6, order.length));

  /** @param {string} sessionName @param {UsualStep} step */
  function lanes(sessionName, step) {
    const end = step.start_ps + step.duration_ps;
    /**
     * @param {Span} span
     * @param {string} key of its colours
     * @param {string} text
     * @param {string} [sign]
     * @param {boolean} [timed]
     */
    const mark = (span, key, text, sign, timed) => {
      const from = Math.max(span.start_ps, step.start_ps);
      const until = Math.min(span.start_ps + span.duration_ps, end);
      const title = `${text}, ${timeText(span.duration_ps)}`;
      return axisSlice(
        `run tone ${sign ?? ''}`,
        timed ? title : text,
        title,
        (from - step.start_ps) / whole,
        (until - step.start_ps) / whole,
        1 / 18,
        () => open(sessionName, windowPlace(span.start_ps, span.start_ps + span.duration_ps)),
        inked(key),
      );
    };
    return [
      h('b', { class: 'run-label' }, sessionName),
      h('span', { class: 'step-end', style: { left: percent(step.duration_ps / whole) } }, stepText(step)),
      axisLane(
        'annotations',
        step.phases.map((span) => mark(span, `p${rank(span.name)}`, span.name)),
      ),
      axisLane(
        'host',
        step.host.map((span) => mark(span, `c-${span.class}`, LABELS[span.class], `k-${span.class}`)),
      ),
      axisLane(
        'device',
        step.runs.length
          ? step.runs.map((span) =>
              mark(span, 'dev', span.start_ps < step.start_ps ? 'run of the step before' : span.program, '', true),
            )
          : [h('span', { class: 'sec small' }, 'no run in the time of this step')],
      ),
      axisLane(
        'idle',
        step.gaps.map((span) => mark(span, `c-${span.cause}`, 'idle', `k-${span.cause}`, true)),
      ),
    ].flat();
  }

  return h('div', { class: 'axis', 'data-testid': 'compare-strip' },
    axisGrid(whole, unit), sides.flatMap(([which, step]) => (step ? lanes(which, step) : [])));
}
