/** Rows of the Device view, from `data/device`. */

import type { BoundBy, OpKind } from "../lib/routes";

type Shares = { flops_share: number | null; bytes_share: number | null; bound_by: BoundBy };

/**
 * An op in one annotation. `id`: its key in links; `path`: null without an annotation; `ps`: own time; `intensity`: FLOP per
 * byte; `run`: its longest run, null if its host is not in memory. `executions`, `ps`, `flops` and `hbm_bytes` are means per
 * core, and per step unless the whole session is shown.
 */
export interface OpRow extends Shares {
  id: string; op: string; program: string; category: string; path: string | null; shape: string; source: string; kind: OpKind;
  executions: number; ps: number; flops: number | null; hbm_bytes: number | null; intensity: number | null; flops_per_s: number | null;
  run: { row: string; start_ps: number; depth: number; duration_ps: number } | null;
}

/** Sums of ops that the server does not list singly. */
export interface RestRow { path: string | null; bound_by: BoundBy; op_count: number; executions: number; ps: number }

/** A row of the tree. `key`: `an` in links; `isOwnTime`: the time outside of nested annotations; `interval`: start and end, ps. */
export interface TreeRow extends Shares {
  key: string; name: string; path: string | null; depth: number; ps: number; hasNested: boolean; isOwnTime: boolean; interval: [number, number] | null;
}

/** A dot of the roofline: centre and radius, px. */
export interface Dot { row: OpRow; x: number; y: number; r: number }
