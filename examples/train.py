#!/usr/bin/env python3
"""A PyTorch/XLA training loop with the annotations that make a profile readable.

    python train.py                        # trains; the profiler server listens on port 3294
    python train.py --record LOGDIR        # trains, and records steps 10 to 19 with sidecar files
    python train.py --log-interval 1       # reads the loss in every step, to see what that costs

README.md beside this file describes the whole procedure.
"""

import argparse
import time

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.profiler as xp
from torch import Tensor, nn
from torch.nn import functional

from tb_xla_insights.record import record

VOCABULARY, WIDTH, HEADS, LAYERS, BATCH, LENGTH = 256, 64, 4, 2, 8, 32
FIRST_RECORDED_STEP, RECORDED_STEPS = 10, 10


class Model(nn.Module):
    """A small transformer that predicts the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(tokens)))


class Trainer:
    """One model, its optimizer and random batches."""

    def __init__(self, log_interval: int, delay: float) -> None:
        self.device = torch_xla.device()
        self.model = Model().to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.generator = torch.Generator().manual_seed(1)
        self.log_interval = log_interval
        self.delay = delay

    def batch(self) -> tuple[Tensor, Tensor]:
        time.sleep(self.delay)  # stands for reading and augmenting
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=self.generator)
        return tokens[:, :-1].to(self.device), tokens[:, 1:].to(self.device)

    def step(self, number: int) -> None:
        # StepTrace marks the step and ends it with a step marker: the graph built so far runs.
        with xp.StepTrace("Training_Step", step_num=number):
            with xp.Trace("DATA"):
                tokens, targets = self.batch()
            with xp.Trace("FORWARD"):
                scores = self.model(tokens)
                loss = functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
            with xp.Trace("BACKWARD"):
                loss.backward()
            with xp.Trace("FINISH_UPDATE"):
                xm.optimizer_step(self.optimizer)
                self.optimizer.zero_grad()
            if self.log_interval and number % self.log_interval == 0:
                with xp.Trace("LOG"):
                    print(f"step {number}: loss {loss.item():.3f}", flush=True)  # waits for the device


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument(
        "--log-interval", type=int, default=0, metavar="N", help="read the loss every N steps"
    )
    parser.add_argument("--input-delay-ms", type=float, default=0.0, help="time that loading a batch takes")
    parser.add_argument("--port", type=int, default=3294, help="port of the profiler server")
    parser.add_argument("--record", metavar="LOGDIR", help="record some steps into this logdir")
    options = parser.parse_args()

    server = xp.start_server(options.port)  # lives as long as this name does
    torch.manual_seed(0)
    trainer = Trainer(options.log_interval, options.input_delay_ms / 1000)
    first = min(FIRST_RECORDED_STEP, options.steps)
    end = min(FIRST_RECORDED_STEP + RECORDED_STEPS, options.steps)
    for number in range(first):
        trainer.step(number)
    xm.wait_device_ops()
    print("trained the first steps", flush=True)
    with record(options.record, debug=True):  # without a LOGDIR it does nothing
        for number in range(first, end):
            trainer.step(number)
    for number in range(end, options.steps):
        trainer.step(number)
    xm.wait_device_ops()
    del server


if __name__ == "__main__":
    main()
