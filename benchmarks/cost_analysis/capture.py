#!/usr/bin/env python3
"""Record small programs on a CPU, each with the result of XLA's own cost analysis.

    sudo unshare --uts sh -c 'hostname demo-host; python benchmarks/cost_analysis/capture.py OUT'

Needs JAX (the recorded captures are from 0.10.2). Writes to OUT the capture, in which each program runs RUNS times,
and `costs.json`: per program `flops`, the result of `compiled.cost_analysis()` for one run, and `products`, the FLOPs
of its matrix products and convolutions by the formula in PROGRAMS, with loops counted by their trips. The cost
analysis also counts a FLOP for each element that other instructions produce, and counts the bodies of loops once;
`pure` programs have neither, so both numbers are equal. Python's frames are left out of the programs, because they
contain the machine's folders.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

RUNS = 2
TRIPS = 5


class Program(NamedTuple):
    """A function, the shapes of its arguments, its FLOPs in products, and whether it has no other FLOPs."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    products: int
    pure: bool = True


def convolution(*shapes: tuple[int, ...], products: int, **options: Any) -> Program:
    """NHWC images and an HWIO kernel."""
    options = {"window_strides": (1, 1), "padding": "VALID", **options}

    def run(images: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(images, kernel, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)

    return Program(run, shapes, products)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def two_layers(x: Any, w1: Any, w2: Any) -> Any:
    return jnp.sum(jnp.tanh(x @ w1) @ w2)


def scan_loop(x: Any, w: Any) -> Any:
    return lax.scan(lambda carry, _: (carry @ w, None), x, None, length=TRIPS)[0]


def while_loop(x: Any, w: Any) -> Any:
    return lax.while_loop(lambda state: state[0] < TRIPS, lambda state: (state[0] + 1, state[1] @ w), (0, x))[
        1
    ]


_ATTENTION = (2, 64, 4, 32)
_LAYERS = ((64, 128), (128, 256), (256, 32))
_FIRST_LAYER, _SECOND_LAYER = 2 * 64 * 128 * 256, 2 * 64 * 256 * 32

PROGRAMS: dict[str, Program] = {
    "dot": Program(jnp.dot, ((128, 96), (96, 160)), 2 * 128 * 96 * 160),
    "matrix_vector": Program(jnp.dot, ((512, 384), (384,)), 2 * 512 * 384),
    "dot_of_transposed": Program(lambda a, b: a.T @ b, ((96, 128), (96, 160)), 2 * 128 * 96 * 160),
    "batched_dot": Program(jnp.matmul, ((6, 64, 48), (6, 48, 80)), 2 * 6 * 64 * 48 * 80),
    "einsum_two_contracted": Program(
        lambda a, b: jnp.einsum("abc,bcd->ad", a, b), ((64, 12, 16), (12, 16, 96)), 2 * 64 * 12 * 16 * 96
    ),
    "vmap_dot": Program(jax.vmap(lambda a, b: a @ b), ((5, 48, 64), (5, 64, 40)), 2 * 5 * 48 * 64 * 40),
    "conv": convolution((2, 16, 16, 8), (3, 3, 8, 24), products=2 * 2 * 14 * 14 * 24 * 9 * 8),
    "conv_same": convolution(
        (2, 16, 16, 8), (3, 3, 8, 24), padding="SAME", products=2 * 2 * (3 * 16 - 2) ** 2 * 24 * 8
    ),
    "conv_strided": convolution(
        (2, 17, 17, 8), (3, 3, 8, 24), window_strides=(2, 2), products=2 * 2 * 8 * 8 * 24 * 9 * 8
    ),
    "conv_dilated": convolution(
        (2, 16, 16, 8), (3, 3, 8, 24), rhs_dilation=(2, 2), products=2 * 2 * 12 * 12 * 24 * 9 * 8
    ),
    "conv_transposed": convolution(
        # Each of the 9 x 9 values meets each element of the kernel once; zeros between the values are not counted.
        (2, 9, 9, 8), (3, 3, 8, 24), lhs_dilation=(2, 2), padding=((2, 2), (2, 2)), products=2 * 2 * 27**2 * 24 * 8
    ),
    "conv_grouped": convolution(
        (2, 16, 16, 8), (3, 3, 2, 24), feature_group_count=4, products=2 * 2 * 14 * 14 * 24 * 9 * 2
    ),
    "conv_depthwise": convolution(
        (2, 16, 16, 8), (3, 3, 1, 8), feature_group_count=8, products=2 * 2 * 14 * 14 * 8 * 9
    ),
    "attention": Program(attention, (_ATTENTION,) * 3, 2 * 2 * 2 * 4 * 64 * 64 * 32, pure=False),
    "two_layers": Program(two_layers, _LAYERS, _FIRST_LAYER + _SECOND_LAYER, pure=False),
    "grad": Program(
        # The first layer forward; then the gradients of the second layer's weights and input, and of the first layer's
        # weights. The value is not used, so the second layer does not run forward.
        jax.grad(two_layers, argnums=(1, 2)), _LAYERS, _FIRST_LAYER + 2 * _SECOND_LAYER + _FIRST_LAYER, pure=False,
    ),
    "remat": Program(
        # As `grad`, and the value. The compiler recognises the repeated first layer and reuses its result.
        jax.value_and_grad(jax.checkpoint(two_layers), argnums=(1, 2)), _LAYERS,
        _FIRST_LAYER + _SECOND_LAYER + 2 * _SECOND_LAYER + _FIRST_LAYER, pure=False,
    ),
    "scan": Program(scan_loop, ((64, 64), (64, 64)), TRIPS * 2 * 64**3, pure=False),
    "while_loop": Program(while_loop, ((64, 64), (64, 64)), TRIPS * 2 * 64**3, pure=False),
    "fori_loop": Program(
        lambda x, w: lax.fori_loop(0, TRIPS, lambda _, value: value @ w, x), ((64, 64), (64, 64)), TRIPS * 2 * 64**3,
        pure=False,
    ),
    "grad_conv": Program(
        jax.grad(lambda k, x: jnp.sum(lax.conv(x, k, (1, 1), "VALID") ** 2)), ((24, 8, 3, 3), (2, 8, 16, 16)),
        2 * 2 * (2 * 14 * 14 * 24 * 9 * 8), pure=False,
    ),
}  # fmt: skip


def main(out: Path) -> None:
    jax.config.update("jax_traceback_in_locations_limit", 0)
    compiled, costs = {}, {}
    for name, program in PROGRAMS.items():
        function = program.function

        def run(*arguments: Any, function: Any = function) -> Any:
            return function(*arguments)

        run.__name__ = name
        arguments = [jnp.ones(shape) for shape in program.shapes]
        executable = jax.jit(run).lower(*arguments).compile()
        jax.block_until_ready(executable(*arguments))
        compiled[name] = executable, arguments
        flops = executable.cost_analysis()["flops"]
        costs[name] = {"flops": int(flops), "products": program.products, "pure": program.pure}
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    jax.profiler.start_trace(str(out), profiler_options=options)
    for executable, arguments in compiled.values():
        for _ in range(RUNS):
            jax.block_until_ready(executable(*arguments))
    jax.profiler.stop_trace()
    for path in out.rglob("*.trace.json.gz"):
        path.unlink()
    (out / "costs.json").write_text(json.dumps({"runs": RUNS, "programs": costs}, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
