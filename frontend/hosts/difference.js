/** Compares one host with the median host: time per step, by class. */

import { button, h, labelledSelect } from '../lib/dom.js';
import { classCell, tone } from '../lib/classes.js';
import { card } from '../lib/cards.js';
import { briefTime, briefTimes, difference, timeText, UNITS } from '../lib/format.js';
import { maximum, total } from '../lib/totals.js';
import { table, timeColumn } from '../lib/table.js';
import { DEVICE, WAITING, meanOf, stepName, stepsIn } from './rows.js';
import { classLabel, rangeName, US } from './verdict.js';

/** @typedef {import('../lib/routes').HostsAnswer} HostsAnswer */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').StepRange} StepRange */
/** @typedef {import('../lib/routes').ClassName} ClassName */

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
    return withTestId(card(title, more, h('p', null, 'No steps: there is nothing to compare by.')));
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
          steps ? `${row.name} or ${medianRow.name} has no such step.` : 'The steps of this host are asked for.',
        ),
      ),
    );
  }
  const items = classes.flatMap((name, at) =>
    name === DEVICE || !(hostTimes[at] || medianTimes[at])
      ? []
      : [{ name, own: hostTimes[at], other: medianTimes[at], apart: hostTimes[at] - medianTimes[at] }],
  );
  const deviceClass = classes.indexOf(DEVICE);
  const scale = maximum(items.map(({ apart }) => Math.abs(apart)), 1);
  const sums = { own: total(items, 'own'), other: total(items, 'other') };
  /** @param {number} us */
  const signed = (us) => difference(us / 1000, 3);
  const cell = (/** @type {number} */ us, text = timeText(us * US)) => h('span', { 'data-ps': us * US }, text);
  /** @param {'own'|'other'} key @param {string} head */
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
          items: [...items].sort((a, b) => b.apart - a.apart),
          sort: '-difference',
          rowid: ({ name }) => `host-difference-${name}`,
          columns: [
            {
              key: 'class',
              head: 'Class, ms a step',
              value: ({ name }) => classLabel(name),
              cell: ({ name }) => classCell(/** @type {ClassName} */ (name)),
            },
            column('own', row.short),
            ...(row === medianRow
              ? []
              : [
                  column('other', medianRow.short),
                  {
                    head: '',
                    name: 'Bar',
                    cell: (/** @type {typeof items[number]} */ { name, apart }) =>
                      apartBar([{ name, us: apart }], scale),
                  },
                  {
                    key: 'difference',
                    head: 'Difference',
                    number: true,
                    value: (/** @type {typeof items[number]} */ { apart }) => apart,
                    ps: (/** @type {typeof items[number]} */ { apart }) => apart * US,
                    cell: (/** @type {typeof items[number]} */ { apart }) => signed(apart),
                  },
                ]),
          ],
          foot: [
            range && range[0] === range[1] ? 'Step' : 'Step, mean',
            cell(sums.own, (sums.own / 1000).toFixed(3)),
            ...(row === medianRow
              ? []
              : [
                  cell(sums.other, (sums.other / 1000).toFixed(3)),
                  '',
                  cell(sums.own - sums.other, signed(sums.own - sums.other)),
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
 * @param {{name: string, own: number, other: number, apart: number}[]} items
 * @param {number|undefined} work compute time of the host's busiest core, µs
 * @param {number|undefined} otherWork the same of the median host, µs
 */
export function sentence({ verdict, kind, steps, state, late_us }, row, medianRow, range, items, work, otherWork) {
  if (row === medianRow) return 'This is the median host: the one that is closest to what all of them do.';
  const [first] = items.filter(({ name }) => !WAITING.includes(name)).sort((a, b) => b.apart - a.apart);
  const waits = total(items.filter(({ name }) => WAITING.includes(name)), 'apart');
  const step = total(items, 'apart');
  const length = total(items, 'own');
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
  } else if (first && first.apart > 0.005 * length) {
    text.push(`${classLabel(first.name)} takes ${briefTime(first.apart * US)} longer than on ${medianRow.short}.`);
  } else text.push('No class takes clearly longer.');
  if (state === 'compared' && first && first.apart > 0.005 * length && waits < 0 && alike) {
    const places = stepsIn(range, steps.number.length);
    const late = total(places, (/** @type {number} */ index) => Math.max(0, late_us[row.at][index])) / places.length;
    // A host that runs ahead of its device is late only by what exceeds its lead.
    text.push(
      late >= 0.5 * first.apart
        ? `The step is ${Math.abs(step) <= 0.005 * length ? 'as' : 'about as'} long on both: what ${row.short} ` +
          `takes longer, ${medianRow.short} waits in the ${kind ?? 'collective'}.`
        : late >= 0.05 * first.apart
          ? `${row.short} arrives ${briefTime(late * US)} late for it${places.length > 1 ? ' in the mean' : ''}; ` +
            `for the rest it waits less for its device.`
          : `${row.short} arrives no later for it: it waits less for its device instead.`,
    );
  }
  if (work !== undefined && otherWork !== undefined && Math.abs(work - otherWork) > 0.005 * length) {
    const [workText, medianText] = briefTimes(work * US, otherWork * US);
    text.push(`Its busiest core computes for ${workText}, that of ${medianRow.short} for ${medianText}.`);
  }
  return text.join(' ');
}
