/** Words for the significance test of a row. */

import { h } from '../lib/dom.js';
import { MISSING, share } from '../lib/format.js';

const WORDS = { better: '▲ better', worse: '▼ worse', same: '≈ same', chance: '≈ may be chance', few: MISSING };
const TOO_FEW = 'too few steps';

/** @param {import('./types').Verdict|undefined} verdict @param {Partial<typeof WORDS>} [words] */
const cell = (verdict, words = WORDS) => h('span', { class: `small ${verdict}` }, verdict && words[verdict]);

/** The verdict of a pair. @param {import('./types').Verdict|undefined} verdict */
export const pairVerdictCell = (verdict) => cell(verdict, { ...WORDS, few: TOO_FEW });

/**
 * The verdict of a row, with the p-value behind it as a title. The heading says once that the steps are too few, so
 * that rows have a dash.
 */
export const VERDICT_COLUMN = {
  head: '',
  name: 'Verdict',
  cell: (/** @type {{verdict?: import('./types').Verdict}} */ { verdict }) => cell(verdict),
  title: (/** @type {{p?: number|null, verdict?: import('./types').Verdict}} */ { p, verdict }) => {
    if (verdict === 'few') return `There are ${TOO_FEW} to distinguish a difference from chance.`;
    return p == null ? '' : `Chance alone causes such a difference in ${share(p)} of the cases.`;
  },
};
