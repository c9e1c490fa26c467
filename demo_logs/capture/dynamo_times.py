#!/usr/bin/env python3
"""Record training whose graphs torch.compile extracts again, with Dynamo's own record of its times.

    PJRT_DEVICE=CPU python dynamo_times.py SCENARIO LOGDIR

Writes the profile below LOGDIR, and `dynamo_times.json` beside it: when Dynamo traced a function (with its backward
pass) and when it compiled a backward pass, each as start and end in epoch nanoseconds. The class `dynamo` of the
profile is compared with these times; the work of the bridge to XLA follows them, when the graph is first called.

Scenarios: `graph_break` (a value is read in the middle), `float_guard` (a number that changes), `dynamic_shapes`
(batches of growing size), `full_step` (the whole step is compiled, cold).
"""

import json
import sys
from pathlib import Path

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.profiler as xp
from torch import Tensor, nn
from torch._dynamo.utils import ChromiumEventLogger

SCENARIOS = ("graph_break", "float_guard", "dynamic_shapes", "full_step")
WIDTH, ROWS, STEPS = 64, 8, 6
PHASES = ("dynamo", "entire_backward_compile")
"""Names of the outermost phases in Dynamo's event log."""


class Model(nn.Module):
    """Two blocks, with the operation of the scenario between them."""

    def __init__(self, scenario: str) -> None:
        super().__init__()
        self.scenario, self.scale = scenario, 1.0
        self.first = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
        self.last = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        if self.scenario == "graph_break" and x.abs().max().item() > 100.0:
            x = x.clamp(-100.0, 100.0)
        if self.scenario == "float_guard":
            x = x * self.scale
        return self.last(x)


class Phases:
    """Dynamo's own record of its phases, as passed to its event log."""

    def __init__(self) -> None:
        self.intervals: list[tuple[int, int]] = []
        self._open: dict[str, list[int]] = {}
        begin, end = ChromiumEventLogger.log_event_start, ChromiumEventLogger.log_event_end

        def log_start(
            log: ChromiumEventLogger, name: str, time_ns: int, *rest: object, **options: object
        ) -> None:
            self._open.setdefault(name, []).append(time_ns)
            begin(log, name, time_ns, *rest, **options)

        def log_end(
            log: ChromiumEventLogger, name: str, time_ns: int, *rest: object, **options: object
        ) -> None:
            if name in PHASES and self._open.get(name):
                self.intervals.append((self._open[name].pop(), time_ns))
            end(log, name, time_ns, *rest, **options)

        ChromiumEventLogger.log_event_start, ChromiumEventLogger.log_event_end = log_start, log_end


def main() -> None:
    scenario, logdir = sys.argv[1], Path(sys.argv[2])
    if scenario not in SCENARIOS:
        sys.exit(f"unknown scenario {scenario}: one of {', '.join(SCENARIOS)}")
    logdir.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = torch_xla.device()
    model = Model(scenario).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def train(x: Tensor, y: Tensor) -> None:
        loss = ((forward(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    forward = model if scenario == "full_step" else torch.compile(model, backend="openxla")
    run_step = torch.compile(train, backend="openxla") if scenario == "full_step" else train

    def step(number: int) -> None:
        with xp.StepTrace("Training_Step", step_num=number):
            with xp.Trace("data_loading"):
                rows = ROWS + 2 * number * (scenario == "dynamic_shapes")
                x, y = torch.randn(2, rows, WIDTH).to(device)
            model.scale = 1.0 + 0.1 * number
            with xp.Trace("train"):
                run_step(x, y)
        torch_xla.sync()

    warm_up = 0 if scenario == "full_step" else 2
    for number in range(warm_up):
        step(number)
    xm.wait_device_ops()
    server = xp.start_server(9014)
    phases = Phases()
    xp.start_trace(str(logdir))
    for number in range(warm_up, warm_up + STEPS):
        step(number)
    xm.wait_device_ops()
    xp.stop_trace()
    (logdir / "dynamo_times.json").write_text(json.dumps({"phases_ns": phases.intervals}) + "\n")
    del server


if __name__ == "__main__":
    main()
