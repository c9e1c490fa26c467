#!/usr/bin/env python3
"""Record one small PyTorch/XLA training run with the profiler, on a CPU.

    PJRT_DEVICE=CPU python train.py SCENARIO LOGDIR

Writes the profile below LOGDIR in the layout that TensorBoard expects, and the metrics report beside it.
Every scenario trains the same one-block transformer; each differs from `baseline` in one respect only, so that two
profiles can be compared. README.md lists them.
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.profiler as xp
from torch import Tensor, nn
from torch.nn import functional
from torch_xla.debug import metrics

SCENARIOS = ("baseline", "early_item", "slow_input", "dynamic_shapes", "dynamo", "dynamo_graph_break")
VOCABULARY, WIDTH, HEADS, BATCH, LENGTH = 96, 48, 2, 4, 16
WARMUP_STEPS, RECORDED_STEPS = 3, 6
LOADER_DELAY_S = 0.04


def trace(name: str) -> contextlib.AbstractContextManager[object]:
    """A profiler annotation, or nothing while dynamo traces: an annotation would break its graph."""
    return contextlib.nullcontext() if torch.compiler.is_compiling() else xp.Trace(name)


class Block(nn.Module):
    """One transformer block, its two halves annotated."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.before_mlp = nn.LayerNorm(WIDTH)
        self.to_qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.from_heads = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))

    def attend(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = self.to_qkv(x).view(batch, length, 3 * HEADS, WIDTH // HEADS).transpose(1, 2)
        query, key, value = heads.chunk(3, dim=1)
        weights = torch.softmax(query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5, dim=-1)
        return self.from_heads((weights @ value).transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        with trace("attention"):
            x = x + self.attend(self.before_attention(x))
        with trace("mlp"):
            return x + self.mlp(self.before_mlp(x))


class Model(nn.Module):
    """Token embedding, block, head. With `read_back` it reads a value on the host halfway through."""

    def __init__(self, read_back: bool) -> None:
        super().__init__()
        self.read_back = read_back
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.block = Block()
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.block(self.embedding(tokens))
        if self.read_back and x.abs().max().item() > 100.0:  # decides on a value: runs the graph
            x = x.clamp(-100.0, 100.0)
        return self.head(x)


def batches(scenario: str, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless random tokens and targets. Under dynamic_shapes the length grows in the middle of the recording."""
    generator = torch.Generator().manual_seed(1)
    number = 0
    while True:
        length = LENGTH + 8 * (scenario == "dynamic_shapes" and number >= WARMUP_STEPS + 2)
        if scenario == "slow_input":
            time.sleep(LOADER_DELAY_S)
        tokens = torch.randint(VOCABULARY, (2, BATCH, length), generator=generator)
        yield tokens[0].to(device), tokens[1].to(device)
        number += 1


def main() -> None:
    scenario, logdir = sys.argv[1], Path(sys.argv[2])
    if scenario not in SCENARIOS:
        sys.exit(f"unknown scenario {scenario}: one of {', '.join(SCENARIOS)}")
    logdir.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = torch_xla.device()
    loader = batches(scenario, device)
    model: nn.Module = Model(read_back=scenario in ("early_item", "dynamo_graph_break")).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    if scenario.startswith("dynamo"):
        explained = torch._dynamo.explain(model)(next(loader)[0])
        (logdir / "dynamo_explain.txt").write_text(f"{explained}\n")
        torch._dynamo.reset()
        torch_xla.sync()
        model = torch.compile(model, backend="openxla")

    def step(number: int) -> None:
        with xp.StepTrace("Training_Step", step_num=number):
            with xp.Trace("data_loading"):
                tokens, targets = next(loader)
            with xp.Trace("forward"):
                scores = model(tokens)
            with xp.Trace("loss"):
                loss = functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
            with xp.Trace("backward"):
                loss.backward()
            with xp.Trace("FINISH_UPDATE"):
                xm.optimizer_step(optimizer)
                optimizer.zero_grad()

    for number in range(WARMUP_STEPS):
        step(number)
    xm.wait_device_ops()
    server = xp.start_server(9012)
    xp.start_trace(str(logdir))
    for number in range(WARMUP_STEPS, WARMUP_STEPS + RECORDED_STEPS):
        step(number)
    xm.wait_device_ops()
    xp.stop_trace()
    (logdir / "metrics_report.txt").write_text(metrics.metrics_report() + "\n")
    del server


if __name__ == "__main__":
    main()
