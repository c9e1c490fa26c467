/** What views build from answers (see `routes.d.ts`). */

import type { ByClass } from "./types";
import type { CollectiveSum, GapItem as Gap, GroupedFinding, StallSum } from "./routes";

/** What a fix gains, in words. */
export type Gain = Pick<GroupedFinding, "share" | "basis" | "change" | "tag">;
/** The time of an op on all devices; the last row may be the sum of `summed_ops` others. */
export type OpTime = StallSum & Partial<Pick<CollectiveSum, "kind" | "exposed_ps">>;
/** A gap of one core. `isCopy`: derived from the same gap on another core, whose shares by class it has. */
export type GapItem = Gap & { isCopy?: boolean };
export interface DutyDevice {
  id: string; name: string; host: string; span_ps: number; busy_ps: number; stall_ps: number;
}
/**
 * Idle time of one device in the whole steps of its host; in its span where there are none. `small_ps`: in gaps below
 * 10 µs; `edges_ps`: before its first and after its last work.
 */
export interface DeviceTime { id: string; host: string; steps: number; small_ps: number; edges_ps: number; by_class_ps: ByClass }
