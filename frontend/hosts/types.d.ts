/** What the view Hosts builds from its answer. */

/** How much more time a class takes on a host than on the median host, in the mean step. */
export interface ClassDifference { name: string; us: number }

/**
 * A host in the table and the heat map, over all steps or over the chosen ones. `index`: its position in the answer;
 * `short` and `number`: its short name and the number in it (NaN without one); `step_us`: the median of its steps;
 * `last_count`: the number of collectives at which it arrived last; `share`: the same as a share of its collectives, over
 * chosen steps of those of all hosts; `last_steps`: the number of steps in which it was last; `others_wait_us`: how long
 * all others waited for it. Always of all steps are `duty` with `span_us` (the sum of its devices' spans), the
 * differences, and its clock's `offset_us` and `residual_us`.
 */
export interface HostRow {
  index: number; name: string; short: string; number: number; steps: number; step_us: number | null;
  last_count: number | null; share: number | null; last_steps: number; others_wait_us: number | null; duty: number | null; span_us: number;
  differences: ClassDifference[]; difference_class: string | null; difference_us: number | null; difference_in_one_step: boolean;
  offset_us: number | null; residual_us: number | null; is_clock_uncertain: boolean;
}

/** Indices of the first and the last step, both included. */
export type StepRange = [from: number, to: number];
