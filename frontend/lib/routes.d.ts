/** The answers of the routes. Generated from `tb_xla_insights/schema` by `make schema`. */

export type BatchKind = "decode" | "speculative" | "mixed" | "prefill" | "with_prefill" | "iteration";

export type BetterDirection = "lower" | "higher";

export type BoundBy = "compute" | "memory" | "link" | "wait" | "neither" | "unknown" | "mixed";

export type CaptureState = "waiting" | "tracing" | "collecting" | "done" | "error" | "cancelled";

export type ClassName = "tracing" | "sync_prepare" | "dynamo" | "compile" | "program_load" | "to_device" | "from_device" | "dispatch" | "wait" | "input" | "python" | "other" | "unrecorded";

export type Counted = "compile" | "execute" | "to_device" | "from_device";

export type Engine = "sparse_core" | "interconnect" | "host_memory" | "other_slice" | "other";

export type EnginePieceKind = "computing" | "collective" | "waiting" | "busy";

export type ExecutionKind = "lazy" | "dynamo" | "other";

export type FindingPlace = "in_step" | "between_steps" | "outside";

export type Framework = "torch_xla" | "torch_tpu" | "jax" | "tensorflow" | "unknown";

export type GapKind = "starved" | "queued" | "unknown";

export type HiddenKind = "hidden" | "partly_hidden" | "exposed";

export type HostsState = "compared" | "one_host" | "no_collectives" | "clocks_apart";

export type Join = "exact" | "ordered" | "none";

export type LateKind = "late" | "changing" | "none" | "unknown";

export type LoadStage = "reading" | "building" | "drawing";

export type Lost = "flag off" | "autograd thread" | "dynamo" | "no ops of its own" | "optimised away";

export type MeasureUnit = "ps" | "share" | "count" | "rate";

export type NeededTableKind = "idle" | "host" | "waits" | "work" | "hosts" | "iteration";

export type OpKind = "work" | "wait" | "start" | "collective" | "transfer" | "callback" | "container";

export type Part = "no_requests" | "schedule" | "build" | "to_device" | "launch" | "wait" | "results" | "compile" | "other" | "unrecorded";

export type Presence = "both" | "only_a" | "only_b" | "changed";

export type ReadingState = "waiting" | "reading" | "building" | "ready" | "error";

export type RungKind = "fixed" | "pace" | "own";

export type Runtime = "xrt" | "pjrt" | "unknown";

export type SchedulingKind = "sync" | "ahead" | "drained";

export type Severity = "critical" | "warning" | "info";

export type StatType = "int" | "float" | "text" | "bytes";

export type StepPartKind = "computing" | "collective" | "wait" | "late" | "idle" | "short_gaps";

export type StepSource = "annotation" | "steps_line" | "step_marker" | "modules";

export type TestVerdict = "better" | "worse" | "same" | "chance" | "few";

export type TimelineRowKind = "steps" | "annotations" | "classes" | "thread" | "gaps" | "modules" | "ops" | "scopes" | "async" | "stream" | "sparse_core";

export type VerdictSeverity = "critical" | "warning" | "info" | "good";

export type WaitCause = "bottleneck" | "order" | "late" | "dependent" | "peer" | "slack" | "bandwidth" | "not_traced";

export type WindowPieceKind = "under_way" | "hidden" | "waiting";

/** One path of annotations or scopes. */
export interface Annotation {
  /** Names from the outermost one, joined by `/`. An outermost name of other threads that the driving thread has as well ends in ` (other threads)`. */
  path: string;
  /** `scope`: a function or name scope of JAX or TensorFlow without an annotation. */
  kind: "annotation" | "scope";
  /** Thread that has it; of several the first, with the number of others; `null`: the driving thread, or a scope. */
  thread: string | null;
  /** Number of events on the host. */
  count: number;
  /** Host time, summed over threads. */
  host_ps: number;
  /** Own time of its ops on all devices, with those of the paths inside. */
  device_ps: number;
  /** Number of its ops. */
  device_ops: number;
  /** Number of launches of programs with its ops. */
  executions: number;
  /** Why no op carries its name; `null` if one does, if the framework never names ops after annotations, or on other threads than the driving one. */
  lost: Lost | null;
  /** Ids of the programs with its ops. */
  programs: string[];
}

/** One path of annotations or scopes; means are per step, those of device times also per device. */
export interface AnnotationNode {
  /** Names from the outermost one, joined by `/`. An outermost name of other threads that the driving thread has as well ends in ` (other threads)`. */
  path: string;
  /** `scope`: a function or name scope of JAX or TensorFlow without an annotation. */
  kind: "annotation" | "scope";
  /** Thread that has it; of several the first, with the number of others; `null`: the driving thread, or a scope. */
  thread: string | null;
  /** Number of events on the host. */
  count: number;
  /** Host time, summed over threads. */
  host_ps: number;
  /** Own time of its ops on all devices, with those of the paths inside. */
  device_ps: number;
  /** Number of its ops. */
  device_ops: number;
  /** Number of launches of programs with its ops. */
  executions: number;
  /** Why no op carries its name; `null` if one does, if the framework never names ops after annotations, or on other threads than the driving one. */
  lost: Lost | null;
  /** The last of the path's names. */
  name: string;
  /** Number of paths that enclose it. */
  depth: number;
  /** Number of programs with its ops. */
  programs: number;
  /** Mean host time. */
  mean_host_ps: number;
  /** Mean device time. */
  mean_device_ps: number;
  /** Host time in the step. */
  step_host_ps: number;
  /** Device time of the step on the device. */
  step_device_ps: number;
  /** Number of its ops of the step on the device. */
  step_device_ops: number;
  /** From the first to the last of its annotations in the step; `null` without any. */
  host_interval: [number, number] | null;
  /** From the first to the last of its ops of the step on the device; `null` without any. */
  device_interval: [number, number] | null;
  /** Index into `phases`; `null` if it is no phase. */
  phase: number | null;
}

/** How far annotations reached the devices, and in which order. */
export interface AnnotationOrder {
  /** Own time of all ops. */
  device_ps: number;
  /** Of ops whose own op name has a scope. */
  direct_ps: number;
  /** Of ops whose scope comes from what they consist of or call, or, for copies, from their neighbours. */
  recovered_ps: number;
  /** Of ops with an op name but without a scope. */
  bare_ps: number;
  /** Of ops without an op name. */
  none_ps: number;
  /** `runs` of the program with most device time. */
  runs: number;
  /** `phases` of that program. */
  phases: number;
  /** `inversion_share` of that program. */
  inversion_share: number;
  /** One row per program. */
  programs: ProgramOrder[];
}

/** One server's part of a capture. */
export interface CapturedHost {
  /** Address of the server. */
  address: string;
  /** What the server does, or how its capture ended. */
  state: CaptureState;
  /** Why it failed or is tried again; `null` without an error. */
  message: string | null;
  /** Size of the file; 0 until it is written. */
  bytes: number;
}

/** Why a graph was executed, from a debug log. */
export interface Cause {
  /** Hash of the graph; `null` if the log does not name it. */
  graph_hash: string | null;
  /** What forced the execution; `null` if the log does not record it. */
  cause: string | null;
  /** Line of Python that caused it; `null` without a stack in the log. */
  frame: string | null;
  /** Number of executions. */
  count: number;
}

/** One activity of the host in a gap, or the wait of the gap's launch for a thread or for its run. */
export interface ChainLink {
  /** What the host does. */
  class: ClassName;
  /** Name of the event, or a common name of several. */
  name: string;
  /** Name of the thread; of the one that has yet to take the work up, or of the device, where a launch waits. */
  thread: string;
  /** Start, not before the gap's. */
  start_ps: number;
  /** Duration within the gap. */
  duration_ps: number;
  /** Id of the event; `null` where nothing was recorded. */
  event: string | null;
  /** For a waiting launch, what the driving thread did, most time first; else empty. */
  meanwhile: Meanwhile[];
}

/** Result of the significance test for the difference in the verdict. */
export interface Chance {
  /** Name of the figure in `measures`; `null` if the verdict is `unknown`. */
  measure: string | null;
  /** Probability that chance alone causes such a difference; `null` where it was not tested. */
  p: number | null;
  /** Largest difference, as a share of A's value, that may be chance; `null` if the tested difference is larger, or if none was tested. */
  share: number | null;
  /** The same in words; `null` if the verdict is `unknown`. */
  text: string | null;
}

/** The hosts and steps in which a host was last or is charged with waiting, as columns. */
export interface Charges {
  /** The host. */
  host: number[];
  /** The step. */
  step: number[];
  /** How many times it was last. */
  last_count: number[];
  /** How long the others waited for it. */
  others_wait_us: number[];
}

/** `data/session` of a session of which chosen hosts are in memory. */
export interface ChosenHostsReady {
  /** The rows in drawing order. */
  rows: TimelineRow[];
  /** Whether the rows of gaps, scopes and asynchronous ops are still missing; `data/scopes` computes them. */
  more_rows: boolean;
  /** The names of phases, in their usual order in a step. */
  phases: string[];
  /** By name of an annotation, the names of those directly below it, the longest in total first; at most 24 each. */
  annotations: Record<string, string[]>;
  /** The classes of host time that the rows show. */
  classes: ClassName[];
  /** The whole session. */
  strip: OverviewStrip;
  /** The session. */
  session: SessionHead;
  /** Framework, runtime and accelerator. */
  environment: Environment;
  /** Limitations of the analysis. */
  diagnostics: Diagnostic[];
  /** The devices. */
  devices: DeviceSummaries;
  /** Indices of the hosts whose rows these are; absent if all hosts are in memory. */
  chosen_hosts?: number[];
  /** The hosts to look at first; absent if all hosts are in memory. */
  ranks?: HostRanks;
  /** The session is in memory. */
  state: "ready";
  /** Fingerprint of the files that were read. */
  fingerprint: string;
  /** Whether the files have changed since. */
  changed: boolean;
  /** Number of hosts that were read. */
  hosts_read: number;
  /** Number of hosts of the session. */
  hosts_total: number;
}

/** The shown work, in the form of the route's arguments. */
export interface ChosenWork {
  /** A core `31.2` (index of the host, and of the core), a host `31`, or `all`. */
  cores: string;
  /** A step, `mean` (of all whole steps) or `all` (the session). A step is given by its number, `7`; if several steps of the host have it, also by the index in the report's `steps`, `7.12`; without numbers by the index alone. */
  steps: string;
  /** The category of the ops; `null` for any. */
  category: string | null;
}

/** Mean host time per step of one class, `null` in a session without steps; all rows add up to the mean step. */
export interface ClassDifference {
  /** What the host does. */
  class: ClassName;
  /** In A; `null` if there is none. */
  a_ps: number | null;
  /** In B; `null` if there is none. */
  b_ps: number | null;
  /** B − A; `null` if either is. */
  difference_ps: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
  /** Which direction is better; `null` if neither is. */
  better: BetterDirection | null;
  /** Probability that chance alone causes such a difference; `null` where it was not tested. */
  p: number | null;
  /** Largest difference, as a share of A's value, that may be chance; `null` if the tested difference is larger, if none was tested, if A is 0, and in `device_work`, whose rows are tested together. */
  chance: number | null;
  /** `better` or `worse`: B than A; `same`: at most 3 % apart; `chance`: may be chance; `few`: too few steps to test; `null`: not tested, or neither direction is better. */
  verdict: TestVerdict | null;
}

/** `data/collective`. */
export interface CollectiveAnswer {
  /** The collective; `null` if there is none, or if its arrivals cannot be compared. */
  collective: CollectiveArrivals | null;
}

/** One collective, and who waits in it. */
export interface CollectiveArrivals {
  /** Name of the op. */
  name: string;
  /** Kind of the collective. */
  kind: string;
  /** The host that arrives last. */
  last_host: string;
  /** Number of hosts that take part. */
  hosts: number;
  /** Number of hosts that wait longer than the clocks' uncertainty. */
  waiting: number;
  /** The longest wait. */
  longest_ps: number;
  /** Sum of the waits. */
  waits_ps: number;
  /** The clocks' largest uncertainty. */
  uncertainty_ps: number;
  /** The ops on the hosts shown. */
  cores: CollectiveCores;
}

/** The ops of a collective on the hosts shown; a core that does not wait has 0 in `waits_ps`. */
export interface CollectiveCores {
  /** Ids of the devices. */
  device: string[];
  /** Index of the op's lane in the row of ops. */
  depth: number[];
  /** Start of the wait. */
  start_ps: number[];
  /** Arrival of the last host. */
  last_arrival_ps: number[];
  /** End of the op. */
  end_ps: number[];
  /** Length of the wait. */
  waits_ps: number[];
  /** Arrival of the core: when it begins the collective. */
  begin_ps: number[];
}

/** The time of a collective on all devices; the last row may be the sum of `summed_ops` others. */
export interface CollectiveSum {
  /** Name of the op; `null` in the row with the sums of the others. */
  op: string | null;
  /** Number of ops in the row with the sums of the others. */
  summed_ops?: number;
  /** Number of events. */
  count: number;
  /** Their time. */
  duration_ps: number;
  /** Kind of the collective. */
  kind?: string;
  /** The part of the time in which nothing else runs on the device. */
  exposed_ps: number;
  /** The same of the events that begin in whole steps; 0 without steps. */
  exposed_in_steps_ps: number;
}

/** Sums over collectives. */
export interface CollectiveTotals {
  /** Number of events. */
  count: number;
  /** Their time. */
  duration_ps: number;
  /** The part of it in which nothing else runs on the device. */
  exposed_ps: number;
}

/** `data/compare`: two sessions side by side; long tables are cut. */
export interface CompareAnswer {
  /** Increases if a key changes its meaning or is removed. */
  schema: number;
  /** The session to compare with. */
  a: ComparedSession;
  /** The session that is compared. */
  b: ComparedSession;
  /** What the comparison says in one to three sentences. */
  verdict: CompareVerdict;
  /** Result of the significance test for the difference in the verdict. */
  chance: Chance;
  /** Of A's findings that recur and gain at least 3 % of a step, those that B no longer has; empty if a session has no steps, or if the setups or the samples per step differ. */
  predictions: Prediction[];
  /** Figures of both. */
  measures: Measure[];
  /** Host time per step by class. */
  classes: ClassDifference[];
  /** By path of annotation. */
  annotations: ComparedAnnotation[];
  /** By program; most device time first. */
  programs: ComparedProgram[];
  /** Idle time. */
  gaps: ComparedGaps;
  /** Compilations by module; most time first. */
  compiles: ComparedCompiles[];
  /** `null` unless one session is lazy and the other dynamo. */
  lazy_dynamo: LazyDynamo | null;
  /** The table of speed-ups from a file of pairs, with `--pairs`. */
  pairs?: Pairs;
  /** The sentences of the verdict in parts, every second of which is emphasised. */
  lead: string[];
  /** Sum of `classes`. */
  class_total: TimePair;
  /** Device time of ops. */
  device_work: ListedWork;
  /** Steps of both. */
  steps: ListedSteps;
  /** Sums of `device_work.annotations` before it is cut. */
  device_time: DeviceTime;
  /** Lengths of the tables before they are cut. */
  row_counts: RowCounts;
  /** The default step of both. */
  step: DefaultSteps;
}

/** What the comparison says in one to three sentences. */
export interface CompareVerdict {
  /** The sentences: how B's steps, or runs, differ from A's, and why. */
  text: string;
  /** The verdict of the headline's row in `measures`, `null` if that row has none; `unknown`: a session has no steps, and no program runs in both. */
  verdict: "better" | "worse" | "same" | "chance" | "few" | "unknown" | null;
  /** The program, as named in A, by whose runs the sessions are compared, because one has no steps; `null`: by steps, or not at all. */
  program: string | null;
}

/** One path of annotations. */
export interface ComparedAnnotation {
  /** Path of the annotation. */
  path: string;
  /** Whether it is a child of the step's annotation, or, if none is a step, of an outermost one; only then `host` is tested. */
  phase: boolean;
  /** Its row in A's report; `null` if A lacks it. */
  a: Annotation | null;
  /** Its row in B's report; `null` if B lacks it. */
  b: Annotation | null;
  /** Host time per step; of the whole capture if the session has no steps. */
  host: TestedTimePair;
  /** Device time per step; of the whole capture if the session has no steps. */
  device: TimePair;
}

/** Compilations of one module. */
export interface ComparedCompiles {
  /** In A; `null` if there is none. */
  a_ps: number | null;
  /** In B; `null` if there is none. */
  b_ps: number | null;
  /** B − A; `null` if either is. */
  difference_ps: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
  /** Name of the module, else the graph's hash, else `unknown graph`. */
  module: string;
  /** Number of compilations in A and in B. */
  count: number[];
}

/** Idle time per step and core; `null` where a session has no steps or no device work. */
export interface ComparedGaps {
  /** Number of gaps of at least 10 µs in A and in B, of all devices in the whole capture. */
  count: number[];
  /** All idle time. */
  idle: TimePair;
  /** By what the host did. */
  classes: GapClass[];
  /** In gaps below 10 µs. */
  small: TimePair;
}

/** A program of either session. */
export interface ComparedProgram {
  /** Name, A's where A has it. */
  program: string;
  /** Name in B; `null` where B has none. */
  program_b: string | null;
  /** `base`: the names differ only in the number at the end; `null`: only one session has it. */
  match: "name" | "base" | null;
  /** What launched it. */
  kind: ExecutionKind;
  /** Totals in A; `null` if A lacks it. */
  a: ProgramTotals | null;
  /** Totals in B; `null` if B lacks it. */
  b: ProgramTotals | null;
  /** Mean host time of a run: the sum of the following three; `null` if no launch is known. */
  host: TimePair;
  /** Mean device time of a run. */
  device: TestedTimePair;
  /** Mean queue time of the runs whose launch is known. */
  queue: TimePair;
  /** Mean overhead of the runs whose launch is known. */
  overhead: TestedTimePair;
}

/** One of the two sessions. */
export interface ComparedSession {
  /** The session. */
  session: SessionHead;
  /** Framework, runtime and accelerator. */
  environment: Environment;
  /** Number of devices. */
  devices: number;
  /** Number of whole steps. */
  steps: number;
  /** What steps are found by; `null` without steps. */
  source: StepSource | null;
  /** What launched the device's work: `dynamo` if dynamo launched any of it. */
  kind: ExecutionKind;
  /** The framework and `kind` as text, such as `PyTorch/XLA (lazy)`; the framework alone for `other`. */
  launched_by: string;
  /** Samples per second; `null` if unknown. */
  throughput: Throughput | null;
  /** Sums. */
  totals: Totals;
}

/** Own time per step and core of the ops in one annotation. */
export interface ComparedWork {
  /** Path of the annotation; `null`: ops without one. */
  path: string | null;
  /** In A; `null` if there is none. */
  a_ps: number | null;
  /** In B; `null` if there is none. */
  b_ps: number | null;
  /** B − A; `null` if either is. */
  difference_ps: number | null;
  /** The difference as a share of A's mean step, or run; `null` if that takes no time. */
  of_step: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
  /** The sessions that have it; `changed`: both have ops there, with other names or shapes. */
  presence: Presence;
  /** Which direction is better; `null` if neither is. */
  better: BetterDirection | null;
  /** Probability that chance alone causes such a difference; `null` where it was not tested. */
  p: number | null;
  /** Largest difference, as a share of A's value, that may be chance; `null` if the tested difference is larger, if none was tested, if A is 0, and in `device_work`, whose rows are tested together. */
  chance: number | null;
  /** `better` or `worse`: B than A; `same`: at most 3 % apart; `chance`: may be chance; `few`: too few steps to test; `null`: not tested, or neither direction is better. */
  verdict: TestVerdict | null;
}

/** One compilation, in words too. */
export interface CompileRow {
  /** Name of the compiled module; `null` if the capture does not record it. */
  module: string | null;
  /** Name of the host. */
  host: string;
  /** Index of the step; `null` outside of steps. */
  step: number | null;
  /** Number of the step; `null` outside of steps, and if the capture does not number them. */
  step_number: number | null;
  /** Start of the part in the capture. */
  start_ps: number;
  /** Duration of the part in the capture. */
  duration_ps: number;
  /** The edge of the capture that cuts it: begun before (`start`), unfinished (`end`); `null` if none does. */
  cut: "start" | "end" | "both" | null;
  /** Idle time in gaps of at least 10 µs while the host compiles it, by id of the device; devices without any are left out. */
  idle_ps: Record<string, number>;
  /** What is new against the nearest graph: a parameter that grows, shrinks, has another shape or dtype; other parameters, or none is new and some are gone (`fewer_parameters`); with equal parameters other code, only other bounds of slices, only other constants, only another placement of arrays (sharding), or nothing (`same_hlo`); `other_graph`: no graph is near; `null`: the program is not known, or its HLO is not in the capture or cannot be read. */
  change: "grows" | "shrinks" | "shape" | "dtype" | "parameters" | "fewer_parameters" | "code" | "slices" | "constants" | "placement" | "same_hlo" | "other_graph" | null;
  /** The same as a sentence; `null` where `change` is. */
  difference: string | null;
  /** The nearest graph; `null` if no graph is near, or where `change` is. */
  nearest: NearestGraph | null;
  /** Whether the nearest graph's HLO is the same; `null` without one. */
  same_hlo: boolean | null;
  /** Hash of the graph; `null` if the capture does not record it. */
  graph_hash: string | null;
  /** Name of the graph in the report: its hash, else the module's name; `null` without both. */
  graph: string | null;
  /** Other graphs with modules of the same name. */
  graphs_of_same_name: string[];
  /** Id of the compiled program; `null` if it is not known. */
  program_id: string | null;
  /** Whether it belongs to the warm-up. */
  warm_up: boolean;
  /** Path of the innermost annotation around it; `null` without one. */
  annotation: string | null;
  /** Line of Python that caused it, from a log; `null` if unknown. */
  frame: string | null;
  /** Its Python stack from a debug log, innermost frame first; empty without one. */
  frames: string[];
  /** What forced it, from a log; `null` if unknown. */
  cause: string | null;
  /** Id of the event in the timeline. */
  event: string;
  /** Whether it belongs to the warm-up, and which edge of the capture cuts it: `after warm-up, unfinished`. */
  state: string;
  /** What differs from the nearest graph, in words; `null` if the file has no HLO to compare. */
  what_is_new: string | null;
  /** The title of its card. */
  heading: string;
  /** Why it was compiled. */
  reason: string;
  /** What to do about it; `null` in the warm-up. */
  advice: string | null;
}

/** Sums over compilations. */
export interface CompileTotals {
  /** Number of compilations. */
  count: number;
  /** Number of those after the warm-up. */
  after_warm_up: number;
  /** Their time. */
  duration_ps: number;
}

/** `data/compiles`: compilations, and the graphs by step. */
export interface Compiles {
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** The compilations. */
  compiles: CompileRow[];
  /** The graphs that were compiled or ran, most compilations first; at most 100. */
  graphs: GraphRow[];
  /** Number of graphs. */
  graph_count: number;
  /** The numbers of all steps; the index where a step has no number. */
  steps: number[];
  /** The hosts of the steps in their order, and the number of steps of each. */
  step_hosts: [string, number][];
  /** The counts of a metrics report; `null` without one. */
  metrics: CountedMetrics | null;
  /** Where causes come from; `null` where no cause is known. */
  note: string | null;
  /** How to record why graphs are compiled. */
  how_to_record_causes: string;
}

/** Host time of executions and its three parts; all but the device's are `null` if no launch is known. */
export interface Costs {
  /** Sum of the others. */
  host_ps: number | null;
  /** Device time. */
  device_ps: number;
  /** Queue time. */
  queue_ps: number | null;
  /** Overhead. */
  overhead_ps: number | null;
}

/** Costs of the runs of one program or several. In means, runs whose launch is not known count as the mean of their program's others; totals lack their queue time and overhead. */
export interface CostsByBasis {
  /** Means of a run. */
  run: Costs;
  /** Of a whole step on a core; `null` if no whole step launched a run. */
  step: Costs | null;
  /** Sums over all runs. */
  total: Costs;
}

/** The counts of a metrics report beside the capture. */
export interface CountedMetrics {
  /** Name of the file. */
  file: string;
  /** One row per operation. */
  rows: MetricsRow[];
  /** Number of compilations; `null` if the report does not count them. */
  uncached_compiles: number | null;
  /** Number of times that a compiled graph was found in the cache; `null` if the report does not count them, or torch.compile cleared the counter. */
  cached_compiles: number | null;
  /** Calls of ops that ran on the CPU, by op; `null` if torch.compile cleared the counters and none is left. */
  fallbacks: Record<string, number> | null;
  /** The graphs that were compiled and found in the cache, and the ops that ran on the CPU. */
  text: string;
}

/** `data/counts`. */
export interface Counts {
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** The numbers beside the names of the views. */
  counts: ViewCounts;
}

/** Own time of ops by the source of their scope. */
export interface Coverage {
  /** Own time of all ops. */
  device_ps: number;
  /** Of ops whose own op name has a scope. */
  direct_ps: number;
  /** Of ops whose scope comes from what they consist of or call, or, for copies, from their neighbours. */
  recovered_ps: number;
  /** Of ops with an op name but without a scope. */
  bare_ps: number;
  /** Of ops without an op name. */
  none_ps: number;
}

/** The step of median duration, which other views show first as well. */
export interface DefaultStep {
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
  /** Number that the program gave the step; `null` if it gave none. */
  number: number | null;
  /** Name of the step. */
  name: string;
  /** Its phases on the host that overlap it; of many the first. */
  phases: StepPhase[];
  /** What the host does. */
  host: StepClass[];
  /** Id of the first device; `null` without devices. */
  device: string | null;
  /** The runs of the first device; of many the first. */
  runs: StepRun[];
  /** The gaps of the first device; of many the longest. */
  gaps: StepGap[];
  /** Whether there are more phases, runs or gaps. */
  is_cut: boolean;
}

/** The default step of both sessions. */
export interface DefaultSteps {
  /** A; `null` without steps. */
  a: DefaultStep | null;
  /** B; `null` without steps. */
  b: DefaultStep | null;
}

/** `data/device`: the work of chosen devices in chosen steps. */
export interface DeviceAnswer {
  /** Increases if a key changes its meaning or is removed. */
  schema: number;
  /** What is shown. */
  chosen: ChosenWork;
  /** Whether a default is shown because the session does not have what was requested. */
  stale: boolean;
  /** The steps of the first shown host, in the form of `chosen.steps`; at most 2,000, around the one shown. */
  steps: string[];
  /** Number of whole steps of that host. */
  whole_steps: number;
  /** The listed ops. */
  ops: OpColumns;
  /** Names of their programs. */
  programs: string[];
  /** Their lines of Python. */
  sources: string[];
  /** Ids of the timeline's rows with their longest events. */
  rows: string[];
  /** Categories of ops of any category, most time first. */
  categories: string[];
  /** Peaks that shares refer to. */
  peaks: Peaks;
  /** The peaks in words. */
  peaks_text: string;
  /** Why there is no roof, as a clause; empty if both peaks are known. */
  missing_peaks: string;
  /** Sums over the shown ops. */
  total: WorkTotal;
  /** Paths of the annotations that others refer to by index. */
  paths: string[];
  /** By annotation. */
  tree: WorkTree;
  /** Sums of the ops that are not listed. */
  rest: RestOps[];
  /** What the devices are busy with, and how efficiently. */
  verdict: WorkVerdict;
  /** Sentences on ops without FLOPs, and on the roofline. */
  notes: WorkNotes;
  /** Number of chosen cores. */
  cores: number;
  /** The divisor of sums for one core, and for one step unless the whole session is shown. */
  core_steps: number;
  /** The hosts whose work is shown. */
  hosts: ShownHosts;
}

/** The devices, a column per property; the id of a device is `<host>/<name>`. */
export interface DeviceColumns {
  /** The unit of all times here: 1, or a larger power of ten for many devices. */
  unit_ps: number;
  /** Names of the hosts. */
  host: string[];
  /** Names of the devices. */
  name: string[];
  /** From the start of the first op or run to the end of the last. */
  span: number[];
  /** Time in ops. */
  busy: number[];
  /** The part of busy time in ops that only wait. */
  stall: number[];
  /** Number of whole steps of the host; `null` for a device that the mean step leaves out. */
  steps: (number | null)[];
  /** Idle time in gaps below 10 µs, in whole steps. */
  small: number[];
  /** Idle time before the first and after the last work, in whole steps; also part of `idle`. */
  edges: number[];
  /** Idle time in whole steps except `small`, by what the host did. */
  idle: Partial<Record<ClassName, number[]>>;
}

/** The device that is shown. */
export interface DeviceName {
  /** Id of the device. */
  id: string;
  /** Name on its host. */
  name: string;
}

/** Peaks of one kind of device; `null` where they are not known. */
export interface DevicePeak {
  /** Kind of the device. */
  kind: string;
  /** Number of devices. */
  count: number;
  /** Peak FLOP/s. */
  flops_per_s: number | null;
  /** Peak bytes/s of the main memory. */
  bytes_per_s: number | null;
  /** The capture itself, or the product's table of published figures. */
  source: "table" | "capture" | null;
  /** Address of the publication of a peak from the table; else `null`. */
  cite: string | null;
}

/** An uninterrupted sequence of ops of one phase on the device, or several that could not be drawn apart. */
export interface DevicePhase {
  /** Index into `phases`; `null` for ops without a phase. */
  phase: number | null;
  /** Start of its first op. */
  start_ps: number;
  /** End of its last op. */
  end_ps: number;
  /** Own time of its ops. */
  device_ps: number;
  /** Number of its ops. */
  ops: number;
  /** Its first run, as an index into `runs`. */
  run: number;
  /** Whether it begins after a later phase has begun. */
  inverted: boolean;
  /** Number of sequences that are one here: neighbours of the phase, and short ones of the phase that begin in the same twentieth of the step's work. 1: not merged. */
  merged: number;
}

/** Ops of an annotation that no other op interrupts; of more than 24 on a device, the closest ones are one. */
export interface DevicePiece {
  /** Start of the first op. */
  start_ps: number;
  /** End of the last op. */
  end_ps: number;
  /** How long after its run's start it begins. */
  after_ps: number;
  /** Own time of the ops. */
  device_ps: number;
  /** Number of ops. */
  ops: number;
  /** Number of pieces that are one here. */
  count: number;
  /** How the annotation was found: named, inferred, or both with a share. */
  named: string;
  /** The longest op; `null` if no row shows it. */
  longest: EventSummary | null;
  /** The line of Python of the longest op; empty if unknown. */
  source: string;
}

/** The causes of a device's gaps along the session. */
export interface DeviceStrip {
  /** Id of the device. */
  id: string;
  /** A hexadecimal digit per bucket of the session: the index of the class with most gap time, `f` without a gap. */
  causes: string;
}

/** The devices, a column per property; the id of a device is `<host>/<name>`. */
export interface DeviceSummaries {
  /** The unit of all times here: 1, or a larger power of ten for many devices. */
  unit_ps: number;
  /** Names of the hosts. */
  host: string[];
  /** Names of the devices. */
  name: string[];
  /** Kinds of the devices. */
  kind: ("tpu" | "gpu" | "cpu" | "other")[];
  /** Numbers of program runs. */
  modules: number[];
  /** Numbers of op events. */
  ops: number[];
  /** Busy time. */
  busy: number[];
  /** Idle time in the span. */
  idle: number[];
  /** The part of busy time in ops that only wait. */
  stall: number[];
  /** Busy time over span. */
  duty_cycle: number[];
}

/** Time of all device ops per step and core, with those of rows that are not listed. */
export interface DeviceTime {
  /** All ops; 0 if a session has no steps. */
  all: TimePair;
  /** The share of it in ops with an annotation, in A and in B; `null` without time. */
  annotated_share: (number | null)[];
}

/** Sums over devices. */
export interface DeviceTotals {
  /** Spans. */
  span_ps: number;
  /** Busy time. */
  busy_ps: number;
  /** Idle time. */
  idle_ps: number;
  /** Time in ops that only wait. */
  stall_ps: number;
}

/** The work of an annotation on one device. */
export interface DeviceWork {
  /** Id of the device. */
  device: string;
  /** Time, number of ops and of pieces, in words. */
  text: string;
  /** When the work runs, and how it was found, in words. */
  note: string;
  /** Number of ops. */
  ops: number;
  /** Number of pieces. */
  count: number;
  /** Start and end of the runs with these ops. */
  runs: [number, number][];
  /** The pieces, by start. */
  pieces: DevicePiece[];
}

/** What limits the analysis: damage, missing data, contradictions. */
export interface Diagnostic {
  /** Name of the diagnostic; docs/findings.md explains each. */
  id: string;
  /** How much it limits what the report says. */
  severity: "info" | "warning" | "error";
  /** One sentence. */
  message: string;
  /** The host that it is about, where it is about one. */
  host?: string;
  /** Number of hosts with this diagnostic, in place of `host`. */
  hosts?: number;
}

/** A piece of an engine's time; times are relative to the run's start. */
export interface EnginePiece {
  /** What the engine does. */
  kind: EnginePieceKind;
  /** Short name of the asynchronous op that it works on, or that the device waits for; `null` if there is none, if it is not known, or for several ops. */
  op: string | null;
  /** When it begins. */
  start_ps: number;
  /** When it ends. */
  end_ps: number;
  /** How much of that time it takes. */
  ps: number;
}

/** What an engine does in the shown run. */
export interface EngineRow {
  /** `TensorCore`, `SparseCore 0`; on other devices than TPUs the device's name. */
  name: string;
  /** Whether the capture shows what it does. */
  traced: boolean;
  /** Time in which the device computes or exchanges data; in which a SparseCore works, 0 if that is not traced. */
  busy_ps: number;
  /** The part of it in which the device computes. */
  computing_ps: number;
  /** The pieces; pieces closer than a pixel are one, and those too short to be seen are left out. */
  pieces: EnginePiece[];
}

/** `data/engines`: what a device's engines do, and what the device waits for. */
export interface EnginesAnswer {
  /** Number of asynchronous ops in the session. */
  async_ops: number;
  /** Id of the shown device; `null` if the session has none. */
  device: string | null;
  /** Whether another device is shown because the session does not have the one requested. */
  stale: boolean;
  /** `null` if the device has no program run. */
  of_device: EnginesOfDevice | null;
}

/** What a device and its engines do in the runs of its main program, the one with most time of those with asynchronous ops. */
export interface EnginesOfDevice {
  /** Name of the program. */
  program: string;
  /** Number of its runs on the device. Times are sums over these. */
  runs: number;
  /** Their duration. */
  duration_ps: number;
  /** Time in which the device computes. */
  computing_ps: number;
  /** Time in which it exchanges data and does nothing else. */
  collectives_ps: number;
  /** Time in which it waits for each engine. */
  waits_ps: Partial<Record<Engine, number>>;
  /** xprof's duty cycle over the device's span; `null` without ops. */
  duty_cycle_xprof: number | null;
  /** What the device does, in a sentence. */
  headline: string;
  /** Why it waits longest, and what to do. */
  details: string;
  /** At most 12 ops with at least 1 % of the waits and 0.1 % of the time, and the others in one row. Waits add up to those of `waits_ps`. */
  waits: WaitRow[];
  /** One of the runs. */
  shown: ShownRun;
  /** The 12 transfers between slices with most waiting, in all runs of all programs. */
  slice_transfers: ShownTransfer[];
  /** Number of the others. */
  more_slice_transfers: number;
}

/** Framework, runtime and accelerator. */
export interface Environment {
  /** The framework that drives the devices. */
  framework: Framework;
  /** The runtime below it. */
  runtime: Runtime;
  /** Kind of the devices, as the capture names it. */
  accelerator: string;
  /** Whether any op carries the name of a scope. */
  hlo_scopes: boolean;
  /** Whether the capture was generated, not recorded. */
  synthetic: boolean;
  /** Framework, runtime and devices in one line. */
  label: string;
}

/** `data/event`: one event. */
export interface EventDetails {
  /** What the host does; `null` for an event without a class, such as an op of a device. */
  class: ClassName | null;
  /** Id of the event; `null` for slices that are no events, such as those of classes and scopes. */
  event: string | null;
  /** Id of its row. */
  row: string;
  /** Index of its lane in that row. */
  depth: number;
  /** Name of the event. */
  name: string;
  /** Name of the thread, or label of the row. */
  thread: string;
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
  /** The whole name, if `name` is a short or a cut one; else `null`. */
  title: string | null;
  /** Name of the host. */
  host: string;
  /** Own time. */
  self_ps: number;
  /** The events that enclose it, outermost first; of more than 200 the outermost and the innermost 100. */
  path: EventSummary[];
  /** Number of events that `path` leaves out in its middle. */
  path_left_out: number;
  /** Facts about the event, then its stats. */
  stats: StatOfEvent[];
  /** The events that flows link with it. */
  flow: EventFlow;
  /** The first three launches of an annotation's work, of a call, or of a run. */
  launches: LaunchOfEvent[];
  /** Number of the others. */
  launches_left_out: number;
  /** The work of an annotation on devices; `null` for other events. */
  on_device: OnDevice | null;
  /** The events of the same name. */
  occurrences: Occurrences;
}

/** The events that flows link with an event, on each side the first 256 by start. */
export interface EventFlow {
  /** The events that hand work over to it. */
  from: EventSummary[];
  /** The events that take its work up. */
  to: EventSummary[];
  /** The number of events beyond these, on both sides. */
  left_out: number;
}

/** An event, for lists. */
export interface EventSummary {
  /** What the host does; `null` for an event without a class, such as an op of a device. */
  class: ClassName | null;
  /** Id of the event; `null` for slices that are no events, such as those of classes and scopes. */
  event: string | null;
  /** Id of its row. */
  row: string;
  /** Index of its lane in that row. */
  depth: number;
  /** Name of the event. */
  name: string;
  /** Name of the thread, or label of the row. */
  thread: string;
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
}

/** `data/table`: the events of rows in a window. */
export interface EventTable {
  /** Number of events. */
  count: number;
  /** The first of them, by start. */
  items: EventSummary[];
}

/** Own time of the events of one name on one thread. */
export interface EventTime {
  /** Name of the events. */
  name: string;
  /** The class with most of the name's own time; `null`: most of it has no class. */
  class: ClassName | null;
  /** Number of events. */
  count: number;
  /** Own time in the window. */
  self_ps: number;
}

/** All runs of a program. */
export interface ExecutionRow {
  /** Name of the program. */
  program: string;
  /** Ids of the programs with that name, decimal strings. */
  program_ids: string[];
  /** What launched most of the runs whose launch is known; `other` if none is. */
  kind: ExecutionKind;
  /** Number of execute calls; a call that runs on several cores counts once. */
  launches: number;
  /** Number of runs; one per core. */
  count: number;
  /** From the start of the execute call to the later of its end and the end of the run, summed over runs. */
  host_ps: number;
  /** Time of the runs on the device. */
  device_ps: number;
  /** Time that the launched program waited for earlier programs on its core. */
  queue_ps: number;
  /** The rest of `host_ps`. */
  overhead_ps: number;
  /** Minimum, median and maximum over the runs. */
  spread: Spreads;
  /** Number of runs by how they were joined to launches. */
  joins: Partial<Record<Join, number>>;
  /** Why it was executed, from a debug log beside the capture. */
  causes: Cause[];
  /** Costs of its runs. */
  costs: CostsByBasis;
  /** Overhead of the mean run as a share of its host time; `null` if no launch is known. */
  overhead_share: number | null;
  /** How the runs were joined to launches: `exact`, `ordered`, `none`, or the numbers of each. */
  join: string;
  /** Number of runs that a whole step launches on a core: the factor from the mean of a run to that of a step and core. 0 if no whole step launched a run. */
  per_step: number;
}

/** Sums over programs. */
export interface ExecutionSums {
  /** Number of programs. */
  programs: number;
  /** Number of execute calls; a call that runs on several cores counts once. */
  launches: number;
  /** Number of runs; one per core. */
  count: number;
  /** Number of runs that a whole step launches on a core. */
  per_step: number;
  /** Costs of all runs together. */
  costs: CostsByBasis;
  /** Overhead of the mean run as a share of its host time; `null` if no launch is known. */
  overhead_share: number | null;
}

/** `data/executions`: what the host launches. */
export interface Executions {
  /** The programs. */
  executions: ExecutionRow[];
  /** Sums of the programs, by what launched them. */
  kinds: Partial<Record<ExecutionKind, ExecutionSums>>;
  /** Sums of all programs. */
  all: ExecutionSums;
  /** Whole steps times cores; `null` if no whole step launched a run. */
  core_steps: number | null;
  /** What the costs say. */
  reading: string;
  /** What fewer executions would save; at most two cases. */
  savings: Saving[];
  /** Idle time between programs that follow each other on a core; at most 50 pairs, most time first. */
  between: IdleBetweenPrograms[];
  /** Number of pairs of programs that follow each other. */
  between_count: number;
  /** How far the host runs ahead of the device; `null` if no run but each core's first one has a known enqueuing. */
  lead: string | null;
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** The numbers of all steps; the index where a step has no number. */
  steps: number[];
  /** Index of the step of `runs`; `null` without steps. */
  step: number | null;
  /** The runs of one step, at most the first 2000; `null` without steps, or if its host is not in memory. */
  runs: RunColumns | null;
  /** Number of runs of that step; 0 if `runs` is `null`. */
  run_count: number;
}

/** The gaps that a finding explains. */
export interface ExplainedGaps {
  /** Number of gaps among those that `data/gaps` lists; a gap on several cores counts once. */
  count: number;
  /** At most 20 of them: the longest of those that the finding explains most, then the others by the time that it explains. */
  gaps: GapPosition[];
}

/** A finding that explains some of a gap. */
export interface ExplainingFinding {
  /** Id of the finding. */
  id: string;
  /** Severity of the finding. */
  severity: Severity;
  /** Title of the finding. */
  title: string;
  /** What to change, and where. */
  advice: string;
}

/** A headline figure. */
export interface Figure {
  /** Which figure it is. */
  name: "duty" | "step" | "work" | "idle";
  /** A share (`duty`) or picoseconds; `null` where unknown. */
  value: number | null;
  /** The value as it is shown; the texts of work and idle time add up to that of the step. */
  text: string;
  /** What the value is, and per what. */
  meaning: string;
  /** Which hosts are left out, and why; `null` without such hosts. */
  note: string | null;
}

/** What to change, with evidence, cost and the intervals in which it occurs. */
export interface Finding {
  /** Name of the finding; docs/findings.md explains each. */
  id: string;
  /** By `gain`: `warning` from 10 % of a step, `critical` from 30 %; a finding that occurs once is never critical. */
  severity: Severity;
  /** At most 60 characters. */
  title: string;
  /** What a fix changes, as a noun phrase: `a compilation in step 1209`. */
  brief: string;
  /** What devices wait for because of it, as a noun phrase: `the host, which builds the graph`; empty if none does. */
  waits_for: string;
  /** The condition of the gain at best, as a clause after "if": `loading is fully hidden`; empty if there is none to tell. */
  best_if: string;
  /** The evidence, in at most two sentences; three where hosts are late for different reasons. */
  detail: string;
  /** What to change, and where. */
  advice: string;
  /** Time that it explains, over all cores: idle time; of findings about the device the time of stalls, exposed collectives or callbacks, or above the roofline; of late hosts the time for which cores wait for them. */
  cost_ps: number;
  /** Mean step after a fix, at best; `null` where nothing can be replayed, or nothing is to be gained. */
  step_if_fixed_ps: number | null;
  /** Mean step after a fix, at worst; `null` where `step_if_fixed_ps` is. */
  step_if_fixed_at_worst_ps: number | null;
  /** Share of a step that a fix saves, at best: of the usual step if it recurs, of the mean step if it happened once, of the step without the mistakes if it is a limit; of the devices' spans, if nothing can be replayed; `null` if the finding costs nothing. */
  gain: number | null;
  /** Share of a step that a fix saves, at worst; `null` where `step_if_fixed_ps` is. */
  gain_at_worst: number | null;
  /** How often it happens; `null` if no step is affected (a single compilation is `once` nevertheless). */
  recurs: "every_step" | "some_steps" | "once" | null;
  /** Where most of its time is: inside the steps' annotations, between two of them, or before the first or after the last step; `null` if no steps or no times are known. */
  where: FindingPlace | null;
  /** Id of the finding without whose fix this one gains nothing yet; `null` if there is none. */
  after: string | null;
  /** What of the script lies in its time, the longest own time first: up to three functions; empty if no Python calls are recorded. */
  code: FindingCode[];
  /** Numbers and names behind the sentences; keys differ by finding. */
  evidence: Record<string, unknown>;
  /** Up to 20 intervals in which it occurs; the longest first, of gaps those of which it explains most. */
  windows: FindingWindow[];
  /** `mistake`: a place that can be changed; `limit`: the program's nature; `null`: no fault. */
  kind: "mistake" | "limit" | null;
  /** Mean step before a fix; `null` where nothing can be replayed. */
  step_ps: number | null;
}

/** A function of the script, in the time that a finding explains. */
export interface FindingCode {
  /** Its name, as recorded. */
  name: string;
  /** The file that defines it; `null` if not recorded. */
  file: string | null;
  /** The line there; `null` if not recorded. */
  line: number | null;
  /** Time in it and in the library calls below it, without other functions of the script inside it. */
  own_ps: number;
  /** Number of calls. */
  count: number;
}

/** Neighbours in the order of findings that have one heading. */
export interface FindingGroup {
  /** What each of them is: a place to change, what sets the pace, what costs no device time, or what happened once. */
  tag: "fix" | "pace" | "note" | "once";
  /** Heading. */
  title: string;
  /** Remark beside the heading. */
  note: string;
  /** What the fixes of all mistakes gain together; empty for other findings, without a replay, and without a gain. */
  gain: string;
  /** The findings, in order. */
  findings: GroupedFinding[];
}

/** An interval in which a finding occurs. */
export interface FindingWindow {
  /** Start. */
  start_ps: number;
  /** End. */
  end_ps: number;
  /** Id of the device; `null` if it occurs on the host. */
  device: string | null;
}

/** `data/gap`: one gap, and why it ended. */
export interface GapAnswer {
  /** Id of the device. */
  device: string;
  /** Start of the gap. */
  start_ps: number;
  /** Duration of the gap. */
  duration_ps: number;
  /** Index of the step that launched the run after it; `null` if no whole step did. */
  step: number | null;
  /** Number of that step; `null` without one. */
  step_number: number | null;
  /** Whether it is inside one run of a program. */
  inside_run: boolean;
  /** `starved`: the next run was enqueued after the gap began; `queued`: it was enqueued before; or `unknown`. */
  kind: GapKind;
  /** Of a `starved` gap the class with most time until the next run was enqueued; of a `queued` one `wait`; of others the class with most time. */
  cause: ClassName;
  /** What the host did; adds up to `duration_ps`. A barrier is `wait`, whatever the host did. */
  by_class_ps: Partial<Record<ClassName, number>>;
  /** Program that ran before it; `null` if unknown. */
  before: string | null;
  /** Program that runs after it; `null` if unknown. */
  after: string | null;
  /** Time in it for which all cores of its host are idle. */
  all_cores_idle_ps: number;
  /** The part in which the device waited at the start of a run for another device of the launch (`barrier-cores`). */
  barrier_ps: number;
  /** Id of the device that it waited for: the last one to begin; `null` without such a wait. */
  late_device: string | null;
  /** Its place in time, from 1, among the gaps that are counted; `null` if it is too short. */
  number: number | null;
  /** Number of gaps of at least `counted_from_ps`. */
  counted: number;
  /** 1 ms; 10 µs if that leaves out no gap, or all. */
  counted_from_ps: number;
  /** The host's activity in it until the next run began, in order; adds up to `duration_ps`. */
  chain: ChainLink[];
  /** Name of the host. */
  host: string;
  /** Its time by class and thread, most time first. */
  by_thread: ThreadTime[];
  /** By id of a finding, the time of the gap that it explains. */
  by_finding_ps: Record<string, number>;
  /** The findings that explain it, the one that explains most of it first. */
  findings: ExplainingFinding[];
  /** What the host did, in words. */
  sentence: string;
  /** The gap of another host; `null` if no host was requested, or it has none. */
  gap_of_other_host: GapOfOtherHost | null;
  /** Number of cores that have the same gap; 1 if `data/gaps` does not list it. */
  cores: number;
  /** Mean duration of the gap on these cores. */
  mean_ps: number;
  /** Index of its pattern in `data/gaps`. */
  pattern: number;
  /** Number of gaps of the pattern. */
  occurrences: number;
}

/** Idle time per step and core during which the host was in one class. */
export interface GapClass {
  /** What the host does. */
  class: ClassName;
  /** In A; `null` if there is none. */
  a_ps: number | null;
  /** In B; `null` if there is none. */
  b_ps: number | null;
  /** B − A; `null` if either is. */
  difference_ps: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
}

/** A gap; the same gap on several cores is one item, and the keys of a gap are those of its first core. */
export interface GapItem {
  /** Id of the device. */
  device: string;
  /** Start of the gap. */
  start_ps: number;
  /** Duration of the gap. */
  duration_ps: number;
  /** Index of the step that launched the run after it; `null` if no whole step did. */
  step: number | null;
  /** Number of that step; `null` without one. */
  step_number: number | null;
  /** Whether it is inside one run of a program. */
  inside_run: boolean;
  /** `starved`: the next run was enqueued after the gap began; `queued`: it was enqueued before; or `unknown`. */
  kind: GapKind;
  /** Of a `starved` gap the class with most time until the next run was enqueued; of a `queued` one `wait`; of others the class with most time. */
  cause: ClassName;
  /** What the host did; adds up to `duration_ps`. A barrier is `wait`, whatever the host did. */
  by_class_ps: Partial<Record<ClassName, number>>;
  /** Program that ran before it; `null` if unknown. */
  before: string | null;
  /** Program that runs after it; `null` if unknown. */
  after: string | null;
  /** Index in the list. */
  index: number;
  /** Name of the host. */
  host: string;
  /** How long all cores of the host are idle; `null` on a host with one core. */
  all_cores_idle_ps: number | null;
  /** By id of a finding, the time of the gap that it explains. */
  by_finding_ps: Record<string, number>;
  /** Id of the finding that the first sentence about the gap names: a mistake that explains at least a third of it; `null` if none does. */
  reason: string | null;
  /** Number of cores that have the gap. */
  cores: number;
  /** Ids of their devices. */
  devices: string[];
  /** Start on each. */
  starts_ps: number[];
  /** Duration on each. */
  durations_ps: number[];
  /** `all_cores_idle_ps` on each; `null` on a host with one core. */
  all_cores_idle_by_device_ps: (number | null)[];
}

/** The gap of another host in the step of the same number between the same programs. */
export interface GapOfOtherHost {
  /** Name of the host. */
  host: string;
  /** Id of the device. */
  device: string;
  /** Start of the gap. */
  start_ps: number;
  /** Duration of the gap. */
  duration_ps: number;
  /** What the host did; adds up to `duration_ps`. */
  by_class_ps: Partial<Record<ClassName, number>>;
  /** Time of the links of its chain, by name. */
  chain_ps: Record<string, number>;
}

/** A pattern, with the kind of most of its time. */
export interface GapPatternRow {
  /** Program before; `null` if unknown. */
  before: string | null;
  /** Program after; `null` if unknown. */
  after: string | null;
  /** Whether the gaps are inside runs. */
  inside_run: boolean;
  /** The cause with most time. */
  cause: ClassName;
  /** Time of the gaps by their `cause`; adds up to `total_ps`. */
  by_cause_ps: Partial<Record<ClassName, number>>;
  /** Time of the gaps by what the host did; adds up to `total_ps`. */
  by_class_ps: Partial<Record<ClassName, number>>;
  /** Time of the queued gaps, whose cause is `wait`. */
  queued_ps: number;
  /** Number of gaps. */
  count: number;
  /** Their sum. */
  total_ps: number;
  /** Their mean. */
  mean_ps: number;
  /** The part of `total_ps` in whole steps. */
  in_steps_ps: number;
  /** `in_steps_ps` per step and core; `null` without steps. */
  per_step_ps: number | null;
  /** The shortest one. */
  min_ps: number;
  /** The longest one. */
  max_ps: number;
  /** `queued` if its cause is `wait` and queued gaps have more than half of that cause's time; else `null`. */
  kind: "queued" | null;
}

/** Where a gap is. */
export interface GapPosition {
  /** Id of the device. */
  device: string;
  /** Start of the gap. */
  start_ps: number;
  /** Duration of the gap. */
  duration_ps: number;
}

/** Sums over gaps, as in the report. */
export interface GapTotals {
  /** Number of gaps of at least 10 µs. */
  count: number;
  /** Idle time, shorter gaps included. */
  total_ps: number;
  /** Idle time in gaps of at least 10 µs. */
  listed_ps: number;
  /** What the host did in these. */
  by_class_ps: Partial<Record<ClassName, number>>;
}

/** `data/gaps`: idle time of all devices, from the first to the last run of each. */
export interface GapsAnswer {
  /** Number of gaps of at least 10 µs. */
  count: number;
  /** Idle time of all devices, shorter gaps included. */
  total_ps: number;
  /** Idle time in gaps of at least 10 µs. */
  listed_ps: number;
  /** What the host did in these; adds up to `listed_ps`. */
  by_class_ps: Partial<Record<ClassName, number>>;
  /** Their time by kind; adds up to `listed_ps`. */
  by_kind_ps: GapsByKind;
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** The 1,000 longest gaps, the longest first. */
  items: GapItem[];
  /** Gaps by the programs around them; most time first. */
  patterns: GapPatternRow[];
  /** The time per step of the pattern with most time, and the difference between the idle time of whole steps and that of the gaps; empty without steps. */
  text: string;
  /** Number of gaps among the longest ones (1,000 times the number of devices); the same gap on several cores counts once. */
  distinct_count: number;
  /** Work and idle time of all cores in whole steps; `null` without steps. */
  step_idle: StepTimes | null;
  /** The causes of gaps along the session, by device. */
  strip: DeviceStrip[];
  /** Titles of the findings, by id. */
  findings: Record<string, string>;
}

/** Time of gaps by kind. */
export interface GapsByKind {
  /** The next run was enqueued after the gap began. */
  starved: number;
  /** The next run was enqueued before the gap began. */
  queued: number;
  /** It is not known when the next run was enqueued, it was within 10 µs of the gap's start, or a launch in between has no recorded run. */
  unknown: number;
}

/** A graph, and the steps in which it was compiled or ran. */
export interface GraphRow {
  /** Name of the graph. */
  graph: string;
  /** Name of its module; `null` if not recorded. */
  module: string | null;
  /** Ids of its programs. */
  program_ids: string[];
  /** Number of compilations. */
  compiles: number;
  /** Time of the compilations. */
  cost_ps: number;
  /** By index of a step (as text), whether the graph was compiled in it or only ran. */
  steps: Record<string, "compiled" | "run">;
}

/** What the fix of a finding gains, in words. */
export interface GroupedFinding {
  /** Id of the finding. */
  id: string;
  /** Share that a fix saves: `−36.0 %`, or `up to −74.8 %` if it may be much less; of what happened once, the time that it saves; empty without a gain. */
  share: string;
  /** What the share is of, or how often the time is saved: `of a step`, `once`; without a gain, the reason. */
  basis: string;
  /** The step before and after: `67.7 → 43.3 ms`; empty if unknown. */
  change: string;
  /** What it is: `fix first` for the one that the verdict names so, else as its group. */
  tag: "fix first" | "fix" | "pace" | "note" | "once";
}

/** The hosts, a column per property. */
export interface HostColumns {
  /** Name of the host. */
  name: string[];
  /** Number of whole steps. */
  steps: number[];
  /** Median duration of its steps in picoseconds; `null` without steps. */
  step_ps: (number | null)[];
  /** Number of shared collectives. */
  collectives: number[];
  /** Number of these at which it arrived last; `null` if unknown. */
  last_count: (number | null)[];
  /** The same as a share of the shared collectives; `null` if unknown. */
  last_share: (number | null)[];
  /** Number of steps in which most waiting is charged to it. */
  last_steps: number[];
  /** How long the other hosts wait for it, in total; `null` if unknown. */
  others_wait_us: (number | null)[];
  /** How long it waits for other hosts, in total; `null` if unknown. */
  waits_us: (number | null)[];
  /** The median of its lateness in the steps that `last_steps` counts; `null` without such steps. */
  late_us: (number | null)[];
  /** Busy time over span of its devices; `null` without devices. */
  duty_cycle: (number | null)[];
  /** Sum of the spans of its devices. */
  span_us: number[];
  /** Number of compilations. */
  compiles: number[];
  /** How far its clock is ahead of the session's; `null` if unknown. */
  offset_us: (number | null)[];
  /** Uncertainty of `offset_us`; `null` if unknown. */
  residual_us: (number | null)[];
  /** Whether `residual_us` exceeds the host's largest lateness. */
  is_clock_uncertain: boolean[];
  /** The class that differs most from the median host, or `device`; `null` without a difference. */
  difference_class: (string | null)[];
  /** By how much longer it is per step; negative if it is shorter; `null` without a difference. */
  difference_us: (number | null)[];
  /** Whether most of the difference is in one step. */
  difference_in_one_step: boolean[];
  /** The step in which it was latest. */
  worst_step: number[];
  /** Whether it has its own row in the heat map. */
  has_own_row: boolean[];
}

/** A core of a late host, or of the only host. */
export interface HostCore {
  /** The host. */
  host: number;
  /** Id of the device. */
  id: string;
  /** How many times the core arrived last in its host. */
  last_count: number;
  /** How late it arrived after the median core: its largest lateness in a step, as the median over steps. */
  late_us: number;
  /** Its own work in the mean step. */
  device_us: number;
}

/** How many hosts an answer covers while others are being read. */
export interface HostCounts {
  /** Number of hosts that were read. */
  hosts_read: number;
  /** Number of hosts of the session. */
  hosts_total: number;
}

/** One capture file. */
export interface HostFile {
  /** Host name: the file's name without `.xplane.pb` or `.xplane.riegeli`. */
  name: string;
  /** Size of the file. */
  bytes: number;
  /** Number of events on all lines. */
  events: number;
  /** Path or URL of the file. */
  file: string;
}

/** A phase or a step marker on the host. */
export interface HostPhase {
  /** Index into `phases`; `null` for step markers. */
  phase: number | null;
  /** Name of the event. */
  name: string;
  /** Start. */
  start_ps: number;
  /** End. */
  end_ps: number;
}

/** The hosts to look at first, as indices into the report's `session.hosts`. */
export interface HostRanks {
  /** The host that the others wait for longest; if they wait for none, the host with the longest median step. */
  slowest: number;
  /** The median host. */
  median: number;
  /** The hosts that others wait for, longest first; at most 8. */
  late: number[];
}

/** The reading progress of one host. */
export interface HostReading {
  /** Name of the host. */
  name: string;
  /** Size of the file; 0 until the store has reported it. */
  bytes: number;
  /** Number of bytes read. */
  bytes_read: number;
  /** What is being done with the host's file, or `error`. */
  state: ReadingState;
  /** Why it could not be read; `null` without an error. */
  message: string | null;
}

/** `data/host_steps`: what one host did in each step; `null` where it has no such step. */
export interface HostSteps {
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** Per step and class of `data/hosts`, its time. */
  step_class_us: (number[] | null)[];
  /** Start of the step, in picoseconds from the session's start. */
  start_ps: (number | null)[];
  /** Duration of the step in picoseconds. */
  duration_ps: (number | null)[];
}

/** `data/hosts`: which host holds up the others, and why. */
export interface HostsAnswer {
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** Increases if a key changes its meaning or is removed. */
  schema: number;
  /** `one_host`: only one host was read, whose cores are compared if it has several and is no CPU; `no_collectives`: nothing connects the hosts; `clocks_apart`: no clocks can be related. */
  state: HostsState;
  /** One sentence about hosts that could not be compared; `null` if all could. */
  note: string | null;
  /** How many of the session's hosts were read. */
  host_counts: HostCounts;
  /** Number of shared collectives that are compared. */
  collectives: number;
  /** The share of the recorded collectives that is compared; below 1 in long captures. */
  sampled_share: number;
  /** Their kind: `all-reduce`; `null` if there are several kinds, or no collectives. */
  kind: string | null;
  /** The classes of host time that occur, then `device`, the devices' own work in a step, if there is any. */
  classes: (ClassName | "device")[];
  /** Who holds up the others, in one sentence. */
  verdict: HostsVerdict;
  /** The mean step. */
  figures: HostsFigures;
  /** Smaller differences from the median host are told nowhere. */
  min_difference_us: number;
  /** The median of the hosts that are not late; `null` if unknown. */
  median_host: number | null;
  /** The steps. */
  steps: HostsSteps;
  /** The hosts. */
  hosts: HostColumns;
  /** The hosts by how long the others wait for them, longest first, then by name. */
  order: number[];
  /** Per host and step, its largest lateness at the step's collectives, relative to the median arrival at each; 0: not late; -1: it took part in none. Empty if hosts are not compared. */
  late_us: number[][];
  /** Per host and step, its time minus `steps.step_us`; `null`: the host has no such step. */
  step_difference_us: ((number | null)[])[];
  /** What each host is charged with. */
  charges: Charges;
  /** Per host and class, the mean step. */
  class_us: number[][];
  /** By index of each host with its own row in the heat map, and of the median one (as text): per step and class, its time; `null`: no such step. `data/host_steps` has those of other hosts. */
  step_class_us: Record<string, (number[] | null)[]>;
  /** The cores of the late hosts, or of the only host of a session; `null` without such cores. */
  cores: HostCore[] | null;
}

/** The mean step; `null` where a figure is not known. */
export interface HostsFigures {
  /** Its duration. */
  step_ps: number | null;
  /** How long a host waits for others in it, as the mean over the steps of all hosts that are compared. */
  waits_ps: number | null;
  /** Its duration at best if the late hosts arrived with the median one. */
  step_if_fixed_ps: number | null;
}

/** `data/hosts_in_steps`: what is said of some common steps of the hosts, and of one host in these. */
export interface HostsInSteps {
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** Who holds up the others in these steps, in parts, every second of which is emphasised; `null` for all steps, and if the hosts are not compared. */
  text: string[] | null;
  /** The mean of these steps. */
  figures: HostsFigures;
  /** What takes longer on the host than on the median host, and whether it arrives late; empty if either has none of the steps. */
  difference: string;
}

/** The steps that the hosts have in common, as columns. */
export interface HostsSteps {
  /** Number that the program gave the step; `null` if it gave none. */
  number: (number | null)[];
  /** Name of the step. */
  name: string[];
  /** The host that most waiting of the step is charged to. */
  last_host: number[];
  /** Whether that is one of the late hosts, and later than clock errors explain. */
  is_last_host_late: boolean[];
  /** The class that takes longest there beyond the median host's time, waiting excepted; `null` if none does. */
  last_cause: (ClassName | "device" | null)[];
  /** The median of the hosts' times. */
  step_us: number[];
}

/** Who holds up the others, in one sentence. */
export interface HostsVerdict {
  /** The sentence in parts, every second of which is emphasised. */
  text: string[];
  /** How much it matters. */
  severity: VerdictSeverity;
  /** `late`: `hosts` hold up the others, or `core` the other cores of the only host; `changing`: a different one each time. */
  kind: LateKind;
  /** The late hosts, the worst first; empty in a session of one host. */
  hosts: number[];
  /** Id of a core that alone is the cause, in a session of one host the late core; `null` if the whole host is, or nothing is late. */
  core: string | null;
  /** The condition of the mean step at best: `if w-5 were like the rest`. */
  best_case: string;
  /** The class that takes longer on the first late host than on the median host (of one host: on the late core than on its neighbours; if `changing`: on the host charged most in each step), or `device`; `null` if none explains the lateness. */
  cause: string | null;
  /** The annotation with most of the cause's extra time; `null` without one. */
  annotation: string | null;
  /** The last name of that annotation's path; `null` without one. */
  annotation_name: string | null;
  /** Time of the cause per step on the first late host; `null` without a cause. */
  cause_us: number | null;
  /** Time of the cause per step on the median host; `null` without a cause. */
  median_cause_us: number | null;
  /** The steps in which the first late host holds up the others. */
  steps: number[];
}

/** Idle time between two programs that follow each other, on all cores. */
export interface IdleBetweenPrograms {
  /** Program before. */
  before: string;
  /** Program after. */
  after: string;
  /** Number of occurrences. */
  count: number;
  /** Sum of the idle times. */
  total_ps: number;
  /** Mean idle time. */
  mean_ps: number;
  /** The cause with most time in gaps; `null` without a gap of at least 10 µs. */
  cause: ClassName | null;
  /** Whether the cause is `wait` because the gaps are queued: the device waits, not the host. */
  queued: boolean;
}

/** Idle time between programs, in both sessions. */
export interface IdleBetweenProgramsOfBoth {
  /** A. */
  a: IdleBetweenPrograms[];
  /** B. */
  b: IdleBetweenPrograms[];
}

/** How batches reach the device, and whether it waits for them. */
export interface InputPipeline {
  /** How batches are loaded; of several hosts, on the first one for which it is known; `null` if unknown. */
  kind: "mp_device_loader" | "tf_data" | "loader_threads" | "driving_thread" | "infeed" | null;
  /** Number of times that the driving thread loads or waits for a batch. */
  batches: number;
  /** Number of threads that load. */
  loader_threads: number;
  /** Time that driving threads load or wait for batches. */
  wait_ps: number;
  /** Idle time of devices that loading explains, `infeed_ps` included; over all devices. */
  idle_ps: number;
  /** Time that devices wait in infeed ops in gaps that are not starved: in starved ones, the host's loading counts. */
  infeed_ps: number;
  /** `idle_ps` as a share of the spans of the devices. */
  share: number;
  /** Time that threads load. */
  load_ps: number;
  /** The share of it in which a device works; `null` where nothing loads. */
  load_hidden: number | null;
  /** Time that batches are sent to devices. */
  send_ps: number;
  /** The share of it in which a device works; `null` where nothing is sent. */
  send_hidden: number | null;
  /** What `share` means: at least 10 %, at least 3 %, less, or not known. With `late_hosts`, the gain of the finding `straggler` counts if it is larger. */
  verdict: "bound" | "partly_hidden" | "hidden" | "unknown";
  /** Hosts that hold up the others by loading. */
  late_hosts: string[];
}

/** Iterations in order of time, a value per iteration. */
export interface IterationColumns {
  /** When each begins. */
  start_ps: number[];
  /** Time until the next one begins. */
  wall_ps: number[];
  /** Time in which a device works, the mean of the host's devices. */
  device_ps: number[];
  /** What the server's thread does longest while devices wait; `null` if they never do. */
  part: (Part | null)[];
  /** Index of its kind in `kinds`. */
  kind: number[];
  /** Name of its annotation, with numbers. */
  name: string[];
  /** Its host. */
  host: string[];
}

/** `data/iterations`: the loop of a server that decodes. */
export interface IterationsAnswer {
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** What the device waits for in a sentence; empty if no host serves. */
  headline: string;
  /** What to do about it, as in the verdict. */
  details: string;
  /** How far the server schedules ahead; `null` if that is not known. */
  scheduling: Scheduling | null;
  /** The iterations by kind, the most frequent first. */
  kinds: KindRow[];
  /** Index of the kind in which devices wait longest for the server's work; `null` without kinds. */
  main: number | null;
  /** Number of iterations. */
  count: number;
  /** The first 2,000 of them. */
  iterations: IterationColumns;
  /** Names that stand for at least two, the most frequent first; at most ten. */
  templates: Template[];
}

/** Iterations of one kind. */
export interface KindRow {
  /** What their batches consist of. */
  kind: BatchKind;
  /** Where names do not tell the kind: the largest dimension in which the parameters of the longest program differ between iterations; `null` if that is not known. */
  bucket: number | null;
  /** Name of the annotation that marks them, with `{}` in place of numbers. */
  template: string;
  /** Number of iterations. */
  count: number;
  /** The numbers in their names, by the word after each, without one that only counts iterations. */
  slots: Record<string, SlotRange>;
  /** Time from the start of one to the start of the next. */
  wall_ps: WallTime;
  /** Time in which a device works. */
  device_ps: number;
  /** Time in which it does not. */
  bubble_ps: number;
  /** The same by what the server's thread does meanwhile. */
  bubble_by_part_ps: Partial<Record<Part, number>>;
  /** What that thread does while the device works. */
  hidden_by_part_ps: Partial<Record<Part, number>>;
  /** How long a device works for what it launches, which may be later if the server schedules ahead. */
  launched_ps: number;
  /** How often an iteration usually reads from the device; reads between which nothing is launched are one. */
  round_trips: number;
  /** How many transfers to the device an iteration usually makes. */
  arrays_sent: number;
  /** How many programs an iteration usually launches. */
  programs: number;
  /** Their parts, in the order of the loop. */
  parts: PartRow[];
  /** The server's own work in an iteration, hidden or not: below this, no iteration gets by scheduling ahead. */
  host_ps: number;
  /** The kind in words, with what tells it from the other rows: its bucket, its annotation. */
  name: string;
  /** How much the device waits, and what its work hides of the server's. */
  note: string;
}

/** The slices of one lane of a row as columns, by start. Neighbours below 2 px are merged. */
export interface LaneSlices {
  /** Starts in picoseconds: each is the difference from the one before, the first one from the window's start. */
  s: number[];
  /** Durations in picoseconds. */
  d: number[];
  /** Names, as indices into `names`; -1: no name. */
  n: number[];
  /** Classes, as indices into the classes of host time; in rows of devices 0: op, 1: collective, 2: op that waits. */
  c: number[];
  /** Numbers of events, the first one of a merged slice: each is the difference from the one before. In lanes whose slices are no events each is -1. */
  e: number[];
  /** Number of events of each slice; absent if no slice is merged, as are `b`, `r` and `f`. */
  k?: number[];
  /** Picoseconds of each slice that its events cover; 0 for a slice of one event. */
  b?: number[];
  /** Exponent of the buckets of `f`: each is 2^r picoseconds long, counted from time 0. */
  r?: number;
  /** The covered share of each bucket that a merged slice touches, from 0 to f, slice by slice. */
  f?: string;
  /** Only of more than 200 steps, whose slices are the slowest step of each pixel: their parts in percent: `work` of devices and their idle time by class, or, without devices, the driving thread's time by class. */
  p?: Record<string, number[]>;
}

/** A launch: a call, and the runs of a program that it started. */
export interface LaunchOfEvent {
  /** The execute call; `null` if it is not known. */
  call: EventSummary | null;
  /** The run on the first device; `null` if no row shows it. */
  run: EventSummary | null;
  /** Name of the program. */
  program: string;
  /** Ids of the devices that run it. */
  devices: string[];
  /** Duration of the longest run. */
  duration_ps: number;
}

/** Lazy against dynamo. */
export interface LazyDynamo {
  /** The session that launched lazily. */
  lazy: "a" | "b";
  /** The session that launched through dynamo. */
  dynamo: "a" | "b";
  /** What a step takes. */
  step: LazyDynamoSteps;
  /** Times of the lazy session divided by those of the other one. */
  speedup: Speedup;
  /** What each execution costs. */
  executions: LazyDynamoPrograms;
  /** Idle time between executions. */
  between: IdleBetweenProgramsOfBoth;
}

/** A program, in the order of execution on the device; times are means of a run: queue time and overhead of those runs whose launch is known, host time the sum of the other three. */
export interface LazyDynamoProgram {
  /** Name of the program. */
  program: string;
  /** What launched it. */
  kind: ExecutionKind;
  /** Number of runs. */
  count: number;
  /** Number of launches per step; `null` without steps. */
  per_step: number | null;
  /** Host time; `null` if no launch is known. */
  host_ps: number | null;
  /** Device time. */
  device_ps: number;
  /** Queue time; `null` if no launch is known. */
  queue_ps: number | null;
  /** Overhead; `null` if no launch is known. */
  overhead_ps: number | null;
}

/** The programs of both sessions. */
export interface LazyDynamoPrograms {
  /** A. */
  a: LazyDynamoProgram[];
  /** B. */
  b: LazyDynamoProgram[];
}

/** The mean step of one session. */
export interface LazyDynamoStep {
  /** Number of steps. */
  steps: number;
  /** IR tracing in a step; `null` if nothing was traced. */
  tracing_ps: number | null;
  /** Device time of a step, per core; `null` without steps or runs. */
  device_ps: number | null;
  /** Duration of a step; `null` without steps. */
  wall_ps: number | null;
  /** Launches in a step; `null` without steps. */
  executions: number | null;
}

/** The step of both sessions. */
export interface LazyDynamoSteps {
  /** A. */
  a: LazyDynamoStep;
  /** B. */
  b: LazyDynamoStep;
}

/** A host that is not part of the mean step. */
export interface LeftOut {
  /** Name of the host. */
  host: string;
  /** Why. */
  reason: "no_device_work" | "no_steps";
}

/** How many rows each list leaves out. */
export interface LeftOutRows {
  /** Of `tree`. */
  tree: number;
  /** Of `unannotated_ops`. */
  unannotated_ops: number;
  /** Of `shared_ops`. */
  shared_ops: number;
  /** Of `lines`. */
  lines: number;
}

/** One capture file of a session. */
export interface ListedHost {
  /** Name of the host. */
  name: string;
  /** Size of the file; 0 if the store has not reported it. */
  bytes: number;
}

/** Own time of one op, or of several, with a name. */
export interface ListedOp {
  /** Name of the program, A's where A has it. */
  program: string;
  /** Path of the annotation; `null` without one. */
  annotation: string | null;
  /** Category of the op; `null`: ops that are not listed individually. */
  category: string | null;
  /** `work`, or why its time is not work. */
  kind: string;
  /** In A; `null` if there is none. */
  a_ps: number | null;
  /** In B; `null` if there is none. */
  b_ps: number | null;
  /** B − A; `null` if either is. */
  difference_ps: number | null;
  /** The difference as a share of A's mean step, or run; `null` if that takes no time. */
  of_step: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
  /** The sessions that have it; `changed`: both have ops there, with other names or shapes. */
  presence: Presence;
  /** Which direction is better; `null` if neither is. */
  better: BetterDirection | null;
  /** Probability that chance alone causes such a difference; `null` where it was not tested. */
  p: number | null;
  /** Largest difference, as a share of A's value, that may be chance; `null` if the tested difference is larger, if none was tested, if A is 0, and in `device_work`, whose rows are tested together. */
  chance: number | null;
  /** `better` or `worse`: B than A; `same`: at most 3 % apart; `chance`: may be chance; `few`: too few steps to test; `null`: not tested, or neither direction is better. */
  verdict: TestVerdict | null;
  /** Number of ops in A and in B. */
  count: number[];
  /** Names in A, the first 20. */
  ops_a: string[];
  /** Names in B, the first 20. */
  ops_b: string[];
  /** The op's name; of changed ops, the one with most time in each session. */
  name: string;
}

/** A session of the logdir. */
export interface ListedSession {
  /** Name of the session; its path if there are several logdirs, or if it is in a subdirectory. */
  name: string;
  /** Its captures. */
  hosts: ListedHost[];
  /** When the latest capture was written, in epoch nanoseconds, as a decimal string. */
  modified_unix_ns: string;
}

/** Steps of both sessions, the first pairs. */
export interface ListedSteps {
  /** How steps are paired; `null` if one session has no steps. */
  paired_by: "number" | "order" | null;
  /** One row per pair. */
  rows: StepPair[];
  /** Steps of A without a partner. */
  only_a: number;
  /** Steps of B without a partner. */
  only_b: number;
  /** Number of pairs. */
  count: number;
}

/** Own time of ops, the largest differences. */
export interface ListedWork {
  /** By annotation. */
  annotations: ComparedWork[];
  /** By op. */
  ops: ListedOp[];
}

/** The longest event of a name, as recorded: it may begin before the window or end after it. */
export interface LongestEvent {
  /** The class with most of the name's own time; `null`: most of it has no class. */
  class: ClassName | null;
  /** Id of the event in the timeline. */
  event: string;
  /** Id of its row in the timeline. */
  row: string;
  /** Index of its lane in that row. */
  depth: number;
  /** Name of the event. */
  name: string;
  /** Name of the thread. */
  thread: string;
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
}

/** The longest wait for an op, as a place in the timeline. */
export interface LongestWait {
  /** The row of the timeline. */
  row: string;
  /** The lane. */
  depth: number;
  /** When the done op begins. */
  start_ps: number;
  /** How long it takes. */
  duration_ps: number;
}

/** An annotation whose name no op carries. */
export interface LostAnnotation {
  /** Path of the annotation. */
  path: string;
  /** Why no op carries its name. */
  reason: Lost;
  /** What to do about it. */
  advice: string;
}

/** The numbers of steps and devices that the tree's means cover. */
export interface MeanCounts {
  /** Number of steps. */
  steps: number;
  /** Number of devices. */
  devices: number;
}

/** The mean step: device work and idle time in it, per step and core. `work_ps + idle_ps = step_ps`. */
export interface MeanStep {
  /** Device work; `null` if no core recorded work. */
  work_ps: number | null;
  /** The part of `work_ps` in ops that only wait; `null` where that is. */
  stall_ps: number | null;
  /** Idle time; `null` where `work_ps` is. */
  idle_ps: number | null;
  /** `idle_ps` without `small_ps`, by what the host did; `null` where `work_ps` is. */
  by_class_ps: Partial<Record<ClassName, number>> | null;
  /** Idle time in gaps below 10 µs; `null` where `work_ps` is. */
  small_ps: number | null;
  /** Number of whole steps; 0: the means are per core, from first to last run. */
  steps: number;
  /** Number of cores with work. */
  cores: number;
  /** Mean duration of a step; `null` without steps. */
  step_ps: number | null;
  /** Median duration of a step; `null` without steps. */
  median_ps: number | null;
  /** The sums over all steps and cores; `null` if no core recorded work. */
  all_cores: StepTimes | null;
  /** Hosts without device work or without steps. */
  left_out: LeftOut[];
}

/** What the driving thread did while a launch waited. */
export interface Meanwhile {
  /** What the host does. */
  class: ClassName;
  /** Name of the event, or of its class. */
  name: string;
  /** Duration within the link. */
  duration_ps: number;
}

/** A figure of both sessions. Times have `a_ps`, `b_ps`, `difference_ps`; others `a`, `b`, `difference`. */
export interface Measure {
  /** Name of the figure. */
  name: string;
  /** The same as text. */
  label: string;
  /** Unit of the values: `ps`, a `share` from 0 to 1, a `count`, or a `rate` in samples per second. */
  unit: MeasureUnit;
  /** In A; `null` if not known. */
  a_ps?: number | null;
  /** In B; `null` if not known. */
  b_ps?: number | null;
  /** B − A; `null` if either is. */
  difference_ps?: number | null;
  /** In A; `null` if not known. */
  a?: number | null;
  /** In B; `null` if not known. */
  b?: number | null;
  /** B − A; `null` if either is. */
  difference?: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
  /** Which direction is better; `null` if neither is. */
  better: BetterDirection | null;
  /** Probability that chance alone causes such a difference; `null` where it was not tested. */
  p: number | null;
  /** Largest difference, as a share of A's value, that may be chance; `null` if the tested difference is larger, if none was tested, if A is 0, and in `device_work`, whose rows are tested together. */
  chance: number | null;
  /** `better` or `worse`: B than A; `same`: at most 3 % apart; `chance`: may be chance; `few`: too few steps to test; `null`: not tested, or neither direction is better. */
  verdict: TestVerdict | null;
}

/** `data/memory`: what fills the memory of a device at the peak of a program. */
export interface MemoryAnswer {
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** The peak in a sentence; empty without programs. */
  headline: string;
  /** What can be done. */
  details: string;
  /** The programs that ran, the highest peak first. */
  programs: MemoryProgram[];
  /** Name of the shown program; `null` without programs. */
  program: string | null;
  /** Whether the first program is shown because the session does not have the one requested. */
  stale: boolean;
  /** What is alive at its peak, outer annotations before inner ones, the largest first; empty if the peak is not known. At most 300 rows; further ones count for the row around them. */
  tree: MemoryNode[];
}

/** One annotation with all inside it. One that has nothing of its own has no row, unless it has several inside; one around all others stands beside these, with what is its own. */
export interface MemoryNode {
  /** Path of the annotation, as in `annotations`; `null`: buffers without one. */
  path: string | null;
  /** Parameters that are named like the annotation: `params['attention']['w']` like `attention`. */
  parameter_bytes: number;
  /** Values that its ops compute. */
  bytes: number;
  /** Values that its backward pass computes, where JAX names it: `transpose(jvp(attention))`. */
  gradient_bytes: number;
  /** Its name below the row around it. */
  name: string;
  /** Number of rows around it. */
  depth: number;
  /** `parameter_bytes` without those inside. */
  own_parameter_bytes: number;
  /** `bytes` without those inside. */
  own_bytes: number;
  /** `gradient_bytes` without those inside. */
  own_gradient_bytes: number;
}

/** One program. */
export interface MemoryProgram {
  /** Name of the program; of several of one name, the one with the highest peak. */
  program: string;
  /** The most bytes that its buffers need at once. If not `exact`, the least that this can be; the most is `total_bytes`. */
  peak_bytes: number;
  /** Bytes of all its allocations. What is more than the peak is fragmentation. */
  total_bytes: number;
  /** Whether the peak is known: the capture has the order in which the compiler allocates and frees. */
  exact: boolean;
  /** Name of the instruction at which the peak is first reached; `null` if it is not known, or if the use never changes. */
  peak_at: string | null;
  /** Memory of one device that programs can use, as its allocator reports it; `null` if the capture has no event of it. */
  capacity_bytes: number | null;
  /** The most that anything else had allocated on one device from a launch of the program to its end, such as other programs and the next batch; `null` if the capture has no such event. */
  other_bytes: number | null;
  /** Bytes of its parameters. */
  parameters_bytes: number;
  /** The part of the peak that pads values to the device's tiles, without parameters, constants and outputs; `null` if the peak is not known. */
  padding_bytes: number | null;
  /** Number of its runs. */
  runs: number;
}

/** The same with the report's time, and in words. */
export interface MetricsRow {
  /** What is counted. */
  operation: Counted;
  /** Count in the report; `null` where it has none. */
  metrics: number | null;
  /** Count since the earlier report, so during the capture; `null` without an earlier report. */
  since_earlier_report: number | null;
  /** Count in the trace. */
  trace: number;
  /** Whether the report counts at least as many as the trace of the host with the lowest count. */
  agrees: boolean;
  /** Time in the report; `null` where it has none. */
  time_ps: number | null;
  /** What is counted: `Transfers to the device`. */
  label: string;
  /** `disagree`; empty if the counts agree. */
  agreement: string;
}

/** What all mistakes cost together; times and `gain` are `null` where nothing can be replayed. */
export interface Mistakes {
  /** Number of mistakes whose fix gains at least 3 % of a step. */
  count: number;
  /** Mean step. */
  step_ps: number | null;
  /** Mean step without what happened once. */
  usual_step_ps: number | null;
  /** Mean step without any of them, at best. */
  step_if_fixed_ps: number | null;
  /** Mean step without them and the largest limit. */
  step_without_limit_ps: number | null;
  /** Share of the mean step that fixing all of them saves. */
  gain: number | null;
}

/** The events of one name that a search finds. */
export interface NameOfHits {
  /** What the host does; `null` for an event without a class, such as an op of a device. */
  class: ClassName | null;
  /** Name of the events. */
  name: string;
  /** Number of events and scopes. */
  count: number;
  /** Number of scopes of device ops among them. */
  scopes: number;
  /** Sum of their durations. */
  total_ps: number;
}

/** Time of the events of one name on all threads. */
export interface NameTime {
  /** Name of the events. */
  name: string;
  /** The class with most of the name's own time; `null`: most of it has no class. */
  class: ClassName | null;
  /** Number of events. */
  count: number;
  /** Their time in the window. */
  total_ps: number;
  /** Own time in the window. */
  self_ps: number;
  /** The longest one. */
  longest: LongestEvent;
}

/** The earlier graph of the same name with the fewest different parameters. */
export interface NearestGraph {
  /** Name of the graph. */
  graph: string;
  /** Name of its module. */
  module: string;
  /** Id of its program. */
  program_id: string;
  /** The first 20 parameters that differ. */
  parameters: Parameter[];
  /** Number of parameters that differ. */
  different_count: number;
  /** Number of parameters that are the same. */
  same_count: number;
}

/** The table that the verdict needs, as texts. */
export interface NeededRows {
  /** What it is about. */
  kind: NeededTableKind;
  /** The headings of its columns; the first is its title. */
  heads: string[];
  /** The cells of each row. */
  rows: string[][];
  /** The row with the sums; empty if there is none. */
  last: string[];
  /** The indices of columns that are aligned to the left. */
  texts: number[];
}

/** `data/neighbor`: the next or the previous event of a lane. */
export interface Neighbor {
  /** The event; `null` if there is none. */
  event: EventSummary | null;
}

/** No page has started a capture. */
export interface NoCapture {
  /** No page has started a capture. */
  state: "idle";
}

/** The events of the same name in the same row; in rows of steps and of classes, those of the same class. */
export interface Occurrences {
  /** Number of events. */
  count: number;
  /** Index of this event among them, by start. */
  index: number;
  /** Mean duration. */
  mean_ps: number;
  /** Shortest duration. */
  min_ps: number;
  /** Longest duration. */
  max_ps: number;
  /** The one before; `null` at the first. */
  previous: EventSummary | null;
  /** The one after; `null` at the last. */
  next: EventSummary | null;
  /** Durations of at most 64 of them, evenly distributed, by start. */
  durations_ps: number[];
}

/** The rows that a table leaves out. */
export interface OmittedRows {
  /** Number of names. */
  names: number;
  /** Number of events. */
  count: number;
  /** Own time of these. */
  self_ps: number;
}

/** The ops that were traced inside one annotation. */
export interface OnDevice {
  /** Path of the annotation. */
  path: string;
  /** Number of paths that enclose it: its lane in rows of scopes. */
  depth: number;
  /** Why there are none; `null` if there are. */
  missing: string | null;
  /** By device; empty if there are none. */
  devices: DeviceWork[];
}

/** One usual step of a core: its parts, and how short it can become. `ps` of all parts adds up to `now_ps`, and `once_ps` of all parts to `once_ps`. */
export interface OneStep {
  /** `second` where no whole step is recorded: the parts are those of one second from first to last run. */
  per: "step" | "second";
  /** The usual step. */
  now_ps: number;
  /** What the mean step has in addition, from what happened once. */
  once_ps: number;
  /** Its parts, in the order of a bar: idle time by class, most time first; parts without time are left out. */
  parts: StepPart[];
  /** How short it can become; empty where nothing can be replayed. A rung that gains less than 1 %, or as much as the one above it, is left out. */
  rungs: Rung[];
}

/** Ops as columns, most time first: the first 400, or all on request. `null`: not known. */
export interface OpColumns {
  /** Name of the op. */
  op: string[];
  /** Index into `programs`. */
  program: number[];
  /** Index into `categories`. */
  category: number[];
  /** Its annotation, as an index into `paths`; -1: none. */
  path: number[];
  /** Shape of its result. */
  shape: (string | null)[];
  /** Its line of Python, as an index into `sources`; -1: not recorded. */
  source: number[];
  /** Number of executions. */
  executions: number[];
  /** Own time. */
  self_ps: number[];
  /** FLOPs over all executions. */
  flops: (number | null)[];
  /** Bytes read from and written to the device's main memory. */
  hbm_bytes: (number | null)[];
  /** FLOP/s as a share of the peak. */
  flops_share: (number | null)[];
  /** Bytes/s as a share of the peak. */
  bytes_share: (number | null)[];
  /** What bounds the op. */
  bound_by: BoundBy[];
  /** `work`, or why its time is not work. */
  kind: OpKind[];
  /** Its longest event: index into `rows`, start, lane and duration; `null` if its host is not in memory. */
  run: ([number, number, number, number] | null)[];
}

/** Own time of one op. */
export interface OpTime {
  /** Name of the op. */
  op: string;
  /** Number of events. */
  count: number;
  /** Own time in the window. */
  self_ps: number;
}

/** What the page needs before it draws the views. */
export interface OpenedSession {
  /** The rows in drawing order. */
  rows: TimelineRow[];
  /** Whether the rows of gaps, scopes and asynchronous ops are still missing; `data/scopes` computes them. */
  more_rows: boolean;
  /** The names of phases, in their usual order in a step. */
  phases: string[];
  /** By name of an annotation, the names of those directly below it, the longest in total first; at most 24 each. */
  annotations: Record<string, string[]>;
  /** The classes of host time that the rows show. */
  classes: ClassName[];
  /** The whole session. */
  strip: OverviewStrip;
  /** The session. */
  session: SessionHead;
  /** Framework, runtime and accelerator. */
  environment: Environment;
  /** Limitations of the analysis. */
  diagnostics: Diagnostic[];
  /** The devices. */
  devices: DeviceSummaries;
  /** Indices of the hosts whose rows these are; absent if all hosts are in memory. */
  chosen_hosts?: number[];
  /** The hosts to look at first; absent if all hosts are in memory. */
  ranks?: HostRanks;
}

/** What users read for how the scope of an op was found. */
export interface OriginWords {
  /** In its own metadata. */
  direct: string;
  /** From what it consists of or calls or, for copies, from its neighbours. */
  recovered: string;
  /** It has an op name, but no scope. */
  bare: string;
  /** It has no op name. */
  none: string;
}

/** `data/overview`: what the first view shows. */
export interface Overview {
  /** The hosts that the answer covers; absent once all hosts are read. */
  partial?: HostCounts;
  /** The report's verdict. */
  verdict: Verdict;
  /** The headline figures: duty cycle, step, device work and idle time. */
  figures: Figure[];
  /** The devices. */
  devices: DeviceColumns;
  /** Whether one number says how busy all of them are, by each definition of busy. */
  devices_agree: boolean;
  /** The mean step. */
  step_idle: MeanStep;
  /** The usual step, by what a core does; `null` if no core recorded work. */
  one_step: OneStep | null;
  /** The table that the verdict needs; `null` if nothing was recorded. */
  needed: NeededRows | null;
  /** The classes that are the cause of a gap. */
  gap_causes: ClassName[];
  /** Steps, and the device work of each. */
  steps: OverviewSteps;
  /** The hosts to look at first; `null` in a session of one host. */
  ranks: HostRanks | null;
  /** What to change. */
  findings: Finding[];
  /** By id of a finding, the gaps that it explains. */
  explained_gaps: Record<string, ExplainedGaps>;
  /** What all mistakes cost together. */
  mistakes: Mistakes;
  /** The findings by kind. */
  groups: FindingGroup[];
  /** Whether devices wait for data, if that is known, and what loads it; empty if no loading is recorded. */
  input_text: string;
  /** How batches reach the device. */
  input_pipeline: InputPipeline;
  /** Transfers by direction. */
  transfers: TransfersByDirection;
  /** The collectives with most time. */
  collectives: CollectiveSum[];
  /** The ops that only wait, with most time. */
  stalls: StallSum[];
  /** The numbers beside the names of the views. */
  counts: ViewCounts;
}

/** Steps, and the device work of each. */
export interface OverviewSteps {
  /** How steps are distinguished in this capture; `null` without steps. */
  source: StepSource | null;
  /** Number of whole steps. */
  count: number;
  /** Number of steps that an edge of the capture cuts. */
  cut_count: number;
  /** The first steps of the hosts in memory; of all hosts if none is. */
  columns: StepColumns;
  /** Device work of these steps, by device. */
  work: StepWorkIntervals[];
}

/** The whole session in equal buckets of time. */
export interface OverviewStrip {
  /** Number of buckets. */
  buckets: number;
  /** The devices. */
  devices: StripDevice[];
  /** The hosts. */
  host: StripHost[];
}

/** The last capture that a page started. */
export interface PageCapture {
  /** What the servers do, or how the capture ended. */
  state: CaptureState;
  /** Milliseconds since the last request to a server, at most `duration_ms`; 0 before any server traces. */
  elapsed_ms: number;
  /** The requested duration in milliseconds. */
  duration_ms: number;
  /** The errors in one line; until the capture ends, why a server is tried again. `null` without errors. */
  message: string | null;
  /** The servers. */
  hosts: CapturedHost[];
  /** Name of the session to open; `null` until it can be opened. */
  session: string | null;
}

/** One model of a speed-up table. */
export interface PairRow {
  /** Name of the model. */
  model: string;
  /** A value per column; `null` where the file has none. */
  speedups: (number | null)[];
  /** The pair behind each value; `null` where the file gives the value. */
  pairs: (PairValue | null)[];
}

/** A pair of times or sessions in a speed-up table. */
export interface PairValue {
  /** Cell of the file. */
  a: string;
  /** Cell of the file. */
  b: string;
  /** Time of A: the one in its cell, or the median step of the session there. */
  a_ps: number;
  /** Time of B: the one in its cell, or the median step of the session there. */
  b_ps: number;
  /** Number of steps behind each; `null` if the file gives both times. */
  steps: (number | null)[] | null;
  /** Probability that chance alone causes such a difference; `null` unless both are sessions with enough steps. */
  p: number | null;
  /** Result of the significance test; `null` unless both are sessions, with equal samples per step if recorded. */
  verdict: TestVerdict | null;
}

/** A table of speed-ups: `compare --pairs`. */
export interface Pairs {
  /** Names of the columns. */
  columns: string[];
  /** One row per model. */
  rows: PairRow[];
  /** Arithmetic mean of each column; `null` where it is empty. */
  means: (number | null)[];
  /** Number of values in each column. */
  counts: number[];
}

/** A parameter that differs from the nearest graph. */
export interface Parameter {
  /** Position of the parameter, from 0, in this graph; in the nearest graph if this one lacks it. */
  index: number;
  /** Its shape in the nearest graph; `null` if there is none. */
  before: string | null;
  /** Its shape in this graph; `null` if there is none. */
  after: string | null;
}

/** A part of an iteration, the mean of one kind. */
export interface PartRow {
  /** What the server's thread does. */
  part: Part;
  /** Time in which the device waits meanwhile. */
  exposed_ps: number;
  /** Time in which it works meanwhile. */
  hidden_ps: number;
}

/** How many hosts were read, and how many the views cover. */
export interface PartialCounts {
  /** Number of hosts that were read. */
  hosts_read: number;
  /** Number of hosts of the session. */
  hosts_total: number;
  /** Number of hosts that the views cover. */
  hosts_covered: number;
}

/** `data/session` while the session is being read, if the views cover more hosts than the page has seen. */
export interface PartialSession {
  /** What the server does: it reads the files, builds the traces, or prepares the timeline (`drawing`). */
  stage: LoadStage;
  /** Share of the work that is done, until the timeline can be drawn. */
  done_share: number;
  /** Estimate of the rest; `null` until it can be estimated. */
  seconds_left: number | null;
  /** Number of bytes read. */
  bytes_read: number;
  /** Size of all files; `null` until the store has reported all. */
  bytes: number | null;
  /** The progress of each host. */
  hosts: HostReading[];
  /** The numbers of hosts; `null` before the first partial report. */
  partial: PartialCounts | null;
  /** The session is being read. */
  state: "loading";
  /** What the page needs before it draws the views. */
  head: OpenedSession;
}

/** Peaks of one device; `null` where devices differ or nothing is known. */
export interface Peaks {
  /** Peak FLOP/s. */
  flops_per_s: number | null;
  /** Peak bytes/s of the main memory. */
  bytes_per_s: number | null;
  /** Source of the values; `user`: given by the user. */
  source: "table" | "capture" | "user" | null;
  /** One row per kind of device. */
  devices: DevicePeak[];
}

/** A phase, in the order of the host. */
export interface PhaseOfStep {
  /** Name of the phase. */
  name: string;
  /** How many phases of that name precede it in the step. */
  repetition: number;
  /** Why no op carries its name; `null` where one does. */
  lost: Lost | null;
}

/** The order of phases in the step on the device. */
export interface PhaseOrder {
  /** Number of uninterrupted sequences of ops of one phase. */
  runs: number;
  /** Number of different phases; ops without a phase count as one. */
  phases: number;
  /** Share of device time in sequences that begin after a later phase has begun. */
  inversion_share: number;
  /** By phase, in the order of the host. */
  by_phase: PhaseTime[];
}

/** The step, row by row. */
export interface PhaseRows {
  /** Phases and step markers on the host, by start. */
  host: HostPhase[];
  /** Sequences of ops on the device. */
  device: DevicePhase[];
  /** Runs on the device. */
  runs: PhaseRun[];
}

/** A run of the step on the device. */
export interface PhaseRun {
  /** Name of the program. */
  program: string;
  /** Id of the program. */
  program_id: string;
  /** Start. */
  start_ps: number;
  /** End. */
  end_ps: number;
}

/** The device time of one phase in the step. */
export interface PhaseTime {
  /** Index into `phases`; `null` for ops without a phase. */
  phase: number | null;
  /** Number of uninterrupted sequences of its ops. */
  runs: number;
  /** Own time of its ops. */
  device_ps: number;
  /** Start of its first op. */
  start_ps: number;
  /** End of its last op. */
  end_ps: number;
  /** The part of `device_ps` in sequences that begin after a later phase has begun. */
  inverted_ps: number;
}

/** What A's report predicts for the fix of one finding, and the step of B, which no longer has it. Steps are the usual ones: without what happened once. */
export interface Prediction {
  /** Place of the finding in A's report, from 1. */
  number: number;
  /** Name of the finding. */
  id: string;
  /** Its title. */
  title: string;
  /** A's step. */
  a_ps: number;
  /** A's step without the finding, at best. */
  best_ps: number;
  /** A's step without the finding, at worst. */
  worst_ps: number;
  /** B's step. */
  b_ps: number;
}

/** How the annotations of one program interleave on the device. */
export interface ProgramOrder {
  /** Name of the program. */
  program: string;
  /** Id of the program. */
  program_id: string;
  /** Number of executions. */
  executions: number;
  /** Own time of its ops. */
  device_ps: number;
  /** Median number of uninterrupted sequences of ops of one phase in an execution. */
  runs: number;
  /** Number of different phases; ops without a phase count as one. */
  phases: number;
  /** Share of device time in sequences that begin after a later phase has begun. */
  inversion_share: number;
}

/** Runs of a program. */
export interface ProgramTotals {
  /** Number of execute calls; a call that runs on several cores counts once. */
  launches: number;
  /** Number of runs; one per core. */
  count: number;
  /** From the start of the execute call to the later of its end and the end of the run, summed over runs. */
  host_ps: number;
  /** Time of the runs on the device. */
  device_ps: number;
  /** Time that the launched program waited for earlier programs on its core. */
  queue_ps: number;
  /** The rest of `host_ps`. */
  overhead_ps: number;
  /** What launched them. */
  kind: ExecutionKind;
}

/** `data/propagation`. */
export interface PropagationAnswer {
  /** The phases, in the order of the host. */
  phases: PhaseOfStep[];
  /** Host and device. */
  phase_rows: PhaseRows;
  /** Links from the host to the device. */
  ribbons: Ribbon[];
  /** The order on the device. */
  order: PhaseOrder;
  /** `no_ops`: no device ops were recorded; `flag_off`: ops carry no scopes. */
  state: "shown" | "no_ops" | "flag_off";
  /** What to do about the state; `null` if annotations are shown. */
  hint: string | null;
  /** The step; `null` if no step's work is known. */
  step: PropagationStep | null;
  /** The steps of its host. */
  steps: StepNumbers;
  /** The device; `null` without devices. */
  device: DeviceName | null;
  /** Own time of ops of the step on the device by the source of their scope. */
  coverage: Coverage;
  /** The words for these sources. */
  words: OriginWords;
  /** The same for the whole session, on all hosts, and the order of phases by program. */
  total: AnnotationOrder;
  /** The numbers of steps and devices that the tree's means cover. */
  means: MeanCounts;
  /** The paths with most time, each before those inside it. */
  tree: AnnotationNode[];
  /** Ops without an annotation. */
  unannotated: UnannotatedWork;
  /** Annotations whose names no op carries. */
  lost: LostAnnotation[];
  /** Ops of the step without an annotation; most time first. */
  unannotated_ops: UnannotatedOp[];
  /** Ops of the step that consist of several annotations' ops; most time first. */
  shared_ops: SharedOp[];
  /** Device time of the step by line of Python and annotation; most time first. */
  lines: SourceLine[];
  /** How many rows each list leaves out. */
  left_out: LeftOutRows;
  /** Names of the hosts that everything but `total` covers. */
  hosts: string[];
  /** Path of the requested annotation or scope; `null` for none. */
  requested_path: string | null;
  /** Whether there is no event at the requested row, start and depth. */
  stale: boolean;
}

/** The step that is shown. */
export interface PropagationStep {
  /** Index in the report's `steps`. */
  index: number;
  /** Number that the program gave the step; `null` if it gave none. */
  number: number | null;
  /** Name of the step. */
  name: string;
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
}

/** Ops of one annotation and bound that are not listed. */
export interface RestOps {
  /** Index into `paths`; -1: no annotation. */
  path: number;
  /** What bounds them. */
  bound_by: BoundBy;
  /** Number of distinct ops. */
  op_count: number;
  /** Number of executions. */
  executions: number;
  /** Own time. */
  self_ps: number;
}

/** A link from a phase on the host to a sequence of its ops on the device. */
export interface Ribbon {
  /** Index into the row of the host. */
  host: number;
  /** Index into the row of the device. */
  device: number;
  /** Whether the sequence begins after a later phase has begun. */
  inverted: boolean;
}

/** The answer of each route, by its name below `data/`. Times are integer picoseconds from the session's start. */
export interface Routes {
  /** The sessions of the logdir. */
  sessions: SessionList;
  /** One session: how far it has been read, or what the page needs to draw it. */
  session: SessionLoading | PartialSession | SessionError | SessionReady | ChosenHostsReady;
  /** The same of a session that is read again. */
  reload: SessionLoading | PartialSession | SessionError | SessionReady | ChosenHostsReady;
  /** Whether the reading of a session was stopped. */
  stop: Stopped;
  /** The slices of rows in a window. */
  timeline: TimelineSlices;
  /** One event. */
  event: EventDetails;
  /** The next or previous event. */
  neighbor: Neighbor;
  /** Events by name. */
  search: SearchAnswer;
  /** The events of a window. */
  table: EventTable;
  /** All rows of the timeline. */
  scopes: TimelineRows;
  /** The device time of annotations. */
  propagation: PropagationAnswer;
  /** The work of chosen devices in chosen steps. */
  device: DeviceAnswer;
  /** What a device's engines do, and what the device waits for. */
  engines: EnginesAnswer;
  /** Which host holds up the others, and why. */
  hosts: HostsAnswer;
  /** What one host did in each step. */
  host_steps: HostSteps;
  /** What is said of some steps of the hosts. */
  hosts_in_steps: HostsInSteps;
  /** Two sessions side by side. */
  compare: CompareAnswer;
  /** Waits of cores for other hosts. */
  waits: Waits;
  /** Who waits in one collective. */
  collective: CollectiveAnswer;
  /** What happens in a window. */
  window: Window;
  /** What the first view shows. */
  overview: Overview;
  /** The numbers beside the names of the views. */
  counts: Counts;
  /** Idle time of the devices. */
  gaps: GapsAnswer;
  /** One gap, and why it ended. */
  gap: GapAnswer;
  /** What the host launches. */
  executions: Executions;
  /** The loop of a server that decodes. */
  iterations: IterationsAnswer;
  /** What fills the memory of a device at the peak of a program. */
  memory: MemoryAnswer;
  /** Compilations, and the graphs by step. */
  compiles: Compiles;
  /** A capture that begins. */
  capture: PageCapture | NoCapture;
  /** How far the capture is. */
  capture_progress: PageCapture | NoCapture;
  /** The capture that is cancelled. */
  capture_cancel: PageCapture | NoCapture;
}

/** Numbers of rows, with those that are not listed. */
export interface RowCounts {
  /** Rows of `device_work.annotations`; those with the largest differences are listed. */
  device_annotations: number;
  /** Rows of `device_work.ops`; those with the largest differences are listed. */
  device_ops: number;
  /** Rows of `annotations`; phases are listed first. */
  annotations: number;
  /** Rows of `programs`; those with most device time are listed. */
  programs: number;
  /** Rows of `compiles`; the longest are listed. */
  compiles: number;
  /** Pairs of programs that follow each other on a core, in A and in B; `lazy_dynamo` lists those with most time. */
  between: number[];
}

/** The runs of one step by start, a column per property. */
export interface RunColumns {
  /** Id of the device. */
  device: string[];
  /** Start of the run. */
  start_ps: number[];
  /** Duration of the run. */
  duration_ps: number[];
  /** Name of the program. */
  program: string[];
  /** What launched the run. */
  kind: ExecutionKind[];
  /** Start of the execute call. */
  launch_start_ps: number[];
  /** How the run was joined to its launch. */
  join: Join[];
  /** Host time of the run. */
  host_ps: number[];
  /** Queue time of the run. */
  queue_ps: number[];
  /** Overhead of the run. */
  overhead_ps: number[];
  /** How far the host was ahead of the device; 0 if it is not known. */
  lead_ps: number[];
}

/** How short a fix makes the usual step. */
export interface Rung {
  /** `fixed`, without all mistakes; `pace`, without one of the findings that set the pace, alone; `own`, down to the devices' own work. */
  kind: RungKind;
  /** Its name as it is shown. */
  label: string;
  /** Id of the finding, of several the first; `null` if there is none. */
  finding: string | null;
  /** The step at best. */
  best_ps: number;
  /** The step at worst; `best_ps` if the two hardly differ. */
  worst_ps: number;
  /** Share of the usual step that is saved at best. */
  gain: number;
  /** The gain in words: `−36.0 %`; `up to −74.8 %` if it may be much less. */
  text: string;
}

/** Samples per second. */
export interface SamplesPerSecond {
  /** By the median step. */
  median: number;
  /** By the mean step. */
  mean: number;
}

/** What fewer executions would save: overhead per step and core, in total without steps. */
export interface Saving {
  /** What would change. */
  name: string;
  /** Overhead now. */
  now_ps: number;
  /** Overhead then. */
  then_ps: number;
}

/** How far a server schedules ahead of the device. */
export interface Scheduling {
  /** `sync`: nothing is in flight at the start of nine in ten iterations; `ahead`: of at most one in four. */
  kind: SchedulingKind;
  /** The usual number of iterations in flight at the start of one; `null` if `sync`. */
  ahead_by: number | null;
  /** Share of the iterations at whose start nothing is in flight. */
  share: number;
}

/** `data/search`: the events and the scopes of device ops whose name contains a text. */
export interface SearchAnswer {
  /** Number of events and scopes. */
  count: number;
  /** Number of the first hits that match equally well: their name is the text, else begins with or contains it. */
  best: number;
  /** Whether `hits` leaves events out. */
  truncated: boolean;
  /** The names; those that are the text first, then those that begin with it, each with most time first. */
  names: NameOfHits[];
  /** The first 1,000 events. */
  hits: SearchHits;
}

/** Events and scopes that a search finds, as columns: those with the best match first, among them events first, then by start. */
export interface SearchHits {
  /** Ids of the events; `null` for scopes. */
  event: (string | null)[];
  /** Ids of their rows. */
  row: string[];
  /** Indices of their lanes. */
  depth: number[];
  /** Starts in picoseconds. */
  s: number[];
  /** Durations in picoseconds. */
  d: number[];
  /** Names, as indices into `names`. */
  n: number[];
}

/** `data/session` if the session cannot be read. */
export interface SessionError {
  /** The session cannot be read. */
  state: "error";
  /** Why it cannot be read. */
  message: string;
  /** How far each host was read. */
  hosts: HostReading[];
}

/** The session as a whole. */
export interface SessionHead {
  /** Name of the session's directory. */
  name: string;
  /** Path or URL of the session's directory. */
  path: string;
  /** First paragraph of `description.txt` beside the capture, as one line, cut after 300 characters; `null` without one. */
  description: string | null;
  /** Epoch nanoseconds of time 0, as a decimal string because a double cannot hold them; `0` where unknown. */
  start_unix_ns: string;
  /** From time 0 to the end of the last event of any host. */
  duration_ps: number;
  /** One row per host. */
  hosts: HostFile[];
}

/** `data/sessions`: the sessions of the logdir. */
export interface SessionList {
  /** The logdirs, as text. */
  logdir: string;
  /** The sessions, newest first. */
  sessions: ListedSession[];
  /** Why there are no sessions; `null` if there are. */
  message: string | null;
  /** One line about directories that this user may not read; `null` if there are none. */
  note: string | null;
  /** Whether this page may capture. */
  capture: boolean;
  /** Where captures are written; `null` if this page may not capture. */
  capture_logdir: string | null;
}

/** `data/session` while the session is being read. */
export interface SessionLoading {
  /** What the server does: it reads the files, builds the traces, or prepares the timeline (`drawing`). */
  stage: LoadStage;
  /** Share of the work that is done, until the timeline can be drawn. */
  done_share: number;
  /** Estimate of the rest; `null` until it can be estimated. */
  seconds_left: number | null;
  /** Number of bytes read. */
  bytes_read: number;
  /** Size of all files; `null` until the store has reported all. */
  bytes: number | null;
  /** The progress of each host. */
  hosts: HostReading[];
  /** The numbers of hosts; `null` before the first partial report. */
  partial: PartialCounts | null;
  /** The session is being read. */
  state: "loading";
}

/** `data/session` of a session in memory. */
export interface SessionReady {
  /** The rows in drawing order. */
  rows: TimelineRow[];
  /** Whether the rows of gaps, scopes and asynchronous ops are still missing; `data/scopes` computes them. */
  more_rows: boolean;
  /** The names of phases, in their usual order in a step. */
  phases: string[];
  /** By name of an annotation, the names of those directly below it, the longest in total first; at most 24 each. */
  annotations: Record<string, string[]>;
  /** The classes of host time that the rows show. */
  classes: ClassName[];
  /** The whole session. */
  strip: OverviewStrip;
  /** The session. */
  session: SessionHead;
  /** Framework, runtime and accelerator. */
  environment: Environment;
  /** Limitations of the analysis. */
  diagnostics: Diagnostic[];
  /** The devices. */
  devices: DeviceSummaries;
  /** Indices of the hosts whose rows these are; absent if all hosts are in memory. */
  chosen_hosts?: number[];
  /** The hosts to look at first; absent if all hosts are in memory. */
  ranks?: HostRanks;
  /** The session is in memory. */
  state: "ready";
  /** Fingerprint of the files that were read. */
  fingerprint: string;
  /** Whether the files have changed since. */
  changed: boolean;
}

/** An op that consists of several annotations' ops, such as a fusion. */
export interface SharedOp {
  /** The operation: that of the op name, else the opcode. */
  op: string;
  /** Name of the op in its program. */
  name: string;
  /** Own time. */
  device_ps: number;
  /** Its annotations. */
  parts: SharedPart[];
  /** Its line of Python; empty if unknown. */
  source: string;
  /** Share of instructions without an annotation. */
  unscoped_share: number;
}

/** A part of an op that consists of several annotations' ops. */
export interface SharedPart {
  /** Path of the annotation. */
  path: string;
  /** Its share of the op's time: of the instructions that have an annotation, the share of this one's. */
  share: number;
}

/** The hosts whose work is shown. */
export interface ShownHosts {
  /** Their indices; if all cores are chosen, not always all hosts. */
  shown: number[];
  /** Number of hosts of the session. */
  total: number;
}

/** The run of median duration of the device's main program, of those with asynchronous ops, engine by engine. */
export interface ShownRun {
  /** When it begins. */
  start_ps: number;
  /** How long it takes. */
  duration_ps: number;
  /** The device, then its first 16 SparseCores. */
  engines: EngineRow[];
  /** The 12 asynchronous ops with most waiting, in order of time, and the others in one row. */
  windows: WindowRow[];
}

/** A transfer between slices, of one device. */
export interface ShownTransfer {
  /** Its name, which sends and receives share; without one, that of its op. */
  transfer: string;
  /** Name of the program. */
  program: string;
  /** What it does: `all-reduce`, `one-to-one` …; `send`, `recv` or `send and recv` if that is not recorded. */
  kind: string;
  /** Path of its annotation; `null` without one. */
  annotation: string | null;
  /** Name of the op that sends; `null` without one. */
  send: string | null;
  /** Name of the op that receives; `null` without one. */
  recv: string | null;
  /** Numbers of the slices that data comes from; empty if they are not recorded. */
  peers: number[];
  /** Number of times. */
  count: number;
  /** Their time from the start of the first op to the end of the last. */
  window_ps: number;
  /** What the program leaves for one: mean time from its start until it is needed, without the ops of all transfers between slices. */
  slack_mean_ps: number;
  /** Mean time in which its data is on the way; `null` if that is not recorded. */
  network_mean_ps: number | null;
  /** Number of times for which that is recorded. */
  network_count: number;
  /** Mean wait for one. */
  wait_mean_ps: number;
  /** Own time of the done ops. */
  wait_ps: number;
  /** Own time of the ops that start them; with `wait_ps` what xprof calls stall. */
  issue_ps: number;
  /** Number of times in which at least half of the wait passed before the other slice sent; `null` if that is not recorded. */
  late: number | null;
  /** The first 10 steps of each host with such a time: their numbers, else their indices. */
  late_steps: number[];
  /** The part of `wait_ps` before the other slice sent; `null` if that is not recorded. */
  peer_ps: number | null;
  /** The part of `wait_ps` in which the transfer takes longer than the program leaves for it; `null` if that is not recorded. */
  short_ps: number | null;
  /** The part of the time on the way in which data of other transfers is on the way to the host; `null` if that is not recorded. */
  shared_ps: number | null;
  /** Bytes that it receives from other slices in the times of `network_count`; `null` if they are not recorded. */
  bytes: number | null;
  /** These bytes per second on the way; `null` if either is not recorded. */
  bytes_per_s: number | null;
  /** Number of start and done ops without their counterpart in the same run, which are in no other column. */
  unpaired: number;
  /** Why the devices wait: `peer`, the other slice sends late; `slack`, it takes longer than the program leaves for it; `bandwidth`, it does while others share the network. `null` if they hardly wait, or if that is not known. */
  cause: WaitCause | null;
  /** Why the device waits for it; empty if it hardly does, or if that is not known. */
  why: string;
}

/** The values of a number in the names of iterations. */
export interface SlotRange {
  /** The smallest. */
  min: number;
  /** The median, of two in the middle the lower one. */
  median: number;
  /** The largest. */
  max: number;
}

/** Device time of one line of Python in one annotation. */
export interface SourceLine {
  /** File and line; empty if unknown. */
  source: string;
  /** Path of the annotation; `null`: ops without one. */
  path: string | null;
  /** Own time of ops; that of an op of several annotations is divided by their shares. */
  device_ps: number;
  /** Number of ops; an op of several annotations counts for each. */
  ops: number;
}

/** Times of the lazy session divided by those of the other one; `null` if one of them is unknown or 0. */
export interface Speedup {
  /** IR tracing. */
  tracing: number | null;
  /** Device time. */
  device: number | null;
  /** Duration of a step. */
  wall: number | null;
}

/** The range of a time over the runs of a program. */
export interface Spread {
  /** Minimum. */
  min: number;
  /** Median: the lower one of two in the middle; for several hosts the median of their medians, each weighted by its number of runs. */
  median: number;
  /** Maximum. */
  max: number;
}

/** The range of each time over the runs of a program; of all times but the device's over those whose launch is known, if there are any. */
export interface Spreads {
  /** Host time of a run. */
  host_ps: Spread;
  /** Device time of a run. */
  device_ps: Spread;
  /** Queue time of a run. */
  queue_ps: Spread;
  /** Overhead of a run. */
  overhead_ps: Spread;
}

/** The time of an op that only waits, on all devices; the last row may be the sum of `summed_ops` others. */
export interface StallSum {
  /** Name of the op; `null` in the row with the sums of the others. */
  op: string | null;
  /** Number of ops in the row with the sums of the others. */
  summed_ops?: number;
  /** Number of events. */
  count: number;
  /** Their time. */
  duration_ps: number;
  /** What it waits for. */
  engine?: Engine;
}

/** A stat of an event, or a fact about it. */
export interface StatOfEvent {
  /** Name of the stat. */
  name: string;
  /** Its value as text; of bytes the first 32 in hexadecimal digits. */
  value: string;
  /** Type of the value. */
  kind: StatType;
}

/** Adjacent pieces of a step in which one class takes most time; a step has 480 pieces. */
export interface StepClass {
  /** What the host does. */
  class: ClassName;
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
}

/** Whole steps, a column per key of the report's `steps`. */
export interface StepColumns {
  /** Index in the report's `steps`. */
  index: number[];
  /** Number that the program gave the step; `null` if it gave none. */
  number: (number | null)[];
  /** Name of the host. */
  host: string[];
  /** Start of the step. */
  start_ps: number[];
  /** Duration of the step. */
  duration_ps: number[];
  /** Work of the busiest core on what the step launched; if the steps come from a device, its work during the step. */
  device_busy_ps: number[];
  /** Number of launches. */
  executions: number[];
  /** Number of compilations. */
  compiles: number[];
  /** Number of early executions. */
  early_syncs: number[];
  /** Number of input syncs: executions that compute the inputs of a dynamo execution. */
  input_syncs: number[];
  /** Number of reads from the device on the driving thread. */
  from_device: number[];
  /** What the driving thread did, by class. */
  host_ps: Partial<Record<ClassName, number[]>>;
}

/** A gap between the step's start and the end of the last run that the step launched, cut there. */
export interface StepGap {
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
  /** The cause of the gap. */
  cause: ClassName;
}

/** The steps of the host, at most 2,000 around the one that is shown. */
export interface StepNumbers {
  /** Index of the first one in the report's `steps`. */
  first: number;
  /** Their numbers; `null` for a step without one. */
  numbers: (number | null)[];
}

/** A step of A and its partner in B. */
export interface StepPair {
  /** In A; `null` if there is none. */
  a_ps: number | null;
  /** In B; `null` if there is none. */
  b_ps: number | null;
  /** B − A; `null` if either is. */
  difference_ps: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
  /** Index of the step in A. */
  a: number;
  /** Index of the step in B. */
  b: number;
  /** Number of the step in A; `null` without one. */
  a_number: number | null;
  /** Number of the step in B; `null` without one. */
  b_number: number | null;
  /** Work of the busiest core. */
  device: TimePair;
  /** Launches in A and in B. */
  executions: number[];
}

/** A part of the usual step of a core. */
export interface StepPart {
  /** What the core does: `computing`; `collective`, an exchange of data while nothing else computes; `wait`, an op that only waits; `late`, waiting in collectives for late hosts or cores; `idle`, by what the host does meanwhile; `short_gaps`, idle time in gaps under 10 µs. */
  kind: StepPartKind;
  /** Kind of the collective, opcode of the op that waits, `hosts` or `cores` that are late, or class of the host's time; empty where `kind` says all. */
  name: string;
  /** Its name as it is shown. */
  label: string;
  /** Its time in the usual step. */
  ps: number;
  /** What is added to it in the mean step by what happened once. */
  once_ps: number;
}

/** A phase of a step. */
export interface StepPhase {
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
  /** Name of the phase. */
  name: string;
}

/** A run between the step's start and the end of the last run that the step launched. */
export interface StepRun {
  /** Start. */
  start_ps: number;
  /** Duration. */
  duration_ps: number;
  /** Name of the program. */
  program: string;
  /** Whether the step launched it. */
  is_own: boolean;
}

/** Sums over steps and cores. */
export interface StepTimes {
  /** Duration of the steps, once per core; the spans of devices where there are no steps. */
  time_ps: number;
  /** Time in which cores work. */
  work_ps: number;
  /** The part of `work_ps` in ops that only wait. */
  stall_ps: number;
  /** `time_ps` - `work_ps`. */
  idle_ps: number;
  /** The part of `idle_ps` in gaps below 10 µs. */
  small_ps: number;
  /** The part of `idle_ps` before a core's first and after its last work, where no gap is; also part of `by_class_ps`. */
  edges_ps: number;
  /** `idle_ps` without `small_ps`, by what the host did. */
  by_class_ps: Partial<Record<ClassName, number>>;
}

/** Sums over steps. */
export interface StepTotals {
  /** Durations. */
  duration_ps: number;
  /** Work of the busiest cores. */
  device_busy_ps: number;
  /** Launches. */
  executions: number;
  /** Compilations. */
  compiles: number;
  /** Early executions. */
  early_syncs: number;
  /** Input syncs: executions that compute the inputs of a dynamo execution. */
  input_syncs: number;
  /** Reads from devices on the driving threads. */
  from_device: number;
}

/** The intervals in which a device works on one step each, by start, as columns. */
export interface StepWorkIntervals {
  /** Id of the device. */
  device: string;
  /** The indices of the host's steps: from the first to before the second. */
  steps: [number, number];
  /** Index of the step that launched the work. */
  step: number[];
  /** Start of the interval's first run. */
  start_ps: number[];
  /** End of the interval's last run. */
  end_ps: number[];
}

/** `data/stop`. */
export interface Stopped {
  /** Whether the session was being read. */
  stopped: boolean;
}

/** A device in the overview strip. */
export interface StripDevice {
  /** Id of the device. */
  id: string;
  /** The busy share of each bucket, a hexadecimal digit from `0`, idle, to `f`, busy throughout. */
  busy: string;
}

/** A host in the overview strip. */
export interface StripHost {
  /** The class with most time in each bucket, as a hexadecimal digit. */
  class: string;
  /** Name of the host. */
  host: string;
}

/** Host, device, queue and overhead time of executions; `host_ps` is the sum of the other three. */
export interface Sums {
  /** Number of execute calls; a call that runs on several cores counts once. */
  launches: number;
  /** Number of runs; one per core. */
  count: number;
  /** From the start of the execute call to the later of its end and the end of the run, summed over runs. */
  host_ps: number;
  /** Time of the runs on the device. */
  device_ps: number;
  /** Time that the launched program waited for earlier programs on its core. */
  queue_ps: number;
  /** The rest of `host_ps`. */
  overhead_ps: number;
}

/** Annotations whose names differ only in numbers. */
export interface Template {
  /** The name, with `{}` in place of numbers. */
  name: string;
  /** Number of annotations. */
  count: number;
  /** Number of different names. */
  texts: number;
  /** The numbers in the different names, by the word after each; `#` without one. */
  slots: Record<string, SlotRange>;
}

/** A time in both sessions, and the result of the significance test for the difference. */
export interface TestedTimePair {
  /** In A; `null` if there is none. */
  a_ps: number | null;
  /** In B; `null` if there is none. */
  b_ps: number | null;
  /** B − A; `null` if either is. */
  difference_ps: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
  /** Which direction is better; `null` if neither is. */
  better: BetterDirection | null;
  /** Probability that chance alone causes such a difference; `null` where it was not tested. */
  p: number | null;
  /** Largest difference, as a share of A's value, that may be chance; `null` if the tested difference is larger, if none was tested, if A is 0, and in `device_work`, whose rows are tested together. */
  chance: number | null;
  /** `better` or `worse`: B than A; `same`: at most 3 % apart; `chance`: may be chance; `few`: too few steps to test; `null`: not tested, or neither direction is better. */
  verdict: TestVerdict | null;
}

/** Time of a gap by class and thread. */
export interface ThreadTime {
  /** What the host does. */
  class: ClassName;
  /** Name of the thread. */
  thread: string;
  /** Time; over all rows it adds up to the gap. */
  duration_ps: number;
}

/** Samples per second, of all hosts and devices together. */
export interface Throughput {
  /** As given, or as recorded. */
  samples_per_step: number;
  /** Samples per second. */
  samples_per_s: SamplesPerSecond;
}

/** A time in both sessions. */
export interface TimePair {
  /** In A; `null` if there is none. */
  a_ps: number | null;
  /** In B; `null` if there is none. */
  b_ps: number | null;
  /** B − A; `null` if either is. */
  difference_ps: number | null;
  /** B / A; `null` if either is, or A is 0. */
  ratio: number | null;
}

/** A row of the timeline. */
export interface TimelineRow {
  /** Id of the row; begins with the host's index in `session.hosts`. */
  id: string;
  /** What the row shows. */
  kind: TimelineRowKind;
  /** The text beside the row. */
  label: string;
  /** Name of the host. */
  host: string;
  /** Id of the device; `null` in a row of the host. */
  device: string | null;
  /** Role of the thread (see `WindowThread`); `null` in rows that show no thread. */
  role: string | null;
  /** Number of lanes, at least 1. */
  lanes: number;
  /** Number of events. */
  events: number;
  /** Whether the row is drawn without unfolding. */
  unfolded: boolean;
  /** The share of the session that its events cover; `null` in the rows of classes and of gaps. */
  share: number | null;
}

/** `data/scopes`: the rows of the timeline. */
export interface TimelineRows {
  /** The rows in drawing order. */
  rows: TimelineRow[];
  /** Whether the rows of gaps, scopes and asynchronous ops are still missing; `data/scopes` computes them. */
  more_rows: boolean;
}

/** `data/timeline`: the slices of rows that touch a window. */
export interface TimelineSlices {
  /** Start of the window. */
  start_ps: number;
  /** End of the window. */
  end_ps: number;
  /** The names of slices. */
  names: string[];
  /** By id of the row, its lanes, outermost first. */
  rows: Record<string, LaneSlices[]>;
}

/** Sums over the session's own report. */
export interface Totals {
  /** Devices. */
  devices: DeviceTotals;
  /** Steps. */
  steps: StepTotals;
  /** Gaps. */
  gaps: GapTotals;
  /** Executions. */
  executions: Sums;
  /** Compilations. */
  compiles: CompileTotals;
  /** Transfers. */
  transfers: TransfersByDirection;
  /** Collectives. */
  collectives: CollectiveTotals;
}

/** Transfers in one direction. */
export interface Transfers {
  /** Number of transfers. */
  count: number;
  /** Mean number per step; `null` without steps. */
  per_step: number | null;
  /** Their time, summed over threads. */
  duration_ps: number;
  /** Their bytes; `null` if no event records them. */
  bytes: number | null;
  /** Mean bytes per step; `null` if none is known, or without steps. */
  bytes_per_step: number | null;
  /** Number of transfers whose bytes are known. */
  known_size_count: number;
  /** Number of transfers in whole steps. */
  in_steps: number;
  /** Bytes of these; `null` if none is known. */
  bytes_in_steps: number | null;
}

/** Transfers by direction. */
export interface TransfersByDirection {
  /** From host to device. */
  to_device: Transfers;
  /** From device to host. */
  from_device: Transfers;
}

/** Ops without an annotation that do the same operation for the same line of Python. */
export interface UnannotatedOp {
  /** The operation: that of the op name, else the opcode. */
  op: string;
  /** Own time. */
  device_ps: number;
  /** `bare`: they have an op name, the name that the framework gave them, but no scope; `none`: they have no op name. */
  state: "bare" | "none";
  /** Their line of Python; empty if unknown. */
  source: string;
  /** Number of events. */
  count: number;
}

/** Ops without an annotation. */
export interface UnannotatedWork {
  /** Own time on all devices. */
  device_ps: number;
  /** Number of ops. */
  device_ops: number;
  /** Mean device time. */
  mean_device_ps: number;
  /** Device time of the step on the device. */
  step_device_ps: number;
  /** Number of ops of the step on the device. */
  step_device_ops: number;
}

/** What the report says in a few sentences. */
export interface Verdict {
  /** `headline` and `details`. */
  text: string;
  /** How much the devices work and what they wait for: one sentence of at most 120 characters and two numbers. */
  headline: string;
  /** What to fix first, what sets the pace after that, what happened once, and what the capture cannot tell. */
  details: string;
  /** That of the worst finding in it; without one, how much the sentences matter: `good` if nothing needs to be done. */
  severity: VerdictSeverity;
  /** Id of the finding about what the devices wait for most, or that they are the bottleneck; `null` without one. */
  cause: string | null;
  /** Id of the mistake with the largest gain, if that is at least 3 %; else `null`. */
  fix: string | null;
  /** Id of the finding about what sets the pace after that; `null` without one. */
  then: string | null;
}

/** The numbers beside the names of the views. */
export interface ViewCounts {
  /** Number of gaps of at least 10 µs. */
  gaps: number;
  /** Number of programs that ran. */
  executions: number;
  /** Number of compilations after the warm-up. */
  compiles: number;
  /** Number of annotations whose names no op on a device carries. */
  lost: number;
  /** Number of asynchronous ops, on each device. */
  async_ops: number;
  /** Number of iterations of a server. */
  iterations: number;
}

/** What a device waits for in the runs of its main program; times are sums over the runs. */
export interface WaitRow {
  /** Short name of the op; `null` in the last row, which sums further ops. */
  op: string | null;
  /** Number of ops in the row. */
  ops: number;
  /** What executes it; `null` for further ops. */
  engine: Engine | null;
  /** The same in words, a SparseCore with its number. */
  engine_name: string;
  /** Path of its annotation; `null` without one. */
  annotation: string | null;
  /** Time in which the device waits for it. */
  wait_ps: number;
  /** The part of it in which the SparseCore runs this op; `null` if that is not known. */
  wait_own_ps: number | null;
  /** The part of it in which the SparseCore runs other jobs before; `null` if that is not known. */
  wait_queue_ps: number | null;
  /** The rest; `null` if that is not known. */
  start_up_ps: number | null;
  /** The part of its time in which the device computes. */
  hidden_ps: number;
  /** Why the device waits; empty if it hardly does, or if that is not known. */
  why: string;
  /** What to do; empty if the device hardly waits. */
  advice: string;
  /** How its SparseCore's jobs were found. */
  join: "none" | "order" | "flow" | "id";
  /** Its longest wait; `null` for further ops. */
  longest: LongestWait | null;
}

/** `data/waits`: the waits in a window that last a pixel or more, host by host, by start; at most the 2,000 longest. */
export interface Waits {
  /** Ids of the devices. */
  device: string[];
  /** Index of the op's lane in the row of ops. */
  depth: number[];
  /** Start of the wait. */
  start_ps: number[];
  /** Arrival of the last host. */
  last_arrival_ps: number[];
  /** End of the op. */
  end_ps: number[];
  /** Length of the wait. */
  waits_ps: number[];
  /** Number of all waits in the window, also of those that are too short to be listed. */
  count: number;
  /** Names of hosts and ops. */
  names: string[];
  /** The host that arrives last, as an index into `names`. */
  last_host: number[];
  /** The op, as an index into `names`. */
  name: number[];
}

/** Durations of iterations. */
export interface WallTime {
  /** The mean in ps, rounded down. */
  mean: number;
  /** In ps: half of the iterations, or more, are not longer. */
  p50: number;
  /** In ps: 99 % of the iterations, or more, are not longer; of fewer than a hundred, the longest one. */
  p99: number;
}

/** What happens between two instants. */
export interface Window {
  /** Start of the window. */
  start_ps: number;
  /** End of the window. */
  end_ps: number;
  /** Its duration. */
  duration_ps: number;
  /** Name of the host whose driving thread `by_class_ps` describes; `null` without hosts. */
  host: string | null;
  /** What that driving thread does; adds up to the window. */
  by_class_ps: Partial<Record<ClassName, number>>;
  /** The same of each host. */
  hosts: WindowHost[];
  /** Threads with events, in the order of hosts, then of the capture's lines. */
  threads: WindowThread[];
  /** One row per device. */
  devices: WindowDevice[];
  /** Device time by annotation. */
  annotations: WindowAnnotation[];
  /** Names with most own time on all threads, without device ops. */
  top: NameTime[];
}

/** Own time of the ops of an annotation in the window. */
export interface WindowAnnotation {
  /** Path of the annotation; `null`: ops without one. */
  path: string | null;
  /** Number of op events. */
  count: number;
  /** Own time of its ops outside of inner annotations; all rows add up to the own time of all ops. */
  self_ps: number;
  /** Share of the own time of all ops. */
  share: number;
  /** Own time of its ops and of those of all inner annotations. */
  inside_ps: number;
  /** Ops with most own time. */
  top_ops: OpTime[];
  /** The other ops. */
  more_ops: OmittedRows;
}

/** What a device does in the window. */
export interface WindowDevice {
  /** Id of the device. */
  id: string;
  /** Name of the device. */
  name: string;
  /** Name of its host. */
  host: string;
  /** The part of the window in its span. */
  span_ps: number;
  /** Time in which ops work. */
  busy_ps: number;
  /** The rest of `span_ps`. */
  idle_ps: number;
  /** The part of `busy_ps` in ops that only wait. */
  stall_ps: number;
  /** Number of program runs. */
  modules: number;
  /** Number of op events. */
  ops: number;
  /** Ops with most own time. */
  top_ops: OpTime[];
  /** The other ops. */
  more_ops: OmittedRows;
}

/** What the driving thread of a host does in the window. */
export interface WindowHost {
  /** Name of the host. */
  host: string;
  /** Time by class; adds up to the window. */
  by_class_ps: Partial<Record<ClassName, number>>;
  /** By class, the id of the thread's row whose events decide most of its time; a class that no event decides is left out. */
  row_by_class: Partial<Record<ClassName, string>>;
}

/** A piece of the time of an asynchronous op; times are relative to the run's start. */
export interface WindowPiece {
  /** What it is. */
  kind: WindowPieceKind;
  /** When it begins. */
  start_ps: number;
  /** When it ends. */
  end_ps: number;
  /** How much of that time it takes. */
  ps: number;
}

/** An asynchronous op in the shown run. */
export interface WindowRow {
  /** Its short name; `null` in the last row, which sums further ops. */
  op: string | null;
  /** Number of ops in the row. */
  ops: number;
  /** How often they ran. */
  count: number;
  /** Their time from start to done. */
  window_ps: number;
  /** The part of it in which the device computes. */
  hidden_ps: number;
  /** How much that is. */
  hidden: HiddenKind;
  /** The pieces, later ones above earlier ones. */
  pieces: WindowPiece[];
}

/** What a thread does in the window. */
export interface WindowThread {
  /** Id of its row in the timeline. */
  row: string;
  /** Name of the thread. */
  name: string;
  /** Role of the thread: `driving`, `autograd`, `executor`, `client`, `compiler`, `transfer`, `loader`, `op_pool` or `other`. */
  role: string;
  /** Name of its host. */
  host: string;
  /** Time with any event. */
  busy_ps: number;
  /** Number of events. */
  events: number;
  /** Time by class; with `no_class_ps` it adds up to `busy_ps`. */
  by_class_ps: Partial<Record<ClassName, number>>;
  /** Time of events without a class. */
  no_class_ps: number;
  /** Names with most own time. */
  top: EventTime[];
  /** The other names. */
  more: OmittedRows;
}

/** Sentences on ops without FLOPs, and on the roofline; `null` where there is nothing to say. */
export interface WorkNotes {
  /** Ops that are work but have no FLOP count. */
  not_counted: string | null;
  /** How such an op gets one. */
  flop_advice: string | null;
  /** Custom calls whose kernels state their FLOPs themselves. */
  stated: string | null;
  /** Ops that are not work. */
  not_work: string | null;
  /** Ops with a FLOP count that the roofline does not show. */
  not_drawn: string | null;
  /** Why there is no roofline. */
  no_picture: string | null;
}

/** Sums over the shown ops; `self_ps` = `flops_known_ps` + `flops_unknown_ps` + `other_ps`. */
export interface WorkTotal {
  /** Own time. */
  self_ps: number;
  /** Work with a FLOP count. */
  flops_known_ps: number;
  /** Work without a FLOP count. */
  flops_unknown_ps: number;
  /** Time that is not work: collectives, transfers, waits. */
  other_ps: number;
  /** FLOP/s as a share of the peak; `null` if not known. */
  flops_share: number | null;
  /** FLOP/s that the program requests, as a share of the peak; `null` if not known. */
  mfu: number | null;
  /** Bytes/s of the main memory as a share of the peak; `null` if not known. */
  bytes_share: number | null;
  /** What bounds most of the time; `mixed` where nothing bounds most. */
  bound_by: BoundBy;
  /** Number of distinct ops. */
  op_count: number;
  /** Number of executions. Where the report of all hosts is shown, an op of several annotations counts for each. */
  executions: number;
}

/** Annotations as columns, parents before children; at the end ops without an annotation. At most 300, those with most time; the others count as own time of their nearest listed ancestor. Shares are `null` if not known. */
export interface WorkTree {
  /** Index into `paths`; -1: no annotation. */
  path: number[];
  /** Own time of its ops and of those of all below it. */
  self_ps: number[];
  /** Without those below it; adds up to `total.self_ps`. */
  own_ps: number[];
  /** FLOP/s as a share of the peak, with those below it. */
  flops_share: (number | null)[];
  /** Bytes/s as a share of the peak, with those below it. */
  bytes_share: (number | null)[];
  /** What bounds most of the time, with those below it. */
  bound_by: BoundBy[];
  /** FLOP/s as a share of the peak, without those below it. */
  own_flops_share: (number | null)[];
  /** Bytes/s as a share of the peak, without those below it. */
  own_bytes_share: (number | null)[];
  /** What bounds most of the time, without those below it. */
  own_bound_by: BoundBy[];
  /** Start of the first op; `null` except for one step of devices in memory. */
  first_ps: (number | null)[];
  /** End of the last op; `null` where `first_ps` is. */
  last_ps: (number | null)[];
}

/** What the devices are busy with, and how efficiently. */
export interface WorkVerdict {
  /** The sentence in parts, every second of which is emphasised. */
  text: string[];
  /** The largest op, or one of the ops that repeat with most time, of the annotation farthest below its roof, as an index into `ops`; -1: not listed, no roof is known, or the ops run near it. */
  op: number;
}
