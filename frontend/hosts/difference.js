/** The card that compares one host with the median host: time per step, by class. */

import { button, h, labelledSelect } from '../lib/dom.js';
import { classCell, tone } from '../lib/classes.js';
import { card } from '../lib/cards.js';
import { cutMiddle, difference, digits, UNITS } from '../lib/format.js';
import { maximum, total } from '../lib/totals.js';
import { table, timeColumn } from '../lib/table.js';
import { DEVICE, PS_PER_US, meanOf, stepName } from './rows.js';
import { classLabel, rangeName } from './verdict.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').ClassDifference} ClassDifference */
/** @typedef {import('./types').StepRange} StepRange */
/** @typedef {import('../lib/routes').ClassName} ClassName */

const MAX_HEAD_LETTERS = 9;

/**
 * A bar around a centre line: classes that take longer to the right, shorter ones to the left.
 * @param {ClassDifference[]} differences
 * @param {number} scale µs of one side's full width
 */
export function differenceBar(differences, scale) {
  const sides = [
    { name: 'left', differences: differences.filter(({ us }) => us < 0) },
    { name: '', differences: differences.filter(({ us }) => us > 0) },
  ];
  return h(
    'span',
    { class: 'centred-bar', 'aria-hidden': 'true' },
    sides.map((side) =>
      h(
        'span',
        { class: side.name },
        side.differences
          .sort((a, b) => Math.abs(b.us) - Math.abs(a.us))
          .map(({ name, us }) =>
            h('i', {
              ...tone(/** @type {ClassName} */ (name), { width: `${Math.min(100, (Math.abs(us) / scale) * 100)}%` }),
              title: `${classLabel(name)} ${difference(us / 1000, 3)}\u202fms`,
            }),
          ),
      ),
    ),
  );
}

/**
 * @param {HostsAnswer} document @param {HostRow[]} rows @param {number} host @param {StepRange|null} range
 * @param {(number[]|null)[]|null} stepTimes time by class of each step of the host, µs; null: not loaded yet
 * @param {HTMLElement} sentence on the difference
 * @param {{select: (host: number) => void, openTimeline: () => void, selectWorstStep: () => void}} on
 */
export function differenceCard(document, rows, host, range, stepTimes, sentence, on) {
  const { classes, class_us, median_host, order } = document;
  const row = rows[host];
  const hostSelect = labelledSelect(
    'host',
    order.map((index) => /** @type {[string, string]} */ ([String(index), rows[index].short])),
    String(host),
    (index) => on.select(Number(index)),
    'host-difference-select',
  );
  const title = range ? `${row.name} against the median` : 'This host against the median';
  const options = { note: range && rangeName(document.steps, range), right: hostSelect, class: 'difference' };
  if (median_host === null) {
    return withTestId(card(title, options, h('p', null, 'No steps to compare.')));
  }
  if (!range && !row.steps) {
    return withTestId(card(title, options, h('p', { class: 'secondary' }, `${row.name} has no steps.`)));
  }
  const medianRow = rows[median_host];
  const [hostTimes, medianTimes] = range
    ? [stepTimes && meanOf(stepTimes, range), meanOf(document.step_class_us[median_host] ?? [], range)]
    : [class_us[host], class_us[median_host]];
  if (!hostTimes || !medianTimes) {
    return withTestId(
      card(
        title,
        options,
        h(
          'p',
          { class: 'secondary' },
          stepTimes ? `${row.name} or ${medianRow.name} has no such step.` : 'The steps of this host are loading.',
        ),
      ),
    );
  }
  const items = classes.flatMap((name, index) => {
    const [host_us, median_us] = [hostTimes[index], medianTimes[index]];
    return name === DEVICE || !(host_us || median_us)
      ? []
      : [{ name, host_us, median_us, difference_us: host_us - median_us }];
  });
  const worstStep = document.hosts.worst_step[host];
  const scale = maximum(items.map(({ difference_us }) => Math.abs(difference_us)), 1);
  const sums = { host_us: total(items, 'host_us'), median_us: total(items, 'median_us') };
  /** @param {number} us */
  const signed = (us) => difference(us / 1000, 3);
  const cell = (/** @type {number} */ us, /** @type {string} */ text) => h('span', { 'data-ps': us * PS_PER_US }, text);
  /** @param {'host_us'|'median_us'} key @param {string} head */
  const column = (key, head) =>
    timeColumn(head, UNITS.ms, (/** @type {typeof items[number]} */ item) => item[key] * PS_PER_US, { head });
  return withTestId(
    card(
      title,
      options,
      h(
        'div',
        { class: 'fill' },
        table({
          label: title,
          items: [...items].sort((a, b) => b.difference_us - a.difference_us),
          sort: '-difference',
          rowTestid: ({ name }) => `host-difference-${name}`,
          columns: [
            {
              key: 'class',
              head: 'Class, ms a step',
              value: ({ name }) => classLabel(name),
              cell: ({ name }) => classCell(/** @type {ClassName} */ (name)),
            },
            column('host_us', cutMiddle(row.short, MAX_HEAD_LETTERS)),
            ...(row === medianRow
              ? []
              : [
                  column('median_us', cutMiddle(medianRow.short, MAX_HEAD_LETTERS)),
                  {
                    head: '',
                    name: 'Bar',
                    cell: (/** @type {typeof items[number]} */ { name, difference_us }) =>
                      differenceBar([{ name, us: difference_us }], scale),
                  },
                  {
                    key: 'difference',
                    head: 'Difference',
                    number: true,
                    value: (/** @type {typeof items[number]} */ { difference_us }) => difference_us,
                    ps: (/** @type {typeof items[number]} */ { difference_us }) => difference_us * PS_PER_US,
                    cell: (/** @type {typeof items[number]} */ { difference_us }) => signed(difference_us),
                  },
                ]),
          ],
          foot: [
            range && range[0] === range[1] ? 'Step' : 'Step, mean',
            cell(sums.host_us, digits(sums.host_us / 1000, 3)),
            ...(row === medianRow
              ? []
              : [
                  cell(sums.median_us, digits(sums.median_us / 1000, 3)),
                  '',
                  cell(sums.host_us - sums.median_us, signed(sums.host_us - sums.median_us)),
                ]),
          ],
        }),
      ),
      sentence,
      h(
        'p',
        { class: 'row wrapped' },
        button(
          row === medianRow ? `Timeline of ${row.short}` : `Timeline of ${row.short} and ${medianRow.short}`,
          on.openTimeline,
          { class: 'primary', 'data-testid': 'hosts-timeline' },
        ),
        worstStep >= 0 &&
          document.state === 'compared' &&
          button(`Step ${stepName(document.steps, worstStep)}, its latest arrival`, on.selectWorstStep, {
            'data-testid': 'host-worst-step',
          }),
      ),
    ),
  );
}

/** @param {HTMLElement} element */
function withTestId(element) {
  element.dataset.testid = 'host-difference';
  return element;
}
