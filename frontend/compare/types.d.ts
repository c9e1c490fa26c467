/** Objects that the Compare view builds. */

import type { TestVerdict } from "../lib/routes";

/**
 * A table of speed-ups, the time of A over that of B: a row per model, a cell per column. Null: a model without a pair
 * in a column, or a pair without a significance test. `means` and `counts`: of the speed-ups of each column.
 */
export interface PairsTable {
  columns: string[];
  rows: { model: string; speedups: (number | null)[]; verdicts: (TestVerdict | null)[] }[];
  means: (number | null)[];
  counts: number[];
}
