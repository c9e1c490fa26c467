/** The findings card: the findings in the report's order, with gain, evidence, advice and a link. */

import { button, h } from '../lib/dom.js';
import { card, gapLinkState, severityRank, severityTag, windowLinkState } from '../lib/cards.js';
import { plural, timeText } from '../lib/format.js';
import { escapeItem } from '../lib/link.js';
import { groupBy } from '../lib/totals.js';

/** @typedef {import('../lib/routes').Finding} Finding */
/** @typedef {import('../lib/routes').Overview} Overview */
/** @typedef {import('../frame/app.js').App} App */

/** The view that shows a finding without a place in the timeline: Gaps by default. @type {Record<string, string>} */
const VIEWS_WITHOUT_PLACE = {
  recompilation: 'Compiles',
  many_small_executions: 'Executions',
  dispatch_overhead: 'Executions',
  transfer_bound: 'Executions',
  graph_breaks: 'Executions',
  straggler: 'Hosts',
};
/** Findings about ops of all steps: Device shows them, also if they have places. */
const OPS_FINDINGS = ['device_bound', 'below_roofline'];
const LOST_ANNOTATIONS = 'annotations_not_propagated';
/** A longer gain takes two lines. */
const MAX_GAIN_LETTERS = 35;
/** Findings about busy time: their windows are ops or waits for a host, not gaps. */
const BUSY_TIME_FINDINGS = ['straggler', 'device_copies', 'device_waits', 'host_callback'];

/**
 * Link state that shows one place of a finding: a gap that it explains, otherwise its window. That is a gap if it has a
 * device and the finding is not about busy time; for lost annotations it is shown in Propagation at its step.
 * @param {Finding} finding
 * @param {Pick<Overview, 'explained_gaps'> & {steps: {columns: import('../lib/routes').StepColumns}}} answer
 * @param {number} [placeIndex]
 */
export function findingLinkState({ id, windows }, { explained_gaps, steps: { columns } }, placeIndex = 0) {
  const gap = explained_gaps[id]?.gaps[placeIndex];
  if (gap) return { ...gapLinkState(gap), fi: id };
  const { device, start_ps: from, end_ps } = windows[placeIndex];
  const state = windowLinkState(from, end_ps);
  if (id === LOST_ANNOTATIONS) return { v: 'propagation', sel: state.sel, st: stepName(columns, from) };
  // With several hosts, the link opens the device's row: a window has no host.
  if (!device || BUSY_TIME_FINDINGS.includes(id)) {
    return device && new Set(columns.host).size > 1 ? { ...state, x: escapeItem(device) } : state;
  }
  return gapLinkState({ device, start_ps: from, duration_ps: end_ps - from });
}

/**
 * The number of the step at an instant, or its index if it has none; empty between steps.
 * @param {import('../lib/routes').StepColumns} columns
 * @param {number} at_ps
 */
function stepName({ index, start_ps, duration_ps, number }, at_ps) {
  const row = start_ps.findIndex((start, step) => start <= at_ps && at_ps < start + duration_ps[step]);
  return row < 0 ? '' : String(number[row] ?? index[row]);
}

/**
 * Link state of the ops that a finding is about, in the mean step of all devices.
 * @param {Finding} finding
 * @param {Overview} answer
 */
export function opsLinkState({ evidence }, { steps, devices }) {
  const { annotation, op } = /** @type {{annotation?: string|null, op?: string}} */ (
    /** @type {unknown[]} */ (evidence.places)?.[0] ?? evidence
  );
  return {
    v: 'device',
    dd: devices.host.length > 1 ? 'all' : '',
    st: steps.count > 1 ? 'mean' : '',
    an: annotation ?? '',
    op: op ?? '',
    f: '',
  };
}

/** @param {Overview} answer @param {App} app */
export function findingsCard(answer, app) {
  const { findings, groups, partial } = answer;
  const counts = [...groupBy(findings, 'severity')]
    .sort(([a], [b]) => severityRank(a) - severityRank(b))
    .map(([severity, { length }]) => plural(length, severity, severity === 'warning' ? undefined : severity))
    .join(' · ');
  const findingById = new Map(findings.map((finding) => [finding.id, finding]));
  return card(
    'Findings',
    { note: counts, class: 'findings' },
    h(
      'div',
      { 'data-testid': 'findings' },
      groups.length
        ? groups.flatMap(({ title, note, gain: groupGain, findings: gains }) => [
            h(
              'div',
              { class: 'finding-group', 'data-testid': `finding-group-${title.toLowerCase()}` },
              h('h3', null, title),
              note,
              !partial && groupGain && h('span', null, groupGain),
            ),
            h(
              'ol',
              null,
              gains.map((gain) => {
                const finding = /** @type {Finding} */ (findingById.get(gain.id));
                return findingItem(finding, findings.indexOf(finding) + 1, gain, answer, app);
              }),
            ),
          ])
        : h('p', null, partial ? 'No findings so far.' : 'No findings.'),
    ),
  );
}

/**
 * @param {Finding} finding
 * @param {number} rank from 1, as in all views and in the terminal
 * @param {import('../lib/views').Gain} gain
 * @param {Overview} answer
 * @param {App} app
 */
function findingItem(finding, rank, gain, answer, app) {
  const { id, severity, title, detail, advice, cost_ps } = finding;
  return h(
    'li',
    { 'data-testid': `finding-${id}` },
    h(
      'h3',
      null,
      h('span', { class: 'rank' }, String(rank)),
      severityTag(severity),
      h('span', { class: `tag ${gain.tag}` }, gain.tag),
      h('span', null, title),
    ),
    // The gain is unknown until all hosts are read.
    !answer.partial &&
      h(
        'span',
        {
          class: `${gain.share}${gain.basis}${gain.change}`.length > MAX_GAIN_LETTERS ? 'gain stacked' : 'gain',
          'data-testid': 'finding-gain',
          title: cost_ps
            ? `The gain at best. Cost: ${timeText(cost_ps, 1)}, all cores.`
            : null,
        },
        gain.share
          ? [
              h('b', null, gain.share),
              ' ',
              h('span', { 'data-term': gain.basis.replace(/^of (a )?/, '') }, gain.basis),
              ' ',
              h('small', null, gain.change),
            ]
          : h('small', null, gain.basis),
      ),
    h('p', null, detail),
    h('p', { class: 'advice', 'data-testid': 'finding-do' }, h('b', null, 'Do: '), advice),
    h('div', { class: 'row' }, showButton(finding, answer, app)),
  );
}

/** Marks the linked finding and scrolls it into view. @param {Element} element @param {App} app */
export function markLinked(element, { link }) {
  const linked = /^fin:(.+)$/.exec(link.state.sel ?? '')?.[1];
  for (const item of element.querySelectorAll('.findings li')) {
    const isLinked = item.getAttribute('data-testid') === `finding-${linked}`;
    if (!isLinked) item.removeAttribute('aria-current');
    else {
      item.setAttribute('aria-current', 'true');
      requestAnimationFrame(() => item.scrollIntoView({ block: 'nearest' }));
    }
  }
}

/**
 * The button that shows a finding: the longest of the gaps that it explains most, otherwise its first window. Each
 * click shows the next one, if there are several. Without a place, it opens a view.
 * @param {Finding} finding
 * @param {Overview} answer
 * @param {App} app
 */
function showButton(finding, answer, app) {
  const { id, windows } = finding;
  const gaps = answer.explained_gaps[id];
  const isAboutOps = OPS_FINDINGS.includes(id);
  const places = isAboutOps ? [] : (gaps?.gaps ?? windows);
  const view = isAboutOps ? 'Device' : (VIEWS_WITHOUT_PLACE[id] ?? 'Gaps');
  /** Index of the place that the next click shows. */
  let next = 0;
  const label = () => {
    if (!places.length) return `Show in ${view}`;
    const step = stepName(answer.steps.columns, places[next].start_ps);
    const place = step ? ` in step ${step}` : '';
    return `Show${place}${places.length > 1 ? `, ${next + 1} of ${places.length}` : ''}`;
  };
  const show = button(
    label(),
    () => {
      if (isAboutOps) return app.open(opsLinkState(finding, answer));
      if (!places.length) return app.open({ v: view.toLowerCase(), sel: '', f: '' });
      const state = findingLinkState(finding, answer, next);
      next = (next + 1) % places.length;
      show.textContent = label();
      app.open(state);
    },
    {
      class: 'small-button',
      'data-testid': 'finding-show',
      title: gaps && `${plural(gaps.count, 'gap')} that it explains; first the longest of those that it explains most`,
    },
  );
  return show;
}
