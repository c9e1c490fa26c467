/** What the page makes of answers, and answers whose types are not generated yet (see `routes.d.ts`). */

import type { ByClass } from "./types";
import type { CollectiveSum, DutyDefinition, GapItem as Gap, GroupedFinding, OpSum } from "./routes";

/** What a fix gains, in words. */
export type Gain = Pick<GroupedFinding, "share" | "of" | "change">;
/** The time of an op on all devices; the last row may be the sum of `more` others. */
export type OpTime = OpSum & Partial<Pick<CollectiveSum, "kind" | "exposed_ps">>;
/** A gap of one core; `alike`: its parts are those of the same gap on another core. */
export type GapItem = Gap & { alike?: boolean };
export interface DutyDevice {
  id: string; name: string; host: string; duty: Record<DutyDefinition, { span_ps: number; busy_ps: number; stall_ps: number }>;
}
/** Idle time of one device in the whole steps of its host; in its span where there are none. */
export interface DeviceTime { id: string; host: string; steps: number; small_ps: number; edges_ps: number; by_class_ps: ByClass }
/** Waits in collectives, as columns; `name` and `last` (the host waited for) are indices into `names`. */
export interface Waits {
  count: number; names: string[]; device: string[]; depth: number[]; name: number[]; last: number[];
  start_ps: number[]; last_ps: number[]; end_ps: number[]; waits_ps: number[];
}
/** One collective: of `hosts`, `waiting` wait for the last one; `cores` of the hosts shown, as columns. */
export interface Collective {
  name: string; kind: string; last: string; hosts: number; waiting: number; longest_ps: number; waits_ps: number; unsure_ps: number;
  cores: { device: string[]; depth: number[]; begin_ps: number[]; start_ps: number[]; last_ps: number[]; end_ps: number[]; waits_ps: number[] };
}
