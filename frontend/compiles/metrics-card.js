/** The card of Compiles with the counts of a metrics report beside those of the trace. */

import { h } from '../lib/dom.js';
import { tableCard } from '../lib/cards.js';
import { definedColumns } from '../lib/defined-column.js';
import { TABLES } from '../lib/table-definitions.js';

/** @typedef {import('../lib/routes').CountedMetrics} CountedMetrics */
/** @typedef {CountedMetrics['rows'][number]} MetricsRow */

/** The counts of a metrics report beside the capture; null without one. @param {CountedMetrics|null} metrics */
export function metricsCard(metrics) {
  if (!metrics) return null;
  const { file, rows, text } = metrics;
  const hasEarlierReport = rows.some(({ since_earlier_report: since }) => since != null);
  return tableCard(
    'Metrics and trace',
    { note: `${file} counts from the start of the process`, class: 'compact' },
    {
      testid: 'metrics-table',
      items: rows,
      columns: definedColumns(TABLES.counts_against_trace, {
        operation: { field: (/** @type {MetricsRow} */ { label }) => label },
        ...(!hasEarlierReport && { since_earlier_report: null }),
        agrees: {
          name: 'Agreement',
          value: undefined,
          title: undefined,
          cell: ({ agreement }) => agreement,
        },
      }),
    },
    h('p', { class: 'secondary' }, text),
  );
}
