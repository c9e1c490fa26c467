/** What the view Hosts builds from its answer. */

/**
 * A host as table and heat map have it, of all steps or of those that are chosen. Times of others that wait are sums.
 */
export interface HostRow {
  at: number; name: string; short: string; number: number; steps: number; step_us: number | null;
  last_count: number | null; share: number | null; last_steps: number; others_wait_us: number | null;
  duty: number | null; span_us: number; apart: { name: string; us: number }[];
  difference_class: string | null; difference_us: number | null; difference_in_one_step: boolean;
  offset_us: number | null; residual_us: number | null; is_clock_uncertain: boolean;
}

/** From and to, both in it; indices of steps. */
export type StepRange = [from: number, to: number];
