/** One usual step of a core on an axis: what it consists of, and how short fixes make it. */

import { h, percent } from '../lib/dom.js';
import { chip } from '../lib/classes.js';
import { niceLength, tickMarks } from '../lib/axis.js';
import { card, link, rung, rungAxis, stackedBar, windowLinkState } from '../lib/cards.js';
import { digits, share, timeText, unitFor } from '../lib/format.js';
import { total } from '../lib/totals.js';
import { roundParts } from '../lib/rounded-parts.js';

/** @typedef {import('../lib/routes').Overview} Overview */
/** @typedef {NonNullable<Overview['one_step']>} OneStep */
/** @typedef {OneStep['parts'][number]} StepPart */
/** @typedef {OneStep['rungs'][number]} Rung */
/** @typedef {import('../frame/app.js').App} App */

/** Times of the sum are multiples of this share of their unit. */
const SUM_DECIMALS = 1;

/** The colour and the texture of a part. @param {StepPart} part @returns {[color: string, texture: string]} */
function lookOf({ kind, name }) {
  if (kind === 'idle') return [`c-${name}`, `k-${name}`];
  if (kind === 'computing') return ['dev', ''];
  if (kind === 'collective') return ['dev-coll', ''];
  if (kind === 'short_gaps') return ['surface', ''];
  return ['c-wait', 'k-wait'];
}

/**
 * The card, null where nothing can be said of a step.
 * @param {Overview} answer
 * @param {App} app
 */
export function oneStepCard(answer, app) {
  const { one_step, steps: { columns }, partial } = answer;
  if (!one_step) return null;
  const { per, now_ps, once_ps, parts, rungs } = one_step;
  const mean_ps = now_ps + once_ps;
  const axis_ps = niceLength(mean_ps);
  const unit = unitFor(now_ps);
  const time = (/** @type {number} */ ps) => timeText(ps, SUM_DECIMALS);
  /** A piece of a bar from one time to another. @param {string} className @param {number} from @param {number} to */
  const piece = (className, from, to) =>
    h('i', { class: className, style: { left: percent(from / axis_ps), width: percent((to - from) / axis_ps) } });
  return card(
    per === 'step' ? 'One step' : 'One second',
    { note: 'of a core: what it consists of, and how short it can become', class: 'one-step' },
    h(
      'div',
      { class: 'ladder', role: 'list', 'data-testid': 'ladder' },
      rung(
        usualStepLink(now_ps, columns, app),
        time(now_ps),
        [partsBar(parts, 'ps', 0, axis_ps), partsBar(parts, 'once_ps', now_ps, axis_ps)],
        once_ps > 0 && !partial ? `+ ${digits(once_ps / unit.ps, SUM_DECIMALS)} once = ${time(mean_ps)}` : '',
        'ladder-now',
      ),
      // The gains are unknown until all hosts are read.
      (partial ? [] : rungs).map((fix) =>
        rung(
          fix.finding ? link(fix.label, () => app.open({ v: '', sel: `fin:${fix.finding}` })) : fix.label,
          rungTime(fix),
          [
            piece('solid', 0, fix.best_ps),
            fix.worst_ps > fix.best_ps && piece('uncertain', fix.best_ps, Math.min(fix.worst_ps, now_ps)),
            piece('ghost', Math.min(fix.worst_ps, now_ps), now_ps),
          ],
          rungNote(fix, answer),
          `ladder-${fix.kind === 'pace' ? (fix.finding ?? fix.kind) : fix.kind}`,
        ),
      ),
      rungAxis(tickMarks(axis_ps, unit, 'run-tick')),
    ),
    sumLine(parts, now_ps, per),
  );

  /** `221.4 ms`, or `5.0 – 6.7 ms` if it is uncertain. @param {Rung} rung */
  function rungTime({ best_ps, worst_ps }) {
    return best_ps === worst_ps
      ? time(best_ps)
      : `${digits(best_ps / unit.ps, SUM_DECIMALS)} – ${digits(worst_ps / unit.ps, SUM_DECIMALS)}\u202f${unit.name}`;
  }
}

/** `−8.8 % · finding 3`; without a finding if it is about several. @param {Rung} rung @param {Overview} answer */
function rungNote({ kind, text, finding }, { findings, mistakes }) {
  const rank = findings.findIndex(({ id }) => id === finding) + 1;
  return rank && (kind !== 'fixed' || mistakes.count < 2) ? `${text} · finding ${rank}` : text;
}

/**
 * Opens a step of about the usual length in the timeline.
 * @param {number} now_ps
 * @param {import('../lib/routes').StepColumns} columns
 * @param {App} app
 */
function usualStepLink(now_ps, { start_ps, duration_ps }, app) {
  const distances = duration_ps.map((duration) => Math.abs(duration - now_ps));
  const at = distances.indexOf(Math.min(...distances));
  return at < 0
    ? 'now'
    : link('now', () => app.open(windowLinkState(start_ps[at], start_ps[at] + duration_ps[at])), {
        title: 'A step of this length in the timeline',
      });
}

/**
 * Parts side by side from an instant on; what happened once is dashed and pale.
 * @param {StepPart[]} parts
 * @param {'ps'|'once_ps'} key
 * @param {number} from_ps @param {number} axis_ps
 */
function partsBar(parts, key, from_ps, axis_ps) {
  return stackedBar(
    parts.map((part) => ({
      ps: part[key],
      look: lookOf(part),
      // What happened once has pale colours and no label.
      label: key === 'ps' && part.label,
      title: `${part.label} ${timeText(part[key])}, ${share(part[key] / total(parts, 'ps'))}`,
    })),
    axis_ps,
    from_ps,
    key === 'ps' ? { 'data-testid': 'one-step' } : { class: 'stack once', 'data-testid': 'one-step-once' },
  );
}

/**
 * The parts in words, which add up to the step as they are printed.
 * @param {StepPart[]} parts
 * @param {number} now_ps
 * @param {OneStep['per']} per
 */
function sumLine(parts, now_ps, per) {
  const unit = unitFor(now_ps);
  const quantum = unit.ps / 10 ** SUM_DECIMALS;
  const shown = parts.filter(({ ps }) => ps > 0);
  const rounded = roundParts(shown.map(({ ps }) => ps), quantum);
  const text = (/** @type {number} */ quanta) => digits(quanta / 10 ** SUM_DECIMALS, SUM_DECIMALS);
  const small = shown.filter((_, index) => !rounded[index]);
  return h(
    'p',
    { class: 'legend', 'data-testid': 'one-step-sum' },
    shown.flatMap((part, index) =>
      rounded[index] ? [h('span', null, chip(...lookOf(part)), `${part.label} ${text(rounded[index])}`)] : [],
    ),
    small.length > 0 && h('span', null, `${small.map(({ label }) => label).join(', ')} ${text(0)}`),
    h('b', null, `= a usual ${per} ${text(total(rounded, Number))}\u202f${unit.name}`),
  );
}
