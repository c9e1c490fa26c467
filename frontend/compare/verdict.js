/** The column of significance tests. */

import { h } from '../lib/dom.js';
import { VERDICT_TEXTS } from '../lib/compare-texts.js';
import { share } from '../lib/format.js';

/**
 * The column of verdicts, with the p-value as a title. Rows with too few steps have a dash: the heading says why.
 */
export const VERDICT_COLUMN = {
  head: '',
  name: 'Verdict',
  cell: (/** @type {{verdict?: import('../lib/routes').TestVerdict|null}} */ { verdict }) =>
    h('span', { class: `small ${verdict}` }, verdict && VERDICT_TEXTS[verdict]),
  title: (/** @type {{p?: number|null, verdict?: import('../lib/routes').TestVerdict|null}} */ { p, verdict }) => {
    if (verdict === 'few') return 'There are too few steps to distinguish a difference from chance.';
    return p == null ? '' : `Chance alone causes such a difference in ${share(p)} of the cases.`;
  },
};
