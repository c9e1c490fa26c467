/** Objects that several modules of the page share. They are built from answers, whose types are in `routes.d.ts`. */

import type { ClassName, OpenedSession, PartialCounts, SessionLoading, TimelineRow, TimelineRowKind } from "./routes";

export type ByClass = Partial<Record<ClassName, number>>;

export interface Device {
  id: string; name: string; kind: string; host: string; busy_ps: number; idle_ps: number;
  stall_ps: number; duty_cycle: number; modules: number; ops: number;
}
/** The page adds rows of gaps to those of the server. */
export type RowKind = TimelineRowKind;
export interface Row extends Omit<TimelineRow, "kind"> { kind: RowKind }

/** A session whose views are drawn. Some of its hosts may not be read yet. */
export interface Ready extends Omit<OpenedSession, "devices" | "rows" | "more_rows"> {
  state: "ready";
  devices: Device[];
  rows: Row[];
  /** Rows of scopes are still to come, from `data/scopes`. */
  more_rows?: boolean;
  /** The files have changed since they were read. */
  changed?: boolean;
  /** The arguments of requests about it: its name, and the chosen hosts if not all are in memory. */
  query: { session: string; hosts: string | null };
  /** The numbers of hosts while some are still being read. */
  partial?: PartialCounts;
  loading?: SessionLoading;
  /** How long this page waited for it, ms. */
  loaded_ms?: number;
}
