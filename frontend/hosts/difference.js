/** Compares one host with the median host: time per step, by class. */

import { button, h, labelledSelect } from '../lib/dom.js';
import { classCell, tone } from '../lib/classes.js';
import { card } from '../lib/cards.js';
import { briefTime, briefTimes, cutMiddle, difference, timeText, UNITS } from '../lib/format.js';
import { maximum, total } from '../lib/totals.js';
import { table, timeColumn } from '../lib/table.js';
import { DEVICE, WAITING, meanOf, stepName, stepsIn } from './rows.js';
import { classLabel, rangeName, US } from './verdict.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').StepRange} StepRange */
/** @typedef {import('../lib/routes').ClassName} ClassName */

const MAX_HEAD_LETTERS = 9;

/**
 * A bar around a centre line: longer classes to the right, shorter ones to the left.
 * @param {{name: string, us: number}[]} parts
 * @param {number} scale µs of one side's full width
 */
export function apartBar(parts, scale) {
  const sides = [parts.filter(({ us }) => us < 0), parts.filter(({ us }) => us > 0)];
  return h(
    'span',
    { class: 'apart', 'aria-hidden': 'true' },
    sides.map((side, right) =>
      h(
        'span',
        { class: right ? '' : 'left' },
        side
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
 * @param {(number[]|null)[]|null} steps time by class of each step of the host, µs; null: not loaded yet
 * @param {{choose: (host: number) => void, timeline: () => void, worst: () => void}} on
 */
export function differenceCard(document, rows, host, range, steps, on) {
  const { classes, class_us, median_host, order } = document;
  const row = rows[host];
  const choice = labelledSelect(
    'host',
    order.map((at) => /** @type {[string, string]} */ ([String(at), rows[at].short])),
    String(host),
    (at) => on.choose(Number(at)),
    'host-difference-select',
  );
  const title = range ? `${row.name} against the median` : 'This host against the median';
  const more = { note: range && rangeName(document.steps, range), right: choice, class: 'difference' };
  if (median_host === null) {
    return withTestId(card(title, more, h('p', null, 'No steps to compare.')));
  }
  const medianRow = rows[median_host];
  const [hostTimes, medianTimes] = range
    ? [steps && meanOf(steps, range), meanOf(document.step_class_us[median_host] ?? [], range)]
    : [class_us[host], class_us[median_host]];
  if (!hostTimes || !medianTimes) {
    return withTestId(
      card(
        title,
        more,
        h(
          'p',
          { class: 'sec' },
          steps ? `${row.name} or ${medianRow.name} has no such step.` : 'The steps of this host are loading.',
        ),
      ),
    );
  }
  const items = classes.flatMap((name, at) =>
    name === DEVICE || !(hostTimes[at] || medianTimes[at])
      ? []
      : [{ name, host_us: hostTimes[at], median_us: medianTimes[at], difference_us: hostTimes[at] - medianTimes[at] }],
  );
  const deviceClass = classes.indexOf(DEVICE);
  const scale = maximum(items.map(({ difference_us }) => Math.abs(difference_us)), 1);
  const sums = { host_us: total(items, 'host_us'), median_us: total(items, 'median_us') };
  /** @param {number} us */
  const signed = (us) => difference(us / 1000, 3);
  const cell = (/** @type {number} */ us, text = timeText(us * US)) => h('span', { 'data-ps': us * US }, text);
  /** @param {'host_us'|'median_us'} key @param {string} head */
  const column = (key, head) =>
    timeColumn(head, UNITS.ms, (/** @type {typeof items[number]} */ item) => item[key] * US, { head });
  return withTestId(
    card(
      title,
      more,
      h(
        'div',
        { class: 'fill' },
        table({
          label: title,
          items: [...items].sort((a, b) => b.difference_us - a.difference_us),
          sort: '-difference',
          rowid: ({ name }) => `host-difference-${name}`,
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
                      apartBar([{ name, us: difference_us }], scale),
                  },
                  {
                    key: 'difference',
                    head: 'Difference',
                    number: true,
                    value: (/** @type {typeof items[number]} */ { difference_us }) => difference_us,
                    ps: (/** @type {typeof items[number]} */ { difference_us }) => difference_us * US,
                    cell: (/** @type {typeof items[number]} */ { difference_us }) => signed(difference_us),
                  },
                ]),
          ],
          foot: [
            range && range[0] === range[1] ? 'Step' : 'Step, mean',
            cell(sums.host_us, (sums.host_us / 1000).toFixed(3)),
            ...(row === medianRow
              ? []
              : [
                  cell(sums.median_us, (sums.median_us / 1000).toFixed(3)),
                  '',
                  cell(sums.host_us - sums.median_us, signed(sums.host_us - sums.median_us)),
                ]),
          ],
        }),
      ),
      h(
        'p',
        { class: 'sec', 'data-testid': 'host-sentence' },
        sentence(document, row, medianRow, range, items, hostTimes[deviceClass], medianTimes[deviceClass]),
      ),
      h(
        'p',
        { class: 'row wrapped' },
        button(
          row === medianRow ? `Timeline of ${row.short}` : `Timeline of ${row.short} and ${medianRow.short}`,
          on.timeline,
          { class: 'primary', 'data-testid': 'hosts-timeline' },
        ),
        document.hosts.worst_step[host] >= 0 &&
          document.state === 'compared' &&
          button(`Step ${stepName(document.steps, document.hosts.worst_step[host])}, its latest arrival`, on.worst, {
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

/**
 * The sentence below the table: what takes longer, and whether the other hosts wait for it.
 * @param {HostsAnswer} document @param {HostRow} row @param {HostRow} medianRow @param {StepRange|null} range
 * @param {{name: string, host_us: number, median_us: number, difference_us: number}[]} items
 * @param {number|undefined} work compute time of the host's busiest core, µs
 * @param {number|undefined} otherWork the same of the median host, µs
 */
export function sentence({ verdict, kind, steps, state, late_us }, row, medianRow, range, items, work, otherWork) {
  if (row === medianRow) return 'This is the median host: its times are closest to the medians of all hosts.';
  const [first] = items
    .filter(({ name }) => !WAITING.includes(name))
    .sort((a, b) => b.difference_us - a.difference_us);
  const waits = total(items.filter(({ name }) => WAITING.includes(name)), 'difference_us');
  const step = total(items, 'difference_us');
  const length = total(items, 'host_us');
  const alike = Math.abs(step) <= 0.05 * length;
  const blamed = !range && verdict.hosts[0] === row.at && verdict.cause !== null && verdict.cause_us !== null;
  const text = [];
  if (blamed) {
    const name = verdict.annotation?.split('/').at(-1) ?? classLabel(verdict.cause ?? '');
    const [causeText, medianText] = briefTimes((verdict.cause_us ?? 0) * US, (verdict.median_cause_us ?? 0) * US);
    text.push(
      `${name} takes ${causeText} in ${verdict.steps.length} of ${steps.number.length} steps, ` +
        `${medianText} on ${medianRow.short}.`,
    );
  } else if (first && first.difference_us > 0.005 * length) {
    const longerText = briefTime(first.difference_us * US);
    text.push(`${classLabel(first.name)} takes ${longerText} longer than on ${medianRow.short}.`);
  } else text.push('No class takes clearly longer.');
  if (state === 'compared' && first && first.difference_us > 0.005 * length && waits < 0 && alike) {
    const places = stepsIn(range, steps.number.length);
    const late = total(places, (/** @type {number} */ index) => Math.max(0, late_us[row.at][index])) / places.length;
    // A host that runs ahead of its device is late only by what exceeds its lead.
    text.push(
      late >= 0.5 * first.difference_us
        ? `The step is ${Math.abs(step) <= 0.005 * length ? 'as' : 'about as'} long on both: the time that ` +
          `${row.short} takes longer, ${medianRow.short} waits in the ${kind ?? 'collective'}.`
        : late >= 0.05 * first.difference_us
          ? `${row.short} arrives ${briefTime(late * US)} late for it${places.length > 1 ? ' in the mean' : ''}; ` +
            'the rest is made up by waiting less for its device.'
          : `${row.short} still does not arrive later: it waits less for its device instead.`,
    );
  }
  if (work !== undefined && otherWork !== undefined && Math.abs(work - otherWork) > 0.005 * length) {
    const [workText, medianText] = briefTimes(work * US, otherWork * US);
    text.push(`Its busiest core computes for ${workText}, that of ${medianRow.short} for ${medianText}.`);
  }
  return text.join(' ');
}
