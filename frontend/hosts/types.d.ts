/** What the view Hosts builds from its answer. */

/**
 * A host as table and heat map have it, of all steps or of those that are chosen. Times of others that wait are sums.
 */
export interface HostRow {
  at: number; name: string; short: string; number: number; steps: number; step_us: number | null;
  last: number | null; share: number | null; last_steps: number; waits_us: number | null; duty: number | null; span_us: number;
  apart: { name: string; us: number }[]; differs: string | null; differs_us: number | null; once: boolean;
  offset_us: number | null; residual_us: number | null; is_clock_uncertain: boolean; named: boolean;
}

/** From and to, both in it; indices of steps. */
export type StepRange = [from: number, to: number];
