"""Each framework's terms for what findings and diagnostics advise, so that advice does not mention another framework.
For frameworks without a term for a step, advice names those of PyTorch/XLA and JAX.

Terms that exist in one framework only (torch.compile, operators that run on the CPU) are where they are used; terms for
what creates graphs are in `findings/compile_advice.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tb_xla_insights.catalog.classes import HOST_ACTIVITY


@dataclass(frozen=True)
class Words:
    """The terms of one framework, as parts of sentences; empty or general if the framework has none.

    `step`: how to name steps, a sentence without its full stop; `annotation`: code that names a part of a step.
    `python_calls`: the setting that records Python calls; empty if the profiler has none.
    `accelerator`: what to do if devices were built from host threads but an accelerator was meant. `waits`: the calls
    that wait for the device and that a capture does not name without Python functions. `or_closure`: an alternative to
    reading a value after a later launch, with a comma. `one_read`: how to read several values at once. `ahead`: how to
    load and send the next batch while the device works; `sends`: the same for the transfer, in brackets.
    `steps_at_once`: how several steps become one graph, in brackets. `compiles`: what makes the host build less,
    followed by a comma. `one_graph`: how many small executions become one, a sentence without its full stop and its
    capital letter. `builds`: what the host does in the class `tracing`; `building`: the same as a noun. `is_server`:
    whether they are those of a server that decodes.
    """

    step: str = (
        "wrap each step in xp.StepTrace('train', step_num=i) or "
        "jax.profiler.StepTraceAnnotation('train', step_num=i)"
    )
    annotation: str = ""
    python_calls: str = ""
    accelerator: str = "was intended, run on it"
    waits: str = ""
    or_closure: str = ""
    one_read: str = ""
    ahead: str = "load and send the next batch while the device works"
    sends: str = ""
    steps_at_once: str = ""
    compiles: str = ""
    one_graph: str = "merge executions: fewer syncs a step, and values that are fetched together"
    builds: str = "builds the graph"
    building: str = "building"
    is_server: bool = False

    @property
    def larger_step(self) -> str:
        """What gives a step more work."""
        if self.is_server:
            return "more requests at once"
        return f"a larger batch, several steps in one graph{self.steps_at_once}"

    def of_server(self) -> Words:
        """The terms where an iteration makes a token of each request: the next one needs it, and sampling is apart for
        a reason."""
        one_graph = (
            "join only programs between which nothing is decided: sampling may be apart for structured output and log "
            "probabilities"
        )
        return replace(self, one_graph=one_graph, is_server=True)


_TORCH_XLA = Words(
    step="wrap each step in xp.StepTrace('train', step_num=i)",
    annotation="xp.Trace('name')",
    accelerator="was intended, set PJRT_DEVICE=TPU before the script starts",
    waits="xm.wait_device_ops() or torch_xla.sync(wait=True)",
    or_closure=", or in xm.add_step_closure(…, run_async=True)",
    one_read="torch.stack, then one .cpu()",
    ahead="DataLoader workers that prefetch, and MpDeviceLoader for the transfer",
    sends=" (MpDeviceLoader)",
    compiles="torch.compile, ",
)

_TORCH_TPU = Words(
    step="call prof.step() of torch.profiler in each step",
    annotation="torch.profiler.record_function('name')",
    compiles="torch.compile, ",
    one_graph="compile the step by torch.compile(backend='tpu'), or let operators be fused "
    "(TORCH_TPU_DEFER_AND_FUSE=1): what is not compiled is one program per operator",
    builds="calls operators",
    building="calling operators",
)

_JAX = Words(
    step="wrap each step in jax.profiler.StepTraceAnnotation('train', step_num=i)",
    annotation="jax.profiler.TraceAnnotation('name')",
    python_calls="python=True in tb_xla_insights.record",
    accelerator="was intended, see what jax.devices() lists",
    waits="jax.block_until_ready, np.asarray() or .item()",
    one_read="jax.device_get of a tuple",
    ahead="a thread that loads and sends the next batch (jax.device_put) while the device works",
    steps_at_once=" (jax.lax.scan)",
    one_graph="put the whole step in one function under jax.jit: what runs outside of it is launched by itself",
    builds="traces and lowers",
    building="tracing",
)

_TENSORFLOW = Words(
    step="wrap each step in tf.profiler.experimental.Trace('train', step_num=i, _r=1)",
    annotation="tf.profiler.experimental.Trace('name')",
    python_calls="python_tracer_level=1 in ProfilerOptions",
    accelerator="was intended, see what tf.config.list_physical_devices() lists",
    ahead="a tf.data pipeline that ends in prefetch(tf.data.AUTOTUNE)",
    steps_at_once=" (steps_per_execution in compile())",
    one_graph="put the whole step in one tf.function(jit_compile=True): what runs outside of it is launched by itself",
    builds="traces functions",
    building="tracing",
)

WORDS: Mapping[str, Words] = {
    "torch_xla": _TORCH_XLA,
    "torch_tpu": _TORCH_TPU,
    "jax": _JAX,
    "tensorflow": _TENSORFLOW,
    "unknown": Words(),
}
"""By framework, with the names of the report's `environment`."""


UNSHOWN_HOST = "something that the capture does not show"
"""What devices wait for in the class `unrecorded`."""


def host_activities(framework: str) -> dict[str, str]:
    """Returns, by class except `unrecorded`, what the host does: phrases that follow `the host`."""
    return HOST_ACTIVITY | {"tracing": WORDS[framework].builds}


def host_clause(class_name: str, framework: str, adverb: str = "") -> str:
    """What the host does in a class: `the host builds the graph`; `the capture shows nothing of the host`."""
    if class_name == "unrecorded":
        return unshown_clause("the host", adverb)
    return f"the host {adverb}{host_activities(framework)[class_name]}"


def unshown_clause(host: str, adverb: str = "") -> str:
    """`the capture shows nothing of the host`: what can be said about the class `unrecorded`."""
    return f"the capture {adverb}shows nothing of {host}"
