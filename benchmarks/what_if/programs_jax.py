#!/usr/bin/env python3
"""Train with one mistake, or without it, and record the steps: JAX.

    JAX_PLATFORMS=cpu python programs_jax.py PAIR {with,without} LOGDIR

Both sides of a pair run the same code except for the mistake (pairs.py). The profile is written below LOGDIR, with
`steps.json` of quiet.py.
"""

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from quiet import record

WIDTH, LAYERS, BATCH, CLASSES = 384, 6, 192, 64
PAIRS_OF_UPDATES, MANY_LAYERS, FEW_ROWS = ("op_by_op", "many_small"), 16, 8
WARMUP_STEPS, RECORDED_STEPS = 6, 15
SLOW_LOADER_S, LOADER_S = 0.02, 0.008
PADDED_ROWS = BATCH + 8

Parameters = list[tuple[jax.Array, jax.Array]]
Batch = tuple[np.ndarray, np.ndarray]
annotated = jax.profiler.TraceAnnotation


def loss_of(parameters: Parameters, x: jax.Array, labels: jax.Array) -> jax.Array:
    for weight, bias in parameters[:-1]:
        x = x + jnp.tanh(x @ weight + bias)
    weight, bias = parameters[-1]
    scores = jax.nn.log_softmax(x @ weight + bias)
    return -jnp.take_along_axis(scores, labels[:, None], 1).mean()


def updated(parameter: jax.Array, gradient: jax.Array) -> jax.Array:
    return parameter - 0.01 * jnp.clip(gradient, -1.0, 1.0)


def train_step(parameters: Parameters, x: jax.Array, labels: jax.Array) -> tuple[jax.Array, Parameters]:
    loss, gradients = jax.value_and_grad(loss_of)(parameters, x, labels)
    return loss, jax.tree.map(updated, parameters, gradients)


class Program:
    """One side of a pair."""

    def __init__(self, pair: str, has_mistake: bool) -> None:
        self.pair = pair
        self.mistake = pair if has_mistake else None
        self.number = 0
        keys = jax.random.split(jax.random.key(0), MANY_LAYERS if pair in PAIRS_OF_UPDATES else LAYERS)
        self.parameters = [(0.05 * jax.random.normal(key, (WIDTH, WIDTH)), jnp.zeros(WIDTH)) for key in keys]
        self.parameters.append((0.05 * jax.random.normal(keys[0], (WIDTH, CLASSES)), jnp.zeros(CLASSES)))
        self.train = jax.jit(train_step)
        self.gradients = jax.jit(jax.value_and_grad(loss_of))
        self.update: Callable[[jax.Array, jax.Array], jax.Array] = updated
        if self.mistake == "many_small":
            self.update = jax.jit(updated)
        self.batches = self.load()
        if pair == "no_prefetch" and not has_mistake:
            self.batches = prefetch(self.batches)

    def load(self) -> Iterator[Batch]:
        """Endless random rows and labels on the host."""
        generator = np.random.default_rng(1)
        number = 0
        while True:
            if self.mistake == "slow_input":
                time.sleep(SLOW_LOADER_S)
            if self.pair == "no_prefetch":
                time.sleep(LOADER_S)
            rows = FEW_ROWS if self.pair in PAIRS_OF_UPDATES else BATCH
            if self.pair == "new_shapes":
                rows = BATCH + number // 3 if self.mistake else PADDED_ROWS
            x = generator.standard_normal((rows, WIDTH), np.float32)
            yield x, generator.integers(CLASSES, size=rows)
            number += 1

    def step(self) -> jax.Array:
        with jax.profiler.StepTraceAnnotation("train", step_num=self.number):
            with annotated("data_loading"):
                x, labels = jax.device_put(next(self.batches))
            with annotated("train_step"):
                if self.mistake in ("op_by_op", "many_small"):
                    loss, gradients = self.gradients(self.parameters, x, labels)
                    self.parameters = jax.tree.map(self.update, self.parameters, gradients)
                else:
                    if self.mistake == "new_lambda":
                        self.train = jax.jit(lambda *arguments: train_step(*arguments))
                    loss, self.parameters = self.train(self.parameters, x, labels)
            if self.mistake == "block":
                jax.block_until_ready(loss)
            if self.mistake == "float_loss":
                with annotated("log"):
                    print("loss", float(loss), flush=True)
        self.number += 1
        return loss

    def run(self, count: int) -> float:
        """Trains `count` steps; returns their mean duration in ms, including the device's work."""
        start = time.perf_counter()
        for _ in range(count):
            self.step()
        jax.block_until_ready(self.parameters)
        return 1000 * (time.perf_counter() - start) / count


def prefetch(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, loaded by a thread: two wait in a queue, a third for space in it."""
    ready: queue.Queue[Batch] = queue.Queue(2)

    def fill() -> None:
        for batch in batches:
            ready.put(batch)

    threading.Thread(target=fill, daemon=True).start()
    while True:
        yield ready.get()


def main() -> None:
    pair, side, logdir = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    logdir.mkdir(parents=True, exist_ok=True)
    program = Program(pair, side == "with")
    program.run(WARMUP_STEPS)
    record(logdir, jax.profiler.start_trace, partial(program.run, RECORDED_STEPS), jax.profiler.stop_trace)


if __name__ == "__main__":
    main()
