/** Parts of a stretch of host time by class: a stacked bar, and a table whose sum row equals the whole. */

import { h } from '../lib/dom.js';
import { CLASSES, LABELS, chip } from '../lib/classes.js';
import { columnUnit, digits, share, timeText } from '../lib/format.js';
import { roundParts, roundShares } from '../lib/parts.js';
import { table } from '../lib/table.js';

/** @typedef {import('../lib/types').ByClass} ByClass */
/** @typedef {import('../lib/types').ClassName} ClassName */

const LEAST_LABEL = 0.11;

/** @param {ByClass} parts */
export function stackedBar(parts) {
  const present = CLASSES.filter((name) => (parts[name] ?? 0) > 0);
  const whole = present.reduce((sum, name) => sum + (parts[name] ?? 0), 0);
  return h('div', { class: 'stack', 'aria-hidden': 'true' }, present.map((name) => {
    const part = (parts[name] ?? 0) / whole;
    const text = `${LABELS[name]} ${timeText(parts[name])}`;
    const span = h('span', { class: `k-${name}`, title: text }, part > LEAST_LABEL ? LABELS[name] : '');
    span.style.setProperty('--k', `var(--c-${name})`);
    span.style.color = `var(--on-${name})`;
    span.style.flex = `${part} 1 0`;
    return span;
  }));
}

/**
 * @param {ByClass} parts @param {string} whole what the sum row is called
 * @param {(name: ClassName) => string} where the thread that did most of it
 */
export function partsTable(parts, whole, where) {
  const names = CLASSES.filter((name) => (parts[name] ?? 0) > 0);
  const values = names.map((name) => parts[name] ?? 0);
  const sum = values.reduce((total, value) => total + value, 0);
  const unit = columnUnit([sum]);
  const step = unit.ps / 1000;
  const rounded = roundParts(values, step);
  const shares = roundShares(values);
  const items = names.map((name, index) => ({ name, ps: values[index], text: digits(rounded[index] / 1000, 3), share: shares[index] }));
  return table({
    label: 'Time by class', items, sort: '-time',
    columns: [
      { key: 'class', head: 'Class', value: ({ name }) => LABELS[name], cell: ({ name }) => [chip(name), LABELS[name]] },
      { key: 'where', head: 'Mostly on', cell: ({ name }) => h('span', { class: 'sec' }, where(name)), title: ({ name }) => where(name) },
      { key: 'time', head: `Time, ${unit.name}`, number: true, value: ({ ps }) => ps, cell: ({ text }) => text, ps: ({ ps }) => ps },
      { key: 'share', head: 'Share', number: true, value: ({ ps }) => ps, cell: (item) => share(item.share > 0 && item.share < 1 ? item.share : item.ps / sum) },
    ],
    foot: [whole, '', h('span', { 'data-ps': sum }, digits(rounded.reduce((total, value) => total + value, 0) / 1000, 3)), share(sum ? 1 : 0)],
  });
}
