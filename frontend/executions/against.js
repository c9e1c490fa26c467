/** A second session beside the one that is open: its executions, and what a step of both takes. */

import { get } from '../lib/api.js';
import { card } from '../lib/cards.js';
import { h } from '../lib/dom.js';
import { columnUnit, cutMiddle, MISSING, plural, ratio } from '../lib/format.js';
import { total } from '../lib/parts.js';
import { table, timeColumn } from '../lib/table.js';
import { kindOf, sumCosts } from './costs.js';

/** @typedef {import('./costs.js').Source} Source */
/** @typedef {import('../lib/views').Overview} Overview */

/** @param {Overview} overview @returns {{steps: number, devices: number, step: Source['step']}} */
export function stepMeans({ steps, devices }) {
  const { columns, count } = steps;
  const mean = (/** @type {number[]} */ values = []) => total(values, (value) => value) / Math.max(1, values.length);
  return { steps: count, devices: devices.length, step: count ? { tracing_ps: mean(columns.host_ps.tracing), wall_ps: mean(columns.duration_ps) } : null };
}

/** @param {string} name of a session @returns {Promise<Source>} */
export async function bringSource(name) {
  const [{ executions }, overview] = await Promise.all([get('executions', { session: name }), get('overview', { session: name })]);
  return { name, rows: executions, ...stepMeans(overview) };
}

/** Lazy first, so that the ratio reads as in `lazy / dynamo`. @param {Source[]} sources */
export const lazyFirst = (sources) => [...sources].sort((a, b) => Number(kindOf(a.rows) === 'dynamo') - Number(kindOf(b.rows) === 'dynamo'));

/** @param {Source[]} sources two */
export function againstCard(sources) {
  const items = lazyFirst(sources).map((source) => ({
    source, kind: kindOf(source.rows), tracing_ps: source.step?.tracing_ps || null, wall_ps: source.step?.wall_ps ?? null,
    device_ps: sumCosts(source.rows).device_ps / Math.max(1, source.steps * source.devices),
  }));
  const unit = columnUnit(items.map(({ wall_ps, device_ps }) => wall_ps ?? device_ps));
  const [first, second] = items;
  const both = first.kind !== second.kind;
  /** @param {'tracing_ps'|'device_ps'|'wall_ps'} key @param {string} head */
  const time = (key, head) => timeColumn(key, head, unit, (/** @type {typeof items[number]} */ item) => item[key], { value: undefined });
  const part = (/** @type {'device_ps'|'wall_ps'} */ key) => (first[key] && second[key] ? ratio(first[key] / second[key]) : MISSING);
  return card(both ? 'Lazy against dynamo' : 'Against the second session', { note: `mean of ${plural(first.source.steps, 'step')} and ${plural(second.source.steps, 'step')}` }, table({
    label: 'Lazy against dynamo', testid: 'lazy-dynamo-table', items,
    columns: [
      { key: 'name', head: 'Session', title: ({ source }) => source.name, cell: ({ kind, source }) => (both ? kind : cutMiddle(source.name, 20)) },
      time('tracing_ps', 'IR tracing'), time('device_ps', 'Device'), time('wall_ps', 'Wall'),
    ],
    foot: [both ? `${first.kind} / ${second.kind}` : 'ratio', '', part('device_ps'), part('wall_ps')],
  }), h('p', { class: 'small muted' }, 'per step and core'));
}
