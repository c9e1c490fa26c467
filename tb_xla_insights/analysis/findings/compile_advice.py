"""Advice on graphs that are compiled again, by the change in the graph and by the tracer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tb_xla_insights.analysis.compiles.graph_diff import Change

Tracer = Literal["lazy", "dynamo", "jax", "other"]
"""What traces graphs: PyTorch/XLA's lazy tensors, torch.compile, jax.jit, or something else."""

_Words = Mapping[Tracer, str]

_BUCKETS: _Words = {
    "dynamo": "to a few fixed lengths (buckets) and run each once before training, or mark its dimension with "
    "torch._dynamo.mark_dynamic.",
    "jax": "to a few fixed lengths (buckets) and call the jitted function once with each before training.",
    "other": "to a few fixed lengths (buckets) and run each once before training.",
}

_SAME_HLO: _Words = {
    "lazy": "Create what the step calls{at} (a lambda, a custom function) once, outside of the loop, and keep numbers "
    "that change in tensors: the program is the same, but PyTorch/XLA's cache did not know it, or is full "
    "(XLA_COMPILATION_CACHE_SIZE).",
    "dynamo": "Create functions{at} once, outside of the loop, and pass Python floats that change as tensors: the "
    "program is the same, but torch.compile guards on them (TORCH_LOGS=recompiles names the guard).",
    "jax": "Create the function{at} once and jit it once, outside of the loop: the program is the same, but jax.jit "
    "was given a new lambda, partial or inner function, or static arguments that do not equal the last ones.",
    "other": "Find what is new to the cache each time{at}, such as a function created in the loop: the program is the "
    "same.",
}

_CONSTANTS: _Words = {
    "lazy": "Keep the Python number that changes{at} in a tensor on the device: now it is a constant of the graph.",
    "dynamo": "Pass the Python number that changes{at} as a tensor: now it is a constant of the graph, and "
    "torch.compile guards on it.",
    "jax": "Pass the Python number that changes{at} as an array argument: from static_argnums, a closure or a global "
    "it becomes a constant of the graph.",
    "other": "Pass the number that changes{at} as an argument: now it is a constant of the graph.",
}

_BRANCH: _Words = {
    "jax": "a condition in Python, or a static argument.",
    "lazy": "a condition in Python, or train() and eval().",
    "dynamo": "a condition in Python, or train() and eval().",
    "other": "a condition.",
}

_LAST_BATCH: _Words = {
    "lazy": "Drop the last batch (drop_last=True) if it is the smaller one{at}, or pad the parameter ",
    "dynamo": "Drop the last batch (drop_last=True) if it is the smaller one{at}, or pad the parameter ",
    "other": "Drop the last batch if it is the smaller one{at}, or pad the parameter ",
}

_ADVICE: Mapping[Change, tuple[_Words, ...]] = {
    "same_hlo": (_SAME_HLO,),
    "constants": (_CONSTANTS,),
    "code": (
        {"other": "Run every variant of the graph once before training, or take out what changes it{at}: "},
        _BRANCH,
    ),
    "grows": ({"other": "Pad the parameter that grows{at} "}, _BUCKETS),
    "shrinks": (_LAST_BATCH, _BUCKETS),
    "shape": ({"other": "Pad the parameter whose shape changes{at} "}, _BUCKETS),
    "dtype": (
        {"other": "Convert the parameter that changes its type{at}{types} to one type before the step."},
    ),
    "parameters": (
        {
            "other": "Create state that appears later{at} (an optimizer's, a cache) before the first step, and run "
            "every branch once before training."
        },
    ),
    "other_graph": (
        {
            "other": "Run what else is computed{at} (an evaluation, a branch) once before training, and keep it in a "
            "phase of its own."
        },
    ),
}


def find_tracer(dynamo: bool, framework: str) -> Tracer:
    """The tracer of the graphs, from whether dynamo launched anything, and the framework."""
    if dynamo:
        return "dynamo"
    return "jax" if framework == "jax" else "lazy" if framework == "torch_xla" else "other"


def place_text(frame: str | None, annotation: str | None) -> str:
    """` at train (train.py:9)`, ` in Training_Step/forward`; empty if neither is known."""
    return f" at {frame}" if frame else f" in {annotation}" if annotation else ""


def advise_change(change: Change, tracer: Tracer, at: str, types: str) -> str:
    """Advice on a known change, one sentence. `at`: the place (see `place_text`); `types`: the types that differ, as
    `f32 became f16`; each is empty if unknown."""
    parts = (words.get(tracer, words["other"]) for words in _ADVICE[change])
    return "".join(parts).format(at=at, types=f" ({types})" if types else "")


def advise_unknown_change(at: str, step: str, variants: int) -> str:
    """Advice for an unknown change, one sentence. `step`: ` of step 9`, empty for several steps; `variants`: the number
    of graphs that share the name."""
    if variants > 1:
        return (
            f"Find what is new{at} each time: pad what varies in length to a few fixed lengths (buckets), make "
            "functions once, outside of the loop, and let no control flow depend on data."
        )
    return (
        f"Find what is new in the graph{step} (a last batch of another size, an evaluation, a branch){at}, and run "
        "every variant once before training."
    )


_PT_XLA_DEBUG = (
    "No frames. Run with PT_XLA_DEBUG=1 and save its stderr output beside the trace to see the cause and the frames "
    "here."
)

HOW_TO_RECORD_CAUSES: _Words = {
    "lazy": _PT_XLA_DEBUG,
    "dynamo": _PT_XLA_DEBUG,
    "jax": "No frames. With jax.config.update('jax_explain_cache_misses', True) JAX logs why it traces a function "
    "again.",
    "other": "No frames.",
}
"""How to record where a graph was requested, if no log beside the trace shows it."""

CAPTURE_AGAIN = "Capture from before it begins until it ends, to see which graph it is and what is new in it."
"""Advice on a compilation that the capture cuts and of which nothing else is known."""
