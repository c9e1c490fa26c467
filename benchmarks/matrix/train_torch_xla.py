#!/usr/bin/env python3
"""Train a small transformer with PyTorch/XLA and record its steps with the program's own measurements.

    PJRT_DEVICE=CPU PYTHONPATH=../what_if python train_torch_xla.py PROGRAM plain LOGDIR

The programs are those of `benchmarks/what_if`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.profiler as xp
from programs_torch import Program
from torch import Tensor
from torch_xla.debug import metrics
from truth import RECORDED_STEPS, WARMUP_STEPS, Case, Clock, record

CASES = {
    "steady": ("slow_input", False, Case()),
    "read_in_forward": ("early_read", True, Case("early_sync")),
    "read_after_step": ("read_after_step", True, Case("sync_every_step")),
    "slow_loader": ("slow_input", True, Case("input_bound")),
    "prefetch": ("no_prefetch", False, Case()),
    "new_shapes": ("new_shapes", True, Case("recompilation")),
    "cpu_fallback": ("cpu_fallback", True, Case("cpu_fallback", besides=("early_sync",))),
    "sync_per_update": ("sync_per_update", True, Case("many_small_executions")),
    "graph_break": ("graph_break", True, Case("early_sync")),
}
"""The pair in `what_if`, whether the program has its mistake, and its expected findings."""

clock = Clock()


def timed_batches(batches: Iterator[tuple[Tensor, Tensor]], part: str) -> Iterator[tuple[Tensor, Tensor]]:
    """The same batches; adds the time of loading each to a part of the clock."""
    while True:
        with clock.part(part):
            batch = next(batches)
        yield batch


def metric_totals(metric: str) -> tuple[int, float]:
    """The count of a metric and its total in seconds since the process began."""
    data = metrics.metric_data(metric)
    return (data[0], data[1] / 1e9) if data else (0, 0.0)


def main() -> None:
    name, logdir = sys.argv[1], Path(sys.argv[3])
    pair, has_mistake, case = CASES[name]
    logdir.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    program = Program(pair, has_mistake)
    program.batches = timed_batches(program.batches, "queue" if name == "prefetch" else "loader")
    server = xp.start_server(9012)

    def step() -> None:
        count_before, seconds_before = metric_totals("CompileTime")
        with clock.step():
            program.step(program.number)
            count, seconds = metric_totals("CompileTime")
            compilations = count - count_before
            for _ in range(compilations):
                clock.compilation((seconds - seconds_before) / compilations)
        program.number += 1

    def run() -> None:
        count_before, _ = metric_totals("ExecuteTime")
        for _ in range(RECORDED_STEPS):
            step()
        xm.wait_device_ops()
        clock.launches = metric_totals("ExecuteTime")[0] - count_before

    program.run(WARMUP_STEPS)
    facts: dict[str, object] = {
        "framework": "torch_xla",
        "version": torch_xla.__version__,
        "program": name,
        "python_tracer": False,
    }
    record(logdir, case, facts, clock, xp.start_trace, run, xp.stop_trace)
    (logdir / "metrics_report.txt").write_text(metrics.metrics_report() + "\n")
    del server


if __name__ == "__main__":
    main()
