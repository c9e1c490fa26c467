/**
 * What `data/device` answers: `tb_xla_insights/device_work/view.py` tells every key. Sums of all chosen cores and
 * steps.
 */

export type Bound = "compute" | "memory" | "link" | "wait" | "neither" | "unknown" | "mixed";

type Shares = { flops_share: number | null; bytes_share: number | null; bound_by: Bound };

export interface DeviceDocument {
  schema: 1; chosen: { dd: string; st: string; category: string | null }; stale: boolean;
  steps: string[]; whole_steps: number; cores: number; core_steps: number; hosts: { shown: number[]; of: number };
  categories: string[]; category_ps: number[];
  peaks: {
    flops_per_s: number | null; bytes_per_s: number | null; source: "capture" | "table" | "user" | null;
    devices: { kind: string; count: number; flops_per_s: number | null; bytes_per_s: number | null; source: string | null; cite: string | null }[];
  };
  total: Shares & { self_ps: number; counted_ps: number; uncounted_ps: number; other_ps: number; mfu: number | null; kinds: number; executions: number };
  paths: string[];
  tree: {
    path: number[]; self_ps: number[]; own_ps: number[]; flops_share: (number | null)[]; bytes_share: (number | null)[]; bound_by: Bound[];
    own_flops_share: (number | null)[]; own_bytes_share: (number | null)[]; own_bound_by: Bound[]; first_ps: (number | null)[]; last_ps: (number | null)[];
  };
  ops: {
    op: string[]; program: number[]; category: number[]; path: number[]; shape: (string | null)[]; source: number[]; executions: number[]; self_ps: number[];
    flops: (number | null)[]; hbm_bytes: (number | null)[]; flops_share: (number | null)[]; bytes_share: (number | null)[]; bound_by: Bound[]; kind: string[];
    run: ([row: number, start_ps: number, depth: number, duration_ps: number] | null)[];
  };
  programs: string[]; sources: string[]; rows: string[];
  rest: { path: number; bound_by: Bound; kinds: number; executions: number; self_ps: number }[];
  uncounted: { op: string; self_ps: number }[];
  verdict: { path: number; reached: number; known_ps: number; below_ps: number; op: number } | null;
}

/**
 * An op in one annotation. `id`: what a link calls it; `path`: null for no annotation; `ps`: of a core (and step);
 * `intensity`: FLOP per byte.
 */
export interface OpRow extends Shares {
  id: string; op: string; program: string; category: string; path: string | null; shape: string; source: string; kind: string;
  executions: number; ps: number; flops: number | null; hbm_bytes: number | null; intensity: number | null; flops_per_s: number | null;
  run: { row: string; start_ps: number; depth: number; duration_ps: number } | null;
}

/** Ops that are not listed, as sums. */
export interface RestRow { path: string | null; bound_by: Bound; kinds: number; executions: number; ps: number }

/** A row of the tree. `key`: what `an` in a link calls it; `own`: its time outside of nested annotations. */
export interface TreeRow extends Shares {
  key: string; name: string; path: string | null; depth: number; ps: number; parent: boolean; own: boolean; place: [number, number] | null;
}

/** A dot of the roofline. */
export interface Dot { row: OpRow; x: number; y: number; r: number }
