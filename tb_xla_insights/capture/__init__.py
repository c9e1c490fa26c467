"""Captures profiles from running profiler servers (`xp.start_server`, `jax.profiler.start_server`) into a logdir."""
