/** Cells and the column of significance tests. */

import { h } from '../lib/dom.js';
import { PAIR_VERDICT_TEXTS, VERDICT_TEXTS } from '../lib/compare-texts.js';
import { share } from '../lib/format.js';

/** @param {import('../lib/routes').TestVerdict|null|undefined} verdict @param {typeof VERDICT_TEXTS} texts */
const verdictCell = (verdict, texts) => h('span', { class: `small ${verdict}` }, verdict && texts[verdict]);

/** The verdict of a pair. @param {import('../lib/routes').TestVerdict|null|undefined} verdict */
export const pairVerdictCell = (verdict) => verdictCell(verdict, PAIR_VERDICT_TEXTS);

/**
 * The column of verdicts, with the p-value as a title. Rows with too few steps have a dash: the heading says why.
 */
export const VERDICT_COLUMN = {
  head: '',
  name: 'Verdict',
  cell: (/** @type {{verdict?: import('../lib/routes').TestVerdict|null}} */ { verdict }) =>
    verdictCell(verdict, VERDICT_TEXTS),
  title: (/** @type {{p?: number|null, verdict?: import('../lib/routes').TestVerdict|null}} */ { p, verdict }) => {
    if (verdict === 'few') return 'There are too few steps to distinguish a difference from chance.';
    return p == null ? '' : `Chance alone causes such a difference in ${share(p)} of the cases.`;
  },
};
