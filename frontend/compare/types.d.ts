/** Objects that the Compare view builds. */

import type { TestVerdict } from "../lib/routes";

/** The result of a significance test; null without a test. */
export type Verdict = TestVerdict | null;
export interface PairsTable { columns: string[]; rows: { model: string; speedups: (number | null)[]; verdicts: Verdict[] }[]; means: (number | null)[]; counts: number[] }
