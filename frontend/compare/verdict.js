/** Words for the significance test of a row. */

import { h } from '../lib/dom.js';
import { share } from '../lib/format.js';

const WORDS = { better: '▲ better', worse: '▼ worse', same: '≈ same', chance: '≈ may be chance', few: 'too few steps' };

/** @param {import('./types').Verdict|undefined} verdict */
export const verdictCell = (verdict) => h('span', { class: `small ${verdict}` }, verdict && WORDS[verdict]);

/** The p-value behind a verdict, as a title. @param {{p?: number|null}} row */
export const chanceTitle = ({ p }) =>
  p == null ? '' : `Chance alone makes such a difference in ${share(p)} of the cases.`;
