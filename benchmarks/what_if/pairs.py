"""The pairs of programs: one with a mistake, and the same one without it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Pair:
    """`finding`: the id of the report's finding for the mistake. `adds`: work of the side without the mistake that the
    other side does not do, if any; a replay, which only removes work, cannot predict it."""

    framework: Literal["torch", "jax"]
    name: str
    mistake: str
    without: str
    finding: str
    adds: str | None = None


PAIRS = (
    Pair("torch", "early_read", "`.item()` in forward", "no read", "early_sync"),
    Pair("torch", "read_in_step", "`loss.item()` before the marker", "no read", "early_sync"),
    Pair("torch", "read_after_step", "`loss.item()` after the marker", "no read", "sync_every_step"),
    Pair("torch", "closure", "a step closure reads the loss", "no closure", "sync_every_step"),
    Pair("torch", "slow_input", "the loader sleeps", "it does not", "input_bound"),
    Pair("torch", "no_prefetch", "the loader sleeps", "a thread loads ahead", "input_bound",
         "a thread that loads"),
    Pair("torch", "new_shapes", "longer batches all the time", "all padded", "recompilation", "padding"),
    Pair("torch", "cpu_fallback", "an operator without lowering", "one with", "cpu_fallback",
         "the operator on the device"),
    Pair("torch", "marker_per_micro_batch", "`sync()` per micro-batch", "once a step", "many_small_executions"),
    Pair("torch", "sync_per_update", "`sync()` per updated parameter", "once a step", "many_small_executions"),
    Pair("torch", "graph_break", "`.item()` under torch.compile", "no read", "early_sync"),
    Pair("jax", "float_loss", "`float(loss)` each step", "no read", "sync_every_step"),
    Pair("jax", "block", "`block_until_ready` each step", "no wait", "sync_every_step"),
    Pair("jax", "slow_input", "the loader sleeps", "it does not", "input_bound"),
    Pair("jax", "no_prefetch", "the loader sleeps", "a thread loads ahead", "input_bound", "a thread that loads"),
    Pair("jax", "new_shapes", "longer batches all the time", "all padded", "recompilation", "padding"),
    Pair("jax", "new_lambda", "`jit` of a new lambda each step", "of one function", "recompilation"),
    Pair("jax", "op_by_op", "the update op by op", "in the step's jit", "many_small_executions",
         "the update in one program"),
    Pair("jax", "many_small", "a jitted update per parameter", "in the step's jit", "many_small_executions",
         "the update in one program"),
)  # fmt: skip
SIDES = ("with", "without")
