/** The card of Compiles with the counts of a metrics report beside those of the trace. */

import { h } from '../lib/dom.js';
import { tableCard } from '../lib/cards.js';
import { definedColumn } from '../lib/defined-column.js';
import { count, plural } from '../lib/format.js';
import { TABLES } from '../lib/table-definitions.js';

/** @type {Record<import('../lib/routes').Counted, string>} */
const OPERATION_LABELS = {
  compile: 'Compilations',
  execute: 'Executions',
  to_device: 'Transfers to the device',
  from_device: 'Transfers from the device',
};

/** @typedef {import('../lib/routes').CountedMetrics['rows'][number]} MetricsRow */

/** The counters of a metrics report beside the capture. @param {import('../lib/routes').CountedMetrics|null} metrics */
export function metricsCard(metrics) {
  if (!metrics) return null;
  const { file, rows, uncached_compiles: compiled, cached_compiles: cached, fallbacks } = metrics;
  const operators = Object.entries(fallbacks ?? {}).map(([name, calls]) => `${name} ${count(calls)}×`);
  const graphs = [
    compiled == null ? [] : `${plural(compiled, 'graph')} compiled`,
    cached == null ? [] : `${count(cached)} taken from the cache`,
  ].flat();
  const sentences = graphs.length ? [`${graphs.join(', ')}.`] : [];
  if (operators.length) sentences.push(`Operators on the CPU: ${operators.join(', ')}.`);
  else if (fallbacks) sentences.push('No operator ran on the CPU.');
  return tableCard(
    'Metrics and trace',
    { note: `${file} counts from the start of the process`, class: 'compact' },
    {
      testid: 'metrics-table',
      items: rows,
      columns: [
        definedColumn(TABLES.counts_against_trace.operation, {
          field: (/** @type {MetricsRow} */ { operation }) => OPERATION_LABELS[operation],
        }),
        definedColumn(TABLES.counts_against_trace.metrics),
        definedColumn(TABLES.counts_against_trace.time_ps),
        ...(rows.some(({ since_earlier_report: since }) => since != null)
          ? [definedColumn(TABLES.counts_against_trace.since_earlier_report)]
          : []),
        definedColumn(TABLES.counts_against_trace.trace),
        definedColumn(TABLES.counts_against_trace.agrees, {
          name: 'Agreement',
          value: undefined,
          title: undefined,
          cell: ({ agrees }) => (agrees ? '' : 'disagree'),
        }),
      ],
    },
    h('p', { class: 'secondary' }, sentences.join(' ')),
  );
}
