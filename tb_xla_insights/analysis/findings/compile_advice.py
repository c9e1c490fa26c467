"""Advice on graphs that are compiled again, by the change in the graph and by the tracer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tb_xla_insights.analysis.compiles.graph_diff import Change
from tb_xla_insights.catalog.frames import Frame

Tracer = Literal["lazy", "dynamo", "jax", "other"]
"""What traces graphs: PyTorch/XLA's lazy tensors, torch.compile, jax.jit, or something else."""

_TextByTracer = Mapping[Tracer, str]
"""A text by tracer; `other` stands for all tracers without one of their own."""

_BUCKETS: _TextByTracer = {
    "dynamo": "to a few fixed lengths (buckets) and run each once before the loop: XLA compiles each shape, also with "
    "torch._dynamo.mark_dynamic.",
    "jax": "to a few fixed lengths (buckets) and call the jitted function once with each before the loop.",
    "other": "to a few fixed lengths (buckets) and run each once before the loop.",
}

_SAME_HLO: _TextByTracer = {
    "lazy": "Find out why PyTorch/XLA did not know the program{location}, as it is the same (PT_XLA_DEBUG=1 prints the "
    "cause): a function or lambda that is created again, or a full cache (XLA_COMPILATION_CACHE_SIZE).",
    "dynamo": "Find out which guard fails{location} (TORCH_LOGS=recompiles names it), as the program is the same: a "
    "function that is created again, or a Python float that changes and should be a tensor.",
    "jax": "Find out what is new to jax.jit{location} (jax_explain_cache_misses logs it); the program is the same: a "
    "function that is created again (a lambda), another tree of arguments or weak type, or an unequal static argument.",
    "other": "Find what is new to the cache each time{location}, such as a function created in the loop: the program "
    "is the same.",
}

_PLACEMENT: _TextByTracer = {
    "jax": "Place the arguments{location} in the same way in all steps, also in the first: jax.device_put with a "
    "device or a sharding commits an array to it, and jax.jit compiles again for arguments that are committed.",
    "other": "Place the arguments (their sharding) in the same way in all steps{location}, also in the first.",
}

_CONSTANTS: _TextByTracer = {
    "lazy": "Keep the Python number that changes{location} in a tensor on the device: so far it is a constant of the "
    "graph, and each number is another graph.",
    "dynamo": "Pass the Python number that changes{location} as a tensor: so far it is a constant of the graph, and "
    "torch.compile guards on it.",
    "jax": "Pass the Python number that changes{location} as an array argument: from static_argnums, a closure or a "
    "global it becomes a constant of the graph.",
    "other": "Pass the number that changes{location} as an argument: so far it is a constant of the graph.",
}

_SLICES: _TextByTracer = {
    "lazy": "Index with a tensor on the device{location} (torch.index_select, or x[tensor]): a Python number with "
    "which an array is indexed or sliced is a constant of the graph, and each number is another graph.",
    "dynamo": "Index with a tensor{location}: a Python number with which an array is indexed or sliced is a constant "
    "of the graph.",
    "jax": "Run it once before the loop if it happens rarely{location} (a checkpoint, an evaluation), or slice with "
    "jax.lax.dynamic_slice: bounds of slices that are Python numbers are constants of the program.",
    "other": "Pass the index that changes{location} as an argument: so far it is a constant of the graph.",
}

_BRANCH: _TextByTracer = {
    "jax": "a condition in Python, or a static argument.",
    "lazy": "a condition in Python, a loop of another length, or train() and eval().",
    "dynamo": "a condition in Python, a loop of another length, or train() and eval().",
    "other": "a condition.",
}

_MODE: _TextByTracer = {
    "lazy": "eval() without dropout, a branch).",
    "dynamo": "eval() without dropout, a branch).",
    "other": "an evaluation, a branch).",
}

_LAST_BATCH: _TextByTracer = {
    "lazy": "Drop the last batch (drop_last=True) if it is the smaller one{location}, or pad the parameter ",
    "dynamo": "Drop the last batch (drop_last=True) if it is the smaller one{location}, or pad the parameter ",
    "other": "Drop the last batch if it is the smaller one{location}, or pad the parameter ",
}

_ADVICE: Mapping[Change, Sequence[_TextByTracer]] = {
    "same_hlo": (_SAME_HLO,),
    "placement": (_PLACEMENT,),
    "constants": (_CONSTANTS,),
    "slices": (_SLICES,),
    "code": (
        {
            "other": "Run every variant of the graph once before the loop, or take out what changes it{location}: "
        },
        _BRANCH,
    ),
    "grows": ({"other": "Pad the parameter that grows{location} "}, _BUCKETS),
    "shrinks": (_LAST_BATCH, _BUCKETS),
    "shape": ({"other": "Pad the parameter whose shape changes{location} "}, _BUCKETS),
    "dtype": (
        {
            "other": "Convert the parameter that changes its type{location}{types} to one type before the step."
        },
    ),
    "parameters": (
        {
            "other": "Create state that appears later{location} (an optimizer's, a cache) before the first step, and "
            "run every branch once before the loop."
        },
    ),
    "fewer_parameters": (
        {
            "other": "Run each mode of the step once before the loop{location}: what needs fewer parameters is another "
            "graph ("
        },
        _MODE,
    ),
    "other_graph": (
        {
            "other": "Run what else is computed{location} (an evaluation, a branch) once before the loop, and keep it "
            "in a phase of its own."
        },
    ),
}


_CODE_IN_EVERY_STEP = "Take out what makes each step another graph{location}: "
"""Replaces the first part of the advice on `code`: what compiles in every step has no variants to run before."""


def find_tracer(dynamo: bool, framework: str) -> Tracer:
    """The tracer of the graphs, from whether dynamo launched anything, and the framework."""
    if dynamo:
        return "dynamo"
    return "jax" if framework == "jax" else "lazy" if framework == "torch_xla" else "other"


def location_text(logged: str | None, frame: Frame | None, annotation: str | None) -> str:
    """Where the program compiles, as far as it is known: by a debug log (` at train (train.py:9)`), a recorded frame
    (` in train at train.py:9`), or else an annotation (` in Training_Step/forward`)."""
    if logged:
        return f" at {logged}"
    place = frame.text if frame else annotation
    return f" in {place}" if place else ""


def advise_change(
    change: Change,
    tracer: Tracer,
    location: str,
    types: str,
    is_server: bool,
    is_in_every_step: bool = False,
) -> str:
    """Advice on a known change, one sentence. `location`: see `location_text`; `types`: the types that differ, as
    `f32 became f16`; each is empty if unknown. `is_server`: whether the host serves, and so has no last batch;
    `is_in_every_step`: whether every step compiles."""
    if is_server and change == "shrinks":
        change = "shape"
    parts = [texts.get(tracer, texts["other"]) for texts in _ADVICE[change]]
    if change == "code" and is_in_every_step:
        parts[0] = _CODE_IN_EVERY_STEP
    return "".join(parts).format(location=location, types=f" ({types})" if types else "")


def advise_unknown_change(location: str, step: str, variants: int) -> str:
    """Advice for an unknown change, one sentence. `step`: ` of step 9`, empty for several steps; `variants`: the number
    of graphs that share the name."""
    if variants > 1:
        return (
            f"Find what is new{location} each time: pad what varies in length to a few fixed lengths (buckets), create "
            "functions once, outside of the loop, and let no control flow depend on data."
        )
    return (
        f"Find what is new in the graph{step} (a last batch of another size, an evaluation, a branch){location}, and "
        "run every variant once before the loop."
    )


_PT_XLA_DEBUG = (
    "No frames. Run with PT_XLA_DEBUG=1 and save its stderr output beside the capture to see the cause and the "
    "frames here."
)

HOW_TO_LOG_COMPILATIONS: _TextByTracer = {
    "lazy": _PT_XLA_DEBUG,
    "dynamo": _PT_XLA_DEBUG,
    "jax": "No frames. With jax.config.update('jax_explain_cache_misses', True) JAX logs why it traces a function "
    "again.",
    "other": "No frames.",
}
"""How to record why and where a graph was compiled again, if no log beside the capture shows it."""

CAPTURE_AGAIN = "Capture from before it begins until it ends, to see which graph it is and what is new in it."
"""Advice on a compilation that the capture cuts and about which nothing else is known."""
