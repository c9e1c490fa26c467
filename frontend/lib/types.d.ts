/** What the server answers (see docs/routes.md). Times are integer picoseconds from the session's start. */

import type { ClassName } from "./routes";

export type { ClassName } from "./routes";
export type ByClass = Partial<Record<ClassName, number>>;

export interface SessionEntry { name: string; hosts: { name: string; bytes: number }[]; modified_unix_ns: string }
export interface SessionList { logdir: string; sessions: SessionEntry[]; message: string | null; capture: boolean;
  /** One line about directories that could not be read, null if all could. */
  note: string | null;
  /** Where captures go; null where this page may not capture. */
  capture_logdir: string | null }

export interface HostProgress {
  name: string; state: "waiting" | "reading" | "building" | "ready" | "error"; bytes_read: number; bytes: number; message: string | null;
}
/** Of a session whose hosts are read: how many an answer is about. */
export interface PartOf { hosts_read: number; hosts_in_all: number }
export interface Loading {
  state: "loading"; bytes_read: number; bytes: number | null; seconds_left: number | null; hosts: HostProgress[];
  /** What is done, and how much of it all until the timeline can be drawn, from 0 to 1. */
  stage: "reading" | "building" | "drawing"; part: number;
  /** Views answer of the hosts read so far; what draws them, where there are more than were seen. */
  partial?: { hosts_read: number; hosts_in_all: number; hosts_told: number } | null;
  head?: Omit<SentSession, "state">;
}
export interface LoadError { state: "error"; message: string; hosts: HostProgress[] }

export interface Diagnostic { id: string; severity: "info" | "warning" | "error"; message: string; host?: string }
export interface Device {
  id: string; name: string; kind: string; host: string; busy_ps: number; idle_ps: number;
  stall_ps: number; duty_cycle: number | null; modules: number; ops: number;
}
/** Devices as the server sends them: times are multiples of `unit_ps`. */
export interface DeviceHeads {
  unit_ps: number; host: string[]; name: string[]; kind: string[]; modules: number[]; ops: number[];
  duty_cycle: (number | null)[]; busy: number[]; idle: number[]; stall: number[];
}
export type RowKind =
  | "steps" | "annotations" | "classes" | "thread" | "modules" | "ops" | "scopes" | "async" | "stream" | "gaps";
export interface Row {
  id: string; kind: RowKind; label: string; host: string; device: string | null; role: string | null;
  depths: number; events: number; main: boolean; share: number | null;
}
export interface Strip {
  buckets: number; devices: { id: string; busy: string }[]; host: { host: string; class: string }[];
}
export interface Ready {
  state: "ready";
  /** The files are not those that were read. */
  changed?: boolean;
  /** Stands for the files that were read. */
  mark?: string;
  /** What requests about it say: its name, and whose traces they are about where not all hosts are in memory. */
  of: { session: string; hosts: string | null };
  /** Places of the hosts whose rows these are, where not all are in memory; and which to look at first. */
  chosen?: number[];
  ranks?: Ranks;
  /** Not all hosts are read yet: the answers are of those that are. */
  partial?: { hosts_read: number; hosts_in_all: number; hosts_told: number };
  loading?: Loading;
  /** How long this page waited for it. */
  loaded_ms?: number;
  session: {
    name: string; path: string; description: string | null; start_unix_ns: string; duration_ps: number;
    hosts: { name: string; file: string; bytes: number; events: number }[];
  };
  environment: {
    framework: string; runtime: string; accelerator: string; hlo_scopes: boolean; synthetic: boolean; label: string;
  };
  diagnostics: Diagnostic[];
  devices: Device[];
  phases: string[];
  rows: Row[];
  /** Rows of scopes are still to come, from `data/scopes`. */
  more_rows?: boolean;
  strip: Strip;
}
/** Places of hosts; `late`: those that others wait for, longest first. */
export interface Ranks { slowest: number; median: number; late: number[] }
/** A session as the server sends it. */
export type SentSession = Omit<Ready, "devices" | "of" | "partial" | "loading"> & { devices: DeviceHeads };
export type SessionAnswer = Loading | LoadError | SentSession;

/** Slices of one depth of one row: starts and event ids are differences; k and b may be absent. */
export interface WireSlices {
  s: number[]; d: number[]; n: number[]; c: number[]; k?: number[]; b?: number[]; e: number[];
  /** How full merged slices are, from 0 to f, by buckets of 2^r ps. */
  r?: number; f?: string;
}
export interface WireTimeline {
  start_ps: number; end_ps: number; names: string[]; rows: Record<string, WireSlices[]>;
}

/** An event in one line: enough to show it, to find it and to draw it. */
export interface Brief {
  event: string; row: string; depth: number; name: string; class: ClassName | null; thread: string;
  start_ps: number; duration_ps: number;
}
export interface EventDetail extends Brief {
  title: string | null; host: string; self_ps: number; path: Brief[];
  /** Of what is around it: how many events are left out in the middle of `path`. */
  path_left_out: number;
  stats: { name: string; value: string; kind: "int" | "float" | "text" | "bytes" }[];
  flow: { from: Brief[]; to: Brief[] };
  occurrences: {
    count: number; index: number; mean_ps: number; min_ps: number; max_ps: number;
    previous: Brief | null; next: Brief | null; durations_ps: number[];
  };
}
export interface SearchAnswer {
  count: number; truncated: boolean;
  names: { name: string; class: ClassName | null; count: number; total_ps: number }[];
  hits: { event: string[]; row: string[]; depth: number[]; s: number[]; d: number[]; n: number[] };
}
export interface OpCount { op: string; count: number; self_ps: number }
export interface MoreOps { names: number; count: number; self_ps: number }
export interface WindowAnswer {
  start_ps: number; end_ps: number; duration_ps: number; host?: string; by_class_ps: ByClass;
  hosts: { host: string; by_class_ps: ByClass }[];
  threads: {
    row: string; name: string; role: string; host: string; busy_ps: number; events: number; by_class_ps: ByClass;
    /** Of device ops and marks of thread pools; with the classes all of busy. */
    no_class_ps: number; top: { name: string; self_ps: number }[];
  }[];
  devices: {
    id: string; name: string; host: string; span_ps: number; busy_ps: number; idle_ps: number; stall_ps: number;
    modules: number; ops: number; top_ops: OpCount[]; more_ops: MoreOps;
  }[];
  /** Of all these devices; those without ops of their own too, and null for the ops of none. */
  annotations: { path: string | null; count: number; self_ps: number; share: number; inside_ps: number; top_ops: OpCount[]; more_ops: MoreOps }[];
  top: { name: string; class: ClassName | null; count: number; total_ps: number; self_ps: number; longest: Brief }[];
}
export interface TableAnswer { count: number; items: Brief[] }
