"""A program with a profiler server, for tests that capture from it. Usage: profiled_program.py PORT

Multiplies matrices in a loop, step by step, and rests between steps, as tests need few of them. Prints `ready` when the
loop begins, and ends when its stdin is closed.
"""

from __future__ import annotations

import sys
import threading

import jax
import jax.numpy as jnp


def main() -> None:
    jax.profiler.start_server(int(sys.argv[1]))
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    work = jax.jit(lambda x: (x @ x).sum())
    x = jnp.ones((128, 128))
    work(x).block_until_ready()
    print("ready", flush=True)
    number = 0
    while not ended.wait(0.01):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            work(x).block_until_ready()
        number += 1


if __name__ == "__main__":
    main()
