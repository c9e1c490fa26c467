/** A device document with six ops, for the tests of the Device view. */

export const MS = 1e9;
const PATHS = ['step', 'step/layers', 'step/layers/mlp', 'step/layers/attention', 'step/loss'];
export const OPS = [
  // op, path, ms, FLOPs, bytes, share of FLOP/s and of bytes/s, bound
  ['dot.1', 2, 30, 24e12, 2e10, 0.8, 0.4, 'compute'],
  ['fusion.2', 3, 25, 1e11, 1e10, 0.004, 0.4, 'neither'],
  ['fusion.2', 4, 20, 2e10, 1.4e10, 0.001, 0.7, 'memory'],
  ['custom-call.3', 3, 10, null, null, null, null, 'unknown'],
  ['all-reduce.4', 0, 8, null, null, null, null, 'link'],
  ['copy.5', -1, 4, 0, 3e9, 0, 0.75, 'memory'],
];

export function answerWith(changes = {}) {
  const column = (/** @type {number} */ at) => OPS.map((op) => op[at]);
  const nulls = PATHS.concat('').map(() => null);
  return {
    schema: 1,
    chosen: { cores: '0.0', steps: '1205', category: null },
    stale: false,
    steps: ['1204', '1205'],
    whole_steps: 2,
    cores: 1,
    core_steps: 1,
    hosts: { shown: [0], total: 1 },
    categories: ['fusion', 'dot'],
    peaks: {
      flops_per_s: 1e15,
      bytes_per_s: 1e12,
      source: 'capture',
      devices: [{ kind: 'TPU v6 Lite', count: 1, flops_per_s: 1e15, bytes_per_s: 1e12, source: 'capture', cite: null }],
    },
    total: {
      self_ps: 99 * MS,
      flops_known_ps: 79 * MS,
      flops_unknown_ps: 10 * MS,
      other_ps: 10 * MS,
      flops_share: 0.24,
      mfu: 0.24,
      bytes_share: 0.47,
      bound_by: 'mixed',
      op_count: 6,
      executions: 60,
    },
    paths: PATHS,
    tree: {
      path: [0, 1, 2, 3, 4, -1],
      self_ps: [93, 65, 30, 35, 20, 4].map((ms) => ms * MS),
      own_ps: [8, 0, 30, 35, 20, 4].map((ms) => ms * MS),
      flops_share: [0.2, 0.2, 0.8, 0.003, 0.001, 0],
      bytes_share: nulls,
      bound_by: ['mixed', 'mixed', 'compute', 'neither', 'memory', 'memory'],
      own_flops_share: [null, null, 0.8, 0.003, 0.001, 0],
      own_bytes_share: nulls,
      own_bound_by: ['link', 'unknown', 'compute', 'neither', 'memory', 'memory'],
      first_ps: [0, 1, 2, 3, 4, 5],
      last_ps: [9, 9, 9, 9, 9, 9],
    },
    ops: {
      op: column(0),
      path: column(1),
      self_ps: column(2).map((ms) => ms * MS),
      flops: column(3),
      hbm_bytes: column(4),
      flops_share: column(5),
      bytes_share: column(6),
      bound_by: column(7),
      program: OPS.map(() => 0),
      category: OPS.map(([op]) => Number(op.startsWith('dot'))),
      shape: OPS.map(() => null),
      source: OPS.map((_, at) => (at ? -1 : 0)),
      executions: OPS.map(() => 10),
      kind: OPS.map(([op]) => (op.startsWith('all') ? 'collective' : 'work')),
      run: OPS.map((_, at) => (at ? null : [0, 5, 1, 7])),
    },
    programs: ['jit_f'],
    sources: ['/opt/model/mlp.py:40'],
    rows: ['h0.d0.ops'],
    rest: [{ path: 4, bound_by: 'memory', op_count: 3, executions: 30, self_ps: 2 * MS }],
    verdict: { text: ['', 'attention', ' takes most time.'], op: 1 },
    ...changes,
  };
}
