/** What the view Propagation builds from its answer. */

export type Place = [start_ps: number, end_ps: number];
