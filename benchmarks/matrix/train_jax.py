#!/usr/bin/env python3
"""Train a small network with JAX and record its steps with the program's own measurements.

    JAX_PLATFORMS=cpu PYTHONPATH=../what_if python train_jax.py PROGRAM {plain,traced} LOGDIR

`traced` records Python's calls as well. Runs on every JAX from 0.4.38 on.
"""

import inspect
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from truth import RECORDED_STEPS, WARMUP_STEPS, Case, Clock, record

WIDTH, LAYERS, ROWS = 256, 3, 128
DEVICES, MICRO_STEPS = 4, 4
ROWS_PER_SHAPE, MAX_SHAPES, STEPS_PER_SHAPE = 8, 12, 4
STEPS_PER_EVALUATION, EVALUATION_OFFSET = 5, 2
LOADER_S, CALLBACK_S, BETWEEN_S, WORK_S = 0.015, 0.005, 0.01, 0.002
COMPILATION = "/jax/core/compile/backend_compile_duration"

CASES = {
    "steady": Case(),
    "unannotated": Case(annotated=False),
    "block": Case("sync_every_step", asynchronous=False),
    "float_loss": Case("sync_every_step", asynchronous=False),
    "read_and_work": Case("sync_every_step", asynchronous=False),
    "new_shapes": Case("recompilation", change="grows"),
    "new_lambda": Case("recompilation", change="same_hlo"),
    "slow_loader": Case("input_bound"),
    "slow_loader_bare": Case("input_bound"),
    "slow_thread": Case("input_bound"),
    "prefetch": Case(),
    "op_by_op": Case("many_small_executions"),
    "scan": Case(),
    "donation": Case(),
    "shard_map": Case(devices=DEVICES, collectives=True),
    "pmap": Case(devices=DEVICES, collectives=True),
    "pure_callback": Case("host_callback"),
    "io_callback": Case("host_callback"),
    "evaluation": Case(),
    "python_between": Case("tracing_bound"),
}
FINDINGS_WITHOUT_PYTHON = {"slow_loader_bare": "tracing_bound"}
"""The expected findings of captures without Python's calls, which do not show that the host loads."""
LOADERS = ("slow_loader", "slow_loader_bare", "slow_thread")

Parameters = list[tuple[jax.Array, jax.Array]]
Batch = tuple[np.ndarray, np.ndarray]
clock = Clock()


def loss_of(parameters: Parameters, x: jax.Array, targets: jax.Array) -> jax.Array:
    for weight, bias in parameters:
        x = x + jnp.tanh(x @ weight + bias)
    return ((x - targets) ** 2).mean()


def updated(parameter: jax.Array, gradient: jax.Array) -> jax.Array:
    return parameter - 0.01 * gradient


def train_step(parameters: Parameters, x: jax.Array, targets: jax.Array) -> tuple[jax.Array, Parameters]:
    loss, gradients = jax.value_and_grad(loss_of)(parameters, x, targets)
    return loss, jax.tree.map(updated, parameters, gradients)


def train_by_scan(parameters: Parameters, x: jax.Array, targets: jax.Array) -> tuple[jax.Array, Parameters]:
    """One training step per micro-batch, all in one program."""

    def body(parameters: Parameters, batch: tuple[jax.Array, jax.Array]) -> tuple[Parameters, jax.Array]:
        loss, parameters = train_step(parameters, *batch)
        return parameters, loss

    micro_batches = x.reshape(MICRO_STEPS, -1, WIDTH), targets.reshape(MICRO_STEPS, -1, WIDTH)
    parameters, losses = jax.lax.scan(body, parameters, micro_batches)
    return losses.mean(), parameters


def train_on_one_of_many(
    parameters: Parameters, x: jax.Array, targets: jax.Array
) -> tuple[jax.Array, Parameters]:
    """The part of one device in a data-parallel step."""
    loss, gradients = jax.value_and_grad(loss_of)(parameters, x, targets)
    loss, gradients = jax.lax.pmean((loss, gradients), "data")
    return loss, jax.tree.map(updated, parameters, gradients)


def compile_sharded_step() -> Callable[..., tuple[jax.Array, Parameters]]:
    if hasattr(jax, "shard_map"):
        shard_map = jax.shard_map
    else:
        from jax.experimental.shard_map import shard_map
    check_option = "check_vma" if "check_vma" in inspect.signature(shard_map).parameters else "check_rep"
    mesh = Mesh(np.array(jax.devices()), ("data",))
    specs: dict[str, Any] = {
        "in_specs": (P(), P("data"), P("data")),
        "out_specs": (P(), P()),
        check_option: False,
    }
    return jax.jit(shard_map(train_on_one_of_many, mesh=mesh, **specs))


def host_answer(_: np.ndarray) -> np.ndarray:
    """The host's answer in the middle of a program."""
    with clock.part("callback"):
        time.sleep(CALLBACK_S)
    return np.ones((), np.float32)


def train_with_pure_callback(
    parameters: Parameters, x: jax.Array, targets: jax.Array
) -> tuple[jax.Array, Parameters]:
    scale = jax.pure_callback(host_answer, jax.ShapeDtypeStruct((), jnp.float32), x[0, 0])
    return train_step(parameters, x * scale, targets)


def train_with_io_callback(
    parameters: Parameters, x: jax.Array, targets: jax.Array
) -> tuple[jax.Array, Parameters]:
    loss, parameters = train_step(parameters, x, targets)
    scale = io_callback(host_answer, jax.ShapeDtypeStruct((), jnp.float32), loss)
    return loss * scale, parameters


def compile_step(program: str) -> Callable[..., tuple[jax.Array, Parameters]]:
    """The compiled step of a program; `new_lambda` replaces it in every step."""
    match program:
        case "scan":
            return jax.jit(train_by_scan)
        case "donation":
            return jax.jit(train_step, donate_argnums=0)
        case "shard_map":
            return compile_sharded_step()
        case "pmap":
            return jax.pmap(train_on_one_of_many, axis_name="data")
        case "pure_callback":
            return jax.jit(train_with_pure_callback)
        case "io_callback":
            return jax.jit(train_with_io_callback)
        case _:
            return jax.jit(train_step)


def batches(program: str) -> Iterator[Batch]:
    """Endless batches of rows and targets on the host, of one size or of growing sizes."""
    extra_rows = ROWS_PER_SHAPE * MAX_SHAPES * (program == "new_shapes")
    x, targets = np.random.default_rng(1).standard_normal((2, ROWS + extra_rows, WIDTH), np.float32)
    number = 0
    while True:
        with clock.part("loader"):
            if program in LOADERS:
                time.sleep(LOADER_S)
            rows = ROWS + ROWS_PER_SHAPE * (number // STEPS_PER_SHAPE) * (program == "new_shapes")
            shape = (DEVICES, rows // DEVICES, WIDTH) if program == "pmap" else (rows, WIDTH)
            batch = x[:rows].reshape(shape), targets[:rows].reshape(shape)
        yield batch
        number += 1


def prefetch(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, loaded by a thread: two wait in a queue, a third for space in it."""
    ready: queue.Queue[Batch] = queue.Queue(2)

    def fill() -> None:
        for batch in batches:
            ready.put(batch)

    threading.Thread(target=fill, name="loader", daemon=True).start()
    while True:
        with clock.part("queue"):
            batch = ready.get()
        yield batch


class Training:
    """The training of one program of CASES."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.step_number = 0
        weights = 0.05 * np.random.default_rng(0).standard_normal((LAYERS, WIDTH, WIDTH), np.float32)
        parameters = [(weight, np.zeros(WIDTH, np.float32)) for weight in weights]
        if program == "pmap":
            parameters = jax.tree.map(lambda leaf: np.stack([leaf] * DEVICES), parameters)
        self.parameters = jax.device_put(parameters)
        self.train = compile_step(program)
        self.gradients = jax.jit(jax.value_and_grad(loss_of))
        self.evaluate = jax.jit(loss_of)
        self.batches = batches(program)
        self.held_out = next(batches("steady"))
        if program in ("prefetch", "slow_thread"):
            self.batches = prefetch(self.batches)

    def annotation(self) -> AbstractContextManager[object]:
        if self.program == "unannotated":
            return nullcontext()
        return jax.profiler.StepTraceAnnotation("train", step_num=self.step_number)

    def next_batch(self) -> Batch:
        if self.program in ("slow_loader_bare", "unannotated"):
            return next(self.batches)
        with jax.profiler.TraceAnnotation("next_batch"):
            return next(self.batches)

    def update(self, x: np.ndarray, targets: np.ndarray) -> jax.Array:
        clock.launches += 1
        if self.program == "op_by_op":
            loss, gradients = self.gradients(self.parameters, x, targets)
            self.parameters = jax.tree.map(updated, self.parameters, gradients)
            clock.launches += 2 * len(jax.tree.leaves(gradients))
            return loss
        if self.program == "new_lambda":
            self.train = jax.jit(lambda *arguments: train_step(*arguments))
        loss, self.parameters = self.train(self.parameters, x, targets)
        return loss

    def step(self) -> None:
        if self.program == "python_between":
            with clock.part("between"):
                work_in_python(BETWEEN_S)
        if self.program == "evaluation" and self.step_number % STEPS_PER_EVALUATION == EVALUATION_OFFSET:
            with clock.part("evaluation"), jax.profiler.TraceAnnotation("evaluate"):
                clock.launches += 1
                float(self.evaluate(self.parameters, *self.held_out))
        with self.annotation(), clock.step():
            loss = self.update(*self.next_batch())
            if self.program == "block":
                jax.block_until_ready(loss)
            if self.program in ("float_loss", "read_and_work"):
                float(loss)
            if self.program == "read_and_work":
                with clock.part("work"):
                    work_in_python(WORK_S)
        self.step_number += 1

    def run(self, count: int) -> None:
        """Trains `count` steps and waits for the device."""
        for _ in range(count):
            self.step()
        jax.block_until_ready(self.parameters)


def work_in_python(seconds: float) -> int:
    """Keeps the interpreter busy, like augmenting a batch in plain Python."""
    end, total = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        total += sum(number * number for number in range(100))
    return total


class Profiler:
    """JAX's profiler with or without Python's calls. JAX without `jax.profiler.ProfileOptions` has that option only in
    private modules."""

    def __init__(self, python_calls: bool) -> None:
        self.level = int(python_calls)

    def start(self, logdir: str) -> None:
        if hasattr(jax.profiler, "ProfileOptions"):
            options = jax.profiler.ProfileOptions()
            options.python_tracer_level = self.level
            jax.profiler.start_trace(logdir, profiler_options=options)
            self.stop = jax.profiler.stop_trace
        else:
            from jax._src.lib import xla_client

            options = xla_client.profiler.ProfileOptions()
            options.python_tracer_level = self.level
            session = xla_client.profiler.ProfilerSession(options)
            self.stop = lambda: session.stop_and_export(logdir)


def main() -> None:
    program, tracer, logdir = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    case = CASES[program]
    if tracer == "plain" and program in FINDINGS_WITHOUT_PYTHON:
        case = replace(case, finding=FINDINGS_WITHOUT_PYTHON[program])
    if len(jax.devices()) != case.devices:
        sys.exit(f"{program} needs {case.devices} devices, not {len(jax.devices())}: set XLA_FLAGS")
    logdir.mkdir(parents=True, exist_ok=True)
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: clock.compilation(seconds) if event == COMPILATION else None
    )
    training = Training(program)
    training.run(WARMUP_STEPS)
    profiler = Profiler(tracer == "traced")
    facts: dict[str, object] = {
        "framework": "jax",
        "version": jax.__version__,
        "program": program,
        "python_tracer": tracer == "traced",
    }
    record(
        logdir,
        case,
        facts,
        clock,
        profiler.start,
        lambda: training.run(RECORDED_STEPS),
        lambda: profiler.stop(),
    )


if __name__ == "__main__":
    main()
