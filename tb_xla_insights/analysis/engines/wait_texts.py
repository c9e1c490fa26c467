"""Why a device waits for an asynchronous op, and what to do, in sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tb_xla_insights.analysis.engines.report import async_ops_report, busy_share
from tb_xla_insights.schema.engines import AsyncOp, Engine, WaitCause
from tb_xla_insights.text.english import Sentence, join_words
from tb_xla_insights.text.units import brief_times, rounded_share
from tb_xla_insights.trace.device import DeviceKind, device_name
from tb_xla_insights.trace.model import Trace


def reason_of_wait(trace: Trace, row: AsyncOp, op: str = "", *, cores: bool = False) -> Sentence | str:
    """Why a device waits for an op; empty if that is not known. `op`: the op's name; without one, the sentence says
    `it`. `cores`: whether it is about the SparseCores of several devices."""
    name, core = op or "it", "the SparseCores" if cores else "the SparseCore"
    match row["cause"]:
        case "bottleneck":
            subject = "such transfers are under way"
            if row["engine"] == "sparse_core":
                subject = f"{core} {'are' if cores else 'is'} busy"
            busy = rounded_share(busy_share(trace, row["engine"]))
            return f"{subject} {busy} of the time, so an earlier start cannot help"
        case "late":
            ready, hideable = brief_times(
                (row["ready_before_ps"] or 0) // row["count"], (row["hideable_ps"] or 0) // row["count"]
            )
            text = f"{name} starts {ready} after its input is ready; {hideable} of its wait would be hidden"
            return Sentence(text, begins_with_name=bool(op))
        case "dependent":
            text = f"{name} cannot start earlier: what it needs is computed just before"
            return Sentence(text, begins_with_name=bool(op))
        case "order":
            return f"{core} {'do' if cores else 'does'} other work before {name}"
        case "peer":
            of_op = [other for other in async_ops_report(trace) if other["op"] == row["op"]]
            last = device_name(min(of_op, key=lambda other: other["wait_ps"])["device"])
            return Sentence(f"{last} begins {name} later; the others wait for it", begins_with_name=True)
        case "not_traced":
            return f"what {core} {'do' if cores else 'does'} meanwhile is not in the capture"
        case None:
            return ""


def advice_on_waits(engine: Engine, cause: WaitCause | None, ops: str, kinds: Collection[DeviceKind]) -> str:
    """What to do about waits for `ops` on devices of some kinds."""
    match engine:
        case "host_memory":
            return _MOVE_LESS
        case "other_slice":
            return "Send less between slices, or earlier, so that computation hides it."
        case "interconnect" if cause not in ("late", "peer"):
            return _advise_hiding(ops, kinds)
        case "other" if ops.startswith(("copy", "slice", "dynamic")):
            return _PREFETCH
    return _ADVICE[cause]


_MOVE_LESS = (
    "Move less between host and device memory, or earlier: offload fewer buffers, prefetch further ahead, keep on the "
    "device what is needed again soon."
)

_PREFETCH = (
    "Prefetch further ahead, so that computation hides it, or keep in fast memory what is needed again soon."
)

_ADVICE: Mapping[WaitCause | None, str] = {
    "bottleneck": "Give the engine less work: fewer or smaller lookups and collectives on a SparseCore, or more "
    "SparseCores.",
    "late": "Start the op as soon as its input is ready: place it before the work that does not need its result. The "
    "compiler does so with a higher --xla_tpu_sparse_core_…_latency_multiplier, which costs memory.",
    "dependent": "Let work that does not need the result run between start and end, as far as the program has some, or "
    "split the transfer, so that its first part starts earlier.",
    "order": "Start first what is needed first.",
    "peer": "Balance the cores: find what the core that comes last does before.",
    "not_traced": "Capture with the SparseCores: set tpu_num_sparse_cores_to_trace in the profiler's options.",
    None: "Start the awaited ops earlier, or let work that needs none of them run between their start and end.",
}


def _advise_hiding(name: str, kinds: Collection[DeviceKind]) -> str:
    """Advice to hide collectives on devices of some kinds."""
    if kinds == {"cpu"}:
        return (
            f"Measure {name} on an accelerator: CPU devices share the machine's processors, and in a collective "
            "each waits for the last one."
        )
    flags = _SCHEDULER_FLAGS.get(join_words(sorted(kinds)), "")
    return (
        f"Overlap {name} with computation (latency-hiding scheduler{flags}, gradients "
        "reduced in buckets during backward), or send less (bfloat16, sharding)."
    )


_SCHEDULER_FLAGS = {"tpu": " by --xla_tpu_… flags", "gpu": " by --xla_gpu_… flags"}
"""The flags that enable the latency-hiding scheduler, by kind of device."""
