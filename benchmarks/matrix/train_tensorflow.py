#!/usr/bin/env python3
"""Train a small network with TensorFlow and record its steps with the program's own measurements.

    PYTHONPATH=../what_if python train_tensorflow.py PROGRAM {plain,traced} LOGDIR

`fit` is Keras' own loop; in `compiled` XLA compiles the step; the others loop over a `tf.function`.
"""

import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import keras
import numpy as np
import tensorflow as tf
from truth import RECORDED_STEPS, WARMUP_STEPS, Case, Clock, record

WIDTH, LAYERS, ROWS = 256, 3, 128
ROWS_PER_SHAPE, MAX_SHAPES, STEPS_PER_SHAPE = 8, 12, 4
LOADER_S = 0.015

CASES = {
    "steady": Case(devices=None, asynchronous=False),
    "slow_input": Case("input_bound", devices=None, asynchronous=False),
    "fit": Case(devices=None, asynchronous=False),
    "fit_slow_input": Case("input_bound", devices=None, asynchronous=False),
    "compiled": Case(asynchronous=False),
    "compiled_new_shapes": Case("recompilation", change="grows", asynchronous=False),
}

clock = Clock()


def network() -> keras.Model:
    layers = [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(LAYERS)]
    return keras.Sequential([keras.Input((WIDTH,)), *layers])


def batches(program: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Endless batches of rows and targets on the host."""
    x, targets = np.random.default_rng(1).standard_normal(
        (2, ROWS + ROWS_PER_SHAPE * MAX_SHAPES, WIDTH), np.float32
    )
    number = 0
    while True:
        with clock.part("loader"):
            if program.endswith("slow_input"):
                time.sleep(LOADER_S)
            rows = ROWS + ROWS_PER_SHAPE * (number // STEPS_PER_SHAPE) * (program == "compiled_new_shapes")
            batch = x[:rows], targets[:rows]
        yield batch
        number += 1


def dataset(program: str) -> tf.data.Dataset:
    """The batches as a pipeline that loads none ahead."""
    rows = tf.TensorSpec((None, WIDTH), tf.float32)
    return tf.data.Dataset.from_generator(partial(batches, program), output_signature=(rows, rows))


class Loop:
    """A custom loop."""

    def __init__(self, program: str) -> None:
        self.model = network()
        self.batches = iter(dataset(program))
        self.is_compiled = program.startswith("compiled")
        self.train = tf.function(self._train, jit_compile=self.is_compiled)
        self.number = 0

    def _train(self, x: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x) - targets) ** 2)
        variables = self.model.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.01 * gradient)
        return loss

    def run(self, count: int) -> None:
        for _ in range(count):
            traces_before = self.train.experimental_get_tracing_count()
            with tf.profiler.experimental.Trace("train", step_num=self.number, _r=1), clock.step():
                loss = self.train(*next(self.batches))
                traces = self.train.experimental_get_tracing_count() - traces_before
                for _ in range(traces if self.is_compiled else 0):
                    clock.compilation(0.0)  # TensorFlow does not report the duration
            clock.launches += self.is_compiled
            self.number += 1
        loss.numpy()


class Fit:
    """Keras' loop."""

    def __init__(self, program: str) -> None:
        self.model = network()
        self.model.compile("sgd", "mse")
        self.data = dataset(program)

    def run(self, count: int) -> None:
        self.model.fit(self.data, steps_per_epoch=count, verbose=0, callbacks=[StepTimer()])


class StepTimer(keras.callbacks.Callback):
    """Records the time of each of Keras' steps."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self.step = clock.step()
        self.step.__enter__()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self.step.__exit__(None, None, None)


def main() -> None:
    program, tracer, logdir = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    logdir.mkdir(parents=True, exist_ok=True)
    training = (Fit if program.startswith("fit") else Loop)(program)
    training.run(WARMUP_STEPS)
    options = tf.profiler.experimental.ProfilerOptions(
        host_tracer_level=2, python_tracer_level=int(tracer == "traced"), device_tracer_level=1
    )
    facts: dict[str, object] = {
        "framework": "tensorflow",
        "version": tf.__version__,
        "program": program,
        "python_tracer": tracer == "traced",
    }
    record(
        logdir,
        CASES[program],
        facts,
        clock,
        partial(tf.profiler.experimental.start, options=options),
        partial(training.run, RECORDED_STEPS),
        tf.profiler.experimental.stop,
    )
    os._exit(0)  # the end of a generator in a pipeline may wait for an interpreter that has ended


if __name__ == "__main__":
    main()
