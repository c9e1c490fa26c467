/** What the view Compare builds from its answer. */

import type { TestVerdict } from "../lib/routes";

/** The result of a significance test; null where there is none. */
export type Verdict = TestVerdict | null;
export interface PairsTable { columns: string[]; rows: { model: string; speedups: (number | null)[]; verdicts: Verdict[] }[]; means: (number | null)[]; counts: number[] }
