/** Rows that the view Device makes of `data/device`. */

import type { BoundBy, OpKind } from "../lib/routes";

type Shares = { flops_share: number | null; bytes_share: number | null; bound_by: BoundBy };

/**
 * An op in one annotation. `id`: what a link calls it; `path`: null for no annotation; `ps`: of a core (and step);
 * `intensity`: FLOP per byte.
 */
export interface OpRow extends Shares {
  id: string; op: string; program: string; category: string; path: string | null; shape: string; source: string; kind: OpKind;
  executions: number; ps: number; flops: number | null; hbm_bytes: number | null; intensity: number | null; flops_per_s: number | null;
  run: { row: string; start_ps: number; depth: number; duration_ps: number } | null;
}

/** Ops that are not listed, as sums. */
export interface RestRow { path: string | null; bound_by: BoundBy; op_count: number; executions: number; ps: number }

/** A row of the tree. `key`: what `an` in a link calls it; `own`: its time outside of nested annotations. */
export interface TreeRow extends Shares {
  key: string; name: string; path: string | null; depth: number; ps: number; parent: boolean; own: boolean; place: [number, number] | null;
}

/** A dot of the roofline. */
export interface Dot { row: OpRow; x: number; y: number; r: number }
