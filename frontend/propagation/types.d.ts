/** An interval as the answer of Propagation has it. */
export type Interval = [start_ps: number, end_ps: number];
