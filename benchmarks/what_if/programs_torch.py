#!/usr/bin/env python3
"""Train with one mistake, or without it, and record the steps: PyTorch/XLA.

    PJRT_DEVICE=CPU python programs_torch.py PAIR {with,without} LOGDIR

Both sides of a pair run the same code except for the mistake (pairs.py). The profile is written below LOGDIR, with the
metrics report, and `steps.json` of quiet.py.
"""

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.profiler as xp
from quiet import record
from torch import Tensor, nn
from torch.nn import functional
from torch_xla.debug import metrics

VOCABULARY, WIDTH, HEADS, LAYERS, BATCH, LENGTH = 256, 128, 4, 2, 8, 32
MICRO_BATCHES, MICRO_BATCH = 6, 2
PAIRS_OF_MARKERS = ("marker_per_micro_batch", "sync_per_update")
WARMUP_STEPS, RECORDED_STEPS = 6, 15
SLOW_LOADER_S, LOADER_S = 0.02, 0.008
PADDED_LENGTH = LENGTH + 8


def trace(name: str) -> contextlib.AbstractContextManager[object]:
    """An annotation, or nothing while dynamo traces: an annotation would break its graph."""
    return contextlib.nullcontext() if torch.compiler.is_compiling() else xp.Trace(name)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.before_mlp = nn.LayerNorm(WIDTH)
        self.to_qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.from_heads = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH))

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
    """Token embedding, blocks, head. With `reads` it reads a value on the host halfway through."""

    def __init__(self, reads: bool) -> None:
        super().__init__()
        self.reads = reads
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for number, block in enumerate(self.blocks):
            x = block(x)
            if self.reads and number == 0 and x.abs().max().item() > 1e6:
                x = x.clamp(-1e6, 1e6)
        return self.head(x)


class Program:
    """One side of a pair."""

    def __init__(self, pair: str, has_mistake: bool) -> None:
        self.pair, self.has_mistake = pair, has_mistake
        self.mistake = pair if has_mistake else None
        self.number = 0
        self.device = torch_xla.device()
        reads = self.mistake in ("early_read", "graph_break")
        self.model: nn.Module = Model(reads).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.batches = self.load()
        if pair == "no_prefetch" and not has_mistake:
            self.batches = prefetch(self.batches)
        if pair == "graph_break":
            self.model = torch.compile(self.model, backend="openxla")

    def load(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Endless random tokens and targets on the host."""
        generator = torch.Generator().manual_seed(1)
        number = 0
        while True:
            if self.mistake == "slow_input":
                time.sleep(SLOW_LOADER_S)
            if self.pair == "no_prefetch":
                time.sleep(LOADER_S)
            length = LENGTH
            if self.pair == "new_shapes":
                length = PADDED_LENGTH if not self.has_mistake else LENGTH + number // 3
            batch = MICRO_BATCH if self.pair in PAIRS_OF_MARKERS else BATCH
            tokens = torch.randint(VOCABULARY, (2, batch, length), generator=generator)
            yield tokens[0], tokens[1]
            number += 1

    def forward_and_backward(self) -> Tensor:
        with xp.Trace("data_loading"):
            tokens, targets = (batch.to(self.device) for batch in next(self.batches))
        with xp.Trace("forward"):
            scores = self.model(tokens)
            if self.pair == "cpu_fallback":
                scores = scores + 1e-3 * (torch.special.i1(scores) if self.has_mistake else torch.sin(scores))
        with xp.Trace("loss"):
            loss = functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        with xp.Trace("backward"):
            loss.backward()
        return loss.detach()

    def update(self) -> None:
        with xp.Trace("update"):
            xm.optimizer_step(self.optimizer)
            self.optimizer.zero_grad()

    def plain_step(self, number: int) -> None:
        with xp.StepTrace("Training_Step", step_num=number):  # its end is the step's marker
            loss = self.forward_and_backward()
            self.update()
            if self.mistake == "read_in_step":
                with xp.Trace("log"):
                    print("loss", loss.item(), flush=True)
            if self.mistake == "closure":
                xm.add_step_closure(lambda value: print("loss", value.item(), flush=True), (loss,))
        if self.mistake == "read_after_step":
            with xp.Trace("log"):
                print("loss", loss.item(), flush=True)

    def step_of_markers(self, number: int) -> None:
        # A marker must not be inside the scopes of xp.StepTrace.
        with torch_xla._XLAC.profiler.TraceMe("Training_Step", _r=1, step_num=number):
            if self.pair == "marker_per_micro_batch":
                for micro in range(MICRO_BATCHES):
                    self.forward_and_backward()
                    if self.has_mistake and micro < MICRO_BATCHES - 1:
                        torch_xla.sync()
                self.update()
            else:
                self.forward_and_backward()
                for parameter in self.model.parameters():
                    with torch.no_grad(), xp.Trace("update"):
                        parameter -= 0.01 * parameter.grad
                        parameter.grad = None
                    if self.has_mistake:
                        torch_xla.sync()
            torch_xla.sync()

    def step(self, number: int) -> None:
        if self.pair in PAIRS_OF_MARKERS:
            self.step_of_markers(number)
        else:
            self.plain_step(number)

    def run(self, count: int) -> float:
        """Trains `count` steps; returns their mean duration in ms, including the device's work."""
        start = time.perf_counter()
        for _ in range(count):
            self.step(self.number)
            self.number += 1
        xm.wait_device_ops()
        return 1000 * (time.perf_counter() - start) / count


def prefetch(batches: Iterator[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    """The same batches, loaded by a thread: two wait in a queue, a third for space in it."""
    ready: queue.Queue[tuple[Tensor, Tensor]] = queue.Queue(2)

    def fill() -> None:
        for batch in batches:
            ready.put(batch)

    threading.Thread(target=fill, daemon=True).start()
    while True:
        yield ready.get()


def main() -> None:
    pair, side, logdir = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    logdir.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    program = Program(pair, side == "with")
    server = xp.start_server(9012)
    program.run(WARMUP_STEPS)
    record(logdir, xp.start_trace, lambda: program.run(RECORDED_STEPS), xp.stop_trace)
    (logdir / "metrics_report.txt").write_text(metrics.metrics_report() + "\n")
    sys.stdout.flush()
    del server


if __name__ == "__main__":
    main()
