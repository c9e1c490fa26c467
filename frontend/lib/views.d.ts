/** What the routes of the views answer. Times are integer picoseconds from the session's start. */

import type { ByClass, ClassName, Device, Ranks } from "./types";

export type Severity = "good" | "info" | "warning" | "critical";

export interface Finding {
  id: string; severity: "info" | "warning" | "critical"; title: string; detail: string; advice: string; cost_ps: number | null;
  kind: "mistake" | "limit" | null; recurs: "every_step" | "some_steps" | "once" | null; gain: number | null;
  step_if_fixed_ps: number | null; step_ps: number | null; evidence: Record<string, unknown>;
  windows: { start_ps: number; end_ps: number; device: string | null }[];
}
/**
 * What a fix gains, in words: `−36.0 %`, `of a step`, `67.7 → 43.3 ms`, or at best and at worst `−74.8 to −25.3 %`, `of
 * a step`, `55.0 → 13.8 to 41.1 ms`; where there is none, `of` alone says why.
 */
export interface Gain { share: string; of: string; change: string }
/** Findings of a kind; `title` is empty for what is no fault, `gain` is that of all of them together. */
export interface FindingGroup { title: string; note: string; gain: string; findings: (Gain & { id: string })[] }
export type DutyDefinition = "ops" | "modules" | "capture";
export interface StepColumns {
  index: number[]; number: (number | null)[]; host: string[]; start_ps: number[]; duration_ps: number[]; device_busy_ps: number[];
  executions: number[]; compiles: number[]; early_syncs: number[]; input_syncs: number[]; from_device: number[];
  host_ps: Partial<Record<ClassName, number[]>>;
}
/**
 * What a device worked on for steps (indices), by start; those from `steps[0]` to before `steps[1]` are of its host.
 */
export interface StepWork { device: string; steps: [number, number]; step: number[]; start_ps: number[]; end_ps: number[] }
export interface Overview {
  /** Of a session of several hosts: which to look at first. */
  ranks: Ranks | null;
  verdict: { text: string; severity: Severity };
  /** The value is a share (duty) or ps; `text` is how it is shown, `note` what is left out of it. */
  figures: { name: "duty" | "step" | "work" | "idle"; value: number | null; text: string; meaning: string; note: string | null }[];
  devices: DeviceColumns;
  step_idle: { steps: number };
  /** Classes that are the cause of a gap. */
  gap_causes: ClassName[];
  steps: { source: string | null; count: number; partial: number; columns: StepColumns; work: StepWork[] };
  /** The gaps that findings explain, by id: how many, and those that each explains most of. */
  explains: Record<string, { count: number; places: { device: string; start_ps: number; duration_ps: number }[] }>;
  findings: Finding[]; groups: FindingGroup[]; counts: Record<string, number>; input: InputPipeline;
  transfers: Record<"to_device" | "from_device", Transfers>; collectives: OpTime[]; stalls: OpTime[];
  partial?: import("./types").PartOf;
}
/** Times are multiples of `unit_ps`; without whole steps `steps` is null. */
export interface DeviceColumns {
  unit_ps: number; host: string[]; name: string[];
  duty: Record<"span" | "busy" | "stall", Record<string, number[]>>;
  steps: (number | null)[]; small: number[]; edges: number[]; idle: Record<string, number[]>;
}
export interface DutyDevice {
  id: string; name: string; host: string; duty: Record<DutyDefinition, { span_ps: number; busy_ps: number; stall_ps: number }>;
}
/** Idle time of one device in the whole steps of its host; in its span where there are none. */
export interface DeviceTime { id: string; host: string; steps: number; small_ps: number; edges_ps: number; by_class_ps: ByClass }
/** How batches come; hidden are the shares of times in which a device works. */
export interface InputPipeline {
  kind: "mp_device_loader" | "tf_data" | "loader_threads" | "driving_thread" | "infeed" | null;
  verdict: "bound" | "partly_hidden" | "hidden" | "unknown"; share: number; batches: number; loader_threads: number;
  wait_ps: number; idle_ps: number; load_ps: number; load_hidden: number | null; send_ps: number; send_hidden: number | null; late_hosts: string[];
}
/** `sized` are those whose bytes are known. */
export interface Transfers { count: number; duration_ps: number; bytes: number | null; sized: number; per_step: number | null; bytes_per_step?: number | null }
/** The time of an op on all devices; the last row may be the sum of `more` others. */
export interface OpTime { op: string | null; more?: number; kind?: string; count: number; duration_ps: number; exposed_ps?: number }

export interface GapItem {
  index: number; device: string; host: string; start_ps: number; duration_ps: number;
  /** The same gap on several cores: the first one is the item's own. */
  devices: string[]; starts_ps: number[]; durations_ps: number[]; togethers_ps: (number | null)[]; cores: number;
  /** How long all cores of its host are idle; null where there is one. */
  together_ps: number | null;
  /** Its parts are those of the same gap on another core. */
  alike?: boolean;
  step: number | null; step_number: number | null; before: string | null; after: string | null;
  /** Whether the program waits in the middle of its run. */
  inside_run: boolean; kind: "starved" | "queued" | "unknown"; cause: ClassName; by_class_ps: ByClass;
  /** The findings that explain it, by the time of it that is theirs. */
  by_finding_ps: Record<string, number>;
}
export interface GapDetail extends GapItem {
  /** The mean of the same gap on all its `cores`. */
  mean_ps: number;
  /** How much more the largest limit gains than the mistake that the sentence names; empty where it does not. */
  more: string;
  /** `meanwhile`: what the driving thread did while the launch waited for a thread or for its run. */
  chain: { name: string; class: ClassName; thread: string; start_ps: number; duration_ps: number; event: string | null; meanwhile: { name: string; class: ClassName; duration_ps: number }[] }[];
  /** Those that explain it, the one with most of it first. */
  findings: Pick<Finding, "id" | "severity" | "title" | "advice">[];
  by_thread: { class: ClassName; thread: string; ps: number }[]; sentence: string;
  /** The gap of another host in the same step; `chain_ps` by name of an event. */
  beside: { host: string; device: string; start_ps: number; duration_ps: number; by_class_ps: ByClass; chain_ps: Record<string, number> } | null;
  /** Index of its pattern, and how many gaps that has. */
  pattern: number; occurrences: number;
}
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
export interface GapPattern {
  before: string | null; after: string | null; inside_run: boolean; count: number; total_ps: number; mean_ps: number; cause: ClassName;
  /** Per step and core, in whole steps; null without steps. */
  per_step_ps: number | null; min_ps: number; max_ps: number; by_class_ps: ByClass;
}
export interface Gaps {
  count: number; total_ps: number; listed_ps: number; by_class_ps: ByClass; items: GapItem[]; patterns: GapPattern[];
  /** Per device a hex digit per bucket of the session: the class of most of its gap time, f for none. */
  strip: { id: string; cause: string }[];
  /**
   * Idle time of all cores in whole steps, `edges_ps` of it before a core's first or after its last work; null without
   * steps.
   */
  step_idle: { idle_ps: number; edges_ps: number } | null;
  /** Titles by id. */
  findings: Record<string, string>;
}

export type Join = "exact" | "ordered" | "none";
export interface Costs { launches: number; count: number; host_ps: number; device_ps: number; queue_ps: number; overhead_ps: number }
export interface ExecutionRow extends Costs { program: string; program_ids: string[]; kind: "lazy" | "dynamo" | "other"; /** `exact`, `ordered`, `none`, or counts of several. */ join: string; causes: Cause[]; spread: Record<"host_ps" | "device_ps" | "queue_ps" | "overhead_ps", Spread> }
/** Of the runs of a program. */
export interface Spread { min: number; median: number; max: number }
/** Why launches of a program were asked for, as a debug log tells. */
export interface Cause { graph_hash: string | null; cause: string | null; frame: string | null; count: number }
export interface RunColumns {
  device: string[]; start_ps: number[]; duration_ps: number[]; program: string[]; launch_start_ps: (number | null)[];
  host_ps: number[]; queue_ps: number[]; overhead_ps: number[]; lead_ps: (number | null)[]; join: Join[];
}
export interface Executions {
  executions: ExecutionRow[]; kinds: Record<string, Costs>;
  /** What totals are divided by for one step and core; null without steps. */
  per_step: number | null;
  fit: { fixed_ps: number; n: number; slope: number } | null; runs: RunColumns | null;
  /** Index of the step whose runs these are, and the numbers of all steps. */
  step: number | null; steps: (number | null)[];
  between: { before: string | null; after: string | null; count: number; mean_ps: number; total_ps: number; cause: ClassName | null }[];
  lead: { median_ps: number; mean_ps: number; min_ps: number; max_ps: number } | null;
}

export interface CompileRow {
  start_ps: number; duration_ps: number; step: number | null; step_number: number | null; module: string | null;
  graph_hash: string | null; cause: string | null; frame: string | null; graph: string | null; warm_up: boolean;
  /** The whole stack that a debug log tells, innermost first. */
  frames: string[];
  annotation: string | null; host: string;
  /** Other graphs with modules of the same name. */
  kin: string[];
  /** Idle time that it explains, by device. */
  idle_ps: Record<string, number>;
  /** The edge of the capture that cuts it. */
  cut: 'start' | 'end' | 'both' | null;
  /** In words: `after warm-up, unfinished`. */
  state: string;
  /** What differs from the nearest graph, in words. */
  what_is_new: string | null;
  /** The title of its card, and why it was compiled. */
  heading: string; reason: string;
  /** What to do about it; none in the warm-up. */
  advice: string | null;
  /** Of the graphs that were there before, the one with the fewest other parameters. */
  nearest: { graph: string; parameters: { index: number; before: string | null; after: string | null }[]; differ: number; same: number } | null;
}
export interface CompileGraph {
  graph: string; module: string | null; program_ids: string[]; compiles: number; cost_ps: number;
  steps: Record<string, "compiled" | "run">;
}
export interface Counted {
  file: string; uncached: number | null; cached: number | null; fallbacks: Record<string, number>;
  rows: { what: string; metrics: number | null; since: number | null; trace: number; time_ps: number | null; agrees: boolean }[];
}
/** `step_hosts`: whose the steps are, in their order, and how many each has. */
export interface Compiles { compiles: CompileRow[]; graphs: CompileGraph[]; steps: (number | null)[]; step_hosts: [string, number][]; metrics: Counted | null; note: string | null; how_to_see_why: string }
