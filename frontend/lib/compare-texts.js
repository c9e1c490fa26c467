/** Words of comparisons. Generated from `tb_xla_insights/compare/sentences.py` by `make schema`. */

/** @typedef {import('./routes').TestVerdict} TestVerdict */

/** Verdicts as printed beside a row. @type {Record<TestVerdict, string>} */
export const VERDICT_TEXTS = {
  better: '▲ better',
  worse: '▼ worse',
  same: '≈ same',
  chance: '≈ may be chance',
  few: '–',
};

/**
 * Which sessions have an op or annotation, as printed beside it.
 * @type {Record<import('./routes').ListedOp['presence'], string>}
 */
export const PRESENCE_TEXTS = {
  both: '',
  only_a: 'gone',
  only_b: 'new',
  changed: 'changed',
};
