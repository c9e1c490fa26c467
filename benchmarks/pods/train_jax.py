#!/usr/bin/env python3
"""Train a small network as one of several processes that reduce gradients together, and record the steps.

    JAX_PLATFORMS=cpu python train_jax.py RANK PROCESSES PORT LATE_S LOGDIR

Each process stands for a host. It loads a batch in LOADER_S seconds; the process of rank LATE_RANK takes LATE_S longer.
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, LAYERS, ROWS = 64, 2, 8
WARMUP_STEPS, RECORDED_STEPS = 5, 12
LOADER_S, LATE_RANK = 0.04, 2


def loss_of(weights: list[jax.Array], x: jax.Array) -> jax.Array:
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return (x**2).mean()


def train_step(weights: list[jax.Array], x: jax.Array) -> tuple[jax.Array, list[jax.Array]]:
    loss, gradients = jax.value_and_grad(loss_of)(weights, x)
    return loss, [weight - 0.01 * gradient for weight, gradient in zip(weights, gradients, strict=True)]


def main() -> None:
    rank, processes, port = (int(text) for text in sys.argv[1:4])
    late_s, logdir = float(sys.argv[4]), sys.argv[5]
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", processes, rank)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    replicated, by_rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    initial_weights = 0.1 * np.random.default_rng(0).standard_normal((LAYERS, WIDTH, WIDTH), np.float32)
    weights = [jax.device_put(weight, replicated) for weight in initial_weights]
    train = jax.jit(train_step, out_shardings=(replicated, replicated))
    rows = np.random.default_rng(rank).standard_normal((ROWS, WIDTH), np.float32)

    def step(number: int) -> None:
        nonlocal weights
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            with jax.profiler.TraceAnnotation("next_batch"):
                time.sleep(LOADER_S + late_s * (rank == LATE_RANK))
                batch = jax.make_array_from_process_local_data(by_rows, rows)
            loss, weights = train(weights, batch)
            float(loss)

    for number in range(WARMUP_STEPS):
        step(number)
    start_trace(logdir)
    for number in range(WARMUP_STEPS, WARMUP_STEPS + RECORDED_STEPS):
        step(number)
    jax.profiler.stop_trace()


def start_trace(logdir: str) -> None:
    """Records without Python's calls, if the JAX version supports that."""
    if not hasattr(jax.profiler, "ProfileOptions"):
        jax.profiler.start_trace(logdir)
        return
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    jax.profiler.start_trace(logdir, profiler_options=options)


if __name__ == "__main__":
    main()
