"""Decodes tokens with a cache of keys; `donated`: the step may overwrite the cache."""

import sys
from functools import partial

import jax
import jax.numpy as jnp

LAYERS, BATCH, LENGTH, SIZE = 4, 8, 2048, 64


@partial(jax.jit, donate_argnames=("cache",) if sys.argv[1] == "donated" else ())
def decode(cache: jax.Array, token: jax.Array, position: int) -> tuple[jax.Array, jax.Array]:
    for layer in range(LAYERS):
        cache = jax.lax.dynamic_update_slice(cache, token[None, :, None], (layer, 0, position, 0))
        keys = jax.lax.dynamic_slice_in_dim(cache[layer], 0, 64, 1)
        token = token + jax.nn.softmax(jnp.einsum("bs,bls->bl", token, keys))[:, 0, None]
    return cache, token


def main() -> None:
    cache, token = jnp.zeros((LAYERS, BATCH, LENGTH, SIZE)), jnp.ones((BATCH, SIZE))
    for position in range(4):
        cache, token = decode(cache, token, position)
    token.block_until_ready()
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    jax.profiler.start_trace(sys.argv[2], profiler_options=options)
    for position in range(4, 10):
        with jax.profiler.StepTraceAnnotation("decode", step_num=position):
            cache, token = decode(cache, token, position)
            token.block_until_ready()
    jax.profiler.stop_trace()


main()
