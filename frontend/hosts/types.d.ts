/**
 * What `data/hosts` answers: `tb_xla_insights/pod/view.py` tells every key. Hosts, steps and classes are counted; `_us`
 * are whole microseconds.
 */

import type { HostCounts, VerdictSeverity } from "../lib/routes";

export interface HostsDocument {
  schema: 1; state: "compared" | "one_host" | "no_collectives" | "clocks_apart"; note: string | null;
  read: { hosts: number; of: number }; collectives: number; sampled: number; kind: string | null; classes: string[];
  verdict: {
    text: string; severity: VerdictSeverity; kind: "late" | "changing" | "none" | "unknown"; hosts: number[]; core: string | null;
    cause: string | null; annotation: string | null; cause_us: number | null; median_cause_us: number | null; steps: number[];
  };
  figures: { step_ps: number | null; waits_ps: number | null; step_if_fixed_ps: number | null };
  median_host: number | null;
  steps: { number: (number | null)[]; name: string[]; last: number[]; clear: boolean[]; step_us: number[] };
  hosts: {
    name: string[]; steps: number[]; step_ps: (number | null)[]; collectives: number[]; last: (number | null)[]; last_share: (number | null)[];
    last_steps: number[]; waits_us: (number | null)[]; waited_us: (number | null)[]; late_us: (number | null)[];
    duty_cycle: (number | null)[]; span_us: number[]; compiles: number[]; offset_us: (number | null)[]; residual_us: (number | null)[];
    too_wide: boolean[]; differs: (string | null)[]; differs_us: (number | null)[]; once: boolean[]; worst_step: number[]; named: boolean[];
  };
  order: number[]; late_us: number[][]; step_apart_us: (number | null)[][];
  charges: { host: number[]; step: number[]; last: number[]; waits_us: number[] };
  class_us: number[][]; step_class_us: Record<string, (number[] | null)[]>;
  cores: { host: number; id: string; last: number; late_us: number; device_us: number }[] | null;
  partial?: HostCounts;
}

/** With `host`: what that one did in each step, null for those that it does not have. */
export interface HostSteps { partial?: HostCounts; step_class_us: (number[] | null)[]; start_ps: (number | null)[]; duration_ps: (number | null)[] }

/**
 * A host as table and heat map have it, of all steps or of those that are chosen. Times of others that wait are sums.
 */
export interface HostRow {
  at: number; name: string; short: string; number: number; steps: number; step_us: number | null;
  last: number | null; share: number | null; last_steps: number; waits_us: number | null; duty: number | null; span_us: number;
  apart: { name: string; us: number }[]; differs: string | null; differs_us: number | null; once: boolean;
  offset_us: number | null; residual_us: number | null; too_wide: boolean; named: boolean;
}

/** From and to, both in it; indices of steps. */
export type StepRange = [from: number, to: number];
