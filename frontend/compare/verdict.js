/** Words for the significance test of a row. */

import { h } from '../lib/dom.js';
import { share } from '../lib/format.js';

const WORDS = { better: '▲ better', worse: '▼ worse', same: '≈ same', chance: '≈ may be chance', few: 'too few steps' };

/** @param {import('./types').Verdict|undefined} verdict */
export const verdictCell = (verdict) => h('span', { class: `small ${verdict}` }, verdict && WORDS[verdict]);

/** The verdict of a row, with the p-value behind it as a title. */
export const VERDICT_COLUMN = {
  head: '',
  name: 'Verdict',
  cell: (/** @type {{verdict?: import('./types').Verdict}} */ { verdict }) => verdictCell(verdict),
  title: (/** @type {{p?: number|null}} */ { p }) =>
    p == null ? '' : `Chance alone causes such a difference in ${share(p)} of the cases.`,
};
