/** Cells and the column of significance tests. */

import { h } from '../lib/dom.js';
import { MISSING, share } from '../lib/format.js';

const WORDS = { better: '▲ better', worse: '▼ worse', same: '≈ same', chance: '≈ may be chance', few: MISSING };
const TOO_FEW = 'too few steps';

/** @param {import('../lib/routes').TestVerdict|null|undefined} verdict @param {Partial<typeof WORDS>} [words] */
const verdictCell = (verdict, words = WORDS) => h('span', { class: `small ${verdict}` }, verdict && words[verdict]);

/** The verdict of a pair. @param {import('../lib/routes').TestVerdict|null|undefined} verdict */
export const pairVerdictCell = (verdict) => verdictCell(verdict, { ...WORDS, few: TOO_FEW });

/**
 * The column of verdicts, with the p-value as a title. Rows with too few steps have a dash: the heading says why.
 */
export const VERDICT_COLUMN = {
  head: '',
  name: 'Verdict',
  cell: (/** @type {{verdict?: import('../lib/routes').TestVerdict|null}} */ { verdict }) => verdictCell(verdict),
  title: (/** @type {{p?: number|null, verdict?: import('../lib/routes').TestVerdict|null}} */ { p, verdict }) => {
    if (verdict === 'few') return `There are ${TOO_FEW} to distinguish a difference from chance.`;
    return p == null ? '' : `Chance alone causes such a difference in ${share(p)} of the cases.`;
  },
};
