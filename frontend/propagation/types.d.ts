/**
 * What `data/propagation` answers; `propagation_view` says more. Times are integer picoseconds from the session's
 * start.
 */

export type Place = [start_ps: number, end_ps: number];

export interface Coverage { device_ps: number; direct_ps: number; recovered_ps: number; bare_ps: number; none_ps: number }
export interface TreeRow {
  path: string; name: string; depth: number; kind: "annotation" | "scope"; count: number;
  host_ps: number; device_ps: number; device_ops: number; executions: number; programs: number; lost: string | null;
  mean_host_ps: number; mean_device_ps: number; step_host_ps: number; step_device_ps: number; step_device_ops: number;
  host_place: Place | null; device_place: Place | null; phase: number | null;
}
export interface Unannotated {
  device_ps: number; device_ops: number; mean_device_ps: number; step_device_ps: number; step_device_ops: number;
}
export interface HostEntry { phase: number | null; name: string; start_ps: number; end_ps: number }
export interface Stretch {
  phase: number | null; start_ps: number; end_ps: number; device_ps: number; ops: number; run: number; inverted: boolean; merged: number;
}
export interface Ribbon { host: number; device: number; inverted: boolean }
export interface PhaseRow { phase: number | null; runs: number; device_ps: number; start_ps: number; end_ps: number; inverted_ps: number }
export interface LineRow { source: string; path: string | null; device_ps: number; ops: number }
export interface Propagation {
  state: "shown" | "no_ops" | "flag_off"; hint: string | null; picked: string | null; stale: boolean;
  step: { index: number; number: number | null; name: string; start_ps: number; duration_ps: number } | null;
  steps: { first: number; numbers: (number | null)[] };
  device: { id: string; name: string } | null;
  /** Of which everything but `total` is. */
  hosts: string[];
  coverage: Coverage; total: Coverage; means: { steps: number; devices: number };
  tree: TreeRow[]; unannotated: Unannotated;
  phases: { name: string; repetition: number; lost: string | null }[];
  strips: { host: HostEntry[]; device: Stretch[]; runs: { program: string; program_id: string; start_ps: number; end_ps: number }[] };
  ribbons: Ribbon[];
  order: { runs: number; phases: number; inversion_share: number; by_phase: PhaseRow[] };
  lost: { path: string; reason: string; advice: string }[];
  unexplained: { op: string; source: string; state: string; device_ps: number; count: number }[];
  mixed: { op: string; name: string; source: string; device_ps: number; parts: { path: string; share: number }[]; unscoped_share: number }[];
  lines: LineRow[];
  left_off: { tree: number; unexplained: number; mixed: number; lines: number };
}
