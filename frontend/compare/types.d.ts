/** What data/compare answers: two sessions side by side. Differences are B − A, ratios B / A. */

import type { ClassName } from "../lib/routes";

export interface Pair { a_ps: number | null; b_ps: number | null; difference_ps: number | null; ratio: number | null }
export type Verdict = "better" | "worse" | "same" | "chance" | "few" | null;
export interface Judged extends Pair { p: number | null; verdict: Verdict }
export interface Measure extends Partial<Pair> {
  name: string; label: string; unit: "ps" | "share" | "count" | "rate"; a?: number | null; b?: number | null; ratio: number | null;
  p: number | null; verdict: Verdict;
}
export interface Side {
  session: { name: string; path: string }; devices: number; steps: number; kind: string; launched_by: string;
  environment: { synthetic?: boolean };
}
export interface Span { start_ps: number; duration_ps: number }
export interface UsualStep extends Span {
  number: number | null; name: string; device: string | null; phases: (Span & { name: string })[];
  host: (Span & { class: ClassName })[]; runs: (Span & { program: string })[]; gaps: (Span & { cause: ClassName })[];
}
export interface Execution { program: string; kind: string; per_step: number | null; host_ps: number; device_ps: number; overhead_ps: number }
export interface WorkRow {
  a_ps: number; b_ps: number; difference_ps: number; ratio: number | null; p: number | null; verdict: Verdict; of_step: number | null;
  found: "both" | "only_a" | "only_b" | "changed";
}
export interface OpRow extends WorkRow { program: string; annotation: string | null; ops_a: string[]; ops_b: string[]; count: [number, number] }
export interface Comparison {
  a: Side; b: Side; verdict: { text: string; verdict: string }; chance: { text: string | null };
  measures: Measure[]; classes: (Judged & { class: ClassName })[];
  annotations: { path: string; phase: boolean; host: Judged; device: Pair }[];
  device_work: { annotations: (WorkRow & { path: string | null })[]; ops: OpRow[] };
  programs: { program: string; program_b: string | null; match: string | null; host: Pair; device: Pair; overhead: Pair }[];
  gaps: { idle: Pair; classes: (Pair & { class: ClassName })[]; small: Pair };
  compiles: (Pair & { module: string; count: [number, number] })[];
  lazy_dynamo: null | {
    lazy: "a" | "b"; dynamo: "a" | "b"; speedup: Record<"tracing" | "device" | "wall", number | null>;
    step: Record<"a" | "b", { tracing_ps: number | null; device_ps: number | null; wall_ps: number | null; executions: number | null }>;
    executions: Record<"a" | "b", Execution[]>; between: Record<"a" | "b", { before: string; after: string; count: number; mean_ps: number }[]>;
  };
  step: Record<"a" | "b", UsualStep | null>;
}
export interface PairsTable { columns: string[]; rows: { model: string; speedups: (number | null)[]; verdicts: Verdict[] }[]; means: (number | null)[]; counts: number[] }
