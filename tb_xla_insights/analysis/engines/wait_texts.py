"""Why a device waits for an asynchronous op, and what to do, in sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tb_xla_insights.analysis.engines.op_texts import is_at_hand
from tb_xla_insights.analysis.engines.report import async_ops_report, busy_share
from tb_xla_insights.analysis.engines.slice_rows import explained_transfer
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE
from tb_xla_insights.schema.engines import AsyncOp, Engine, SliceTransfer, WaitCause
from tb_xla_insights.text.english import Sentence, join_words
from tb_xla_insights.text.units import brief_times, part_text, rounded_share
from tb_xla_insights.trace.device import DeviceKind, device_name
from tb_xla_insights.trace.model import Trace


def reason_of_wait(trace: Trace, row: AsyncOp, op: str = "", *, cores: bool = False) -> Sentence | str:
    """Why a device waits for an op; empty if that is not known. `op`: the op's name; without one, the sentence says
    `it`. `cores`: whether it is about the SparseCores of several devices."""
    name, core = op or "it", "the SparseCores" if cores else "the SparseCore"
    if transfer := explained_transfer(trace, row):
        return reason_of_transfer(transfer, op)
    match row["cause"]:
        case "bottleneck" if (busy := busy_share(trace, "sparse_core")) >= DEVICE_BOUND_SHARE:
            verb = "are" if cores else "is"
            return f"{core} {verb} busy {rounded_share(busy)} of the time, so an earlier start cannot help"
        case "bottleneck":
            return f"{core} {'are' if cores else 'is'} busy with what is needed before {name}"
        case "late":
            ready, hideable = brief_times(
                (row["ready_before_ps"] or 0) // row["count"], (row["hideable_ps"] or 0) // row["count"]
            )
            text = f"{name} starts {ready} after its input is ready; {hideable} of its wait could be hidden"
            return Sentence(text, begins_with_name=bool(op))
        case "dependent" if row["input"] is None or is_at_hand(row["input"]):
            text = f"{name} starts as soon as its program does"
            return Sentence(text, begins_with_name=bool(op))
        case "dependent":
            text = f"{name} cannot start earlier: it needs {row['input']}, which ends just before"
            return Sentence(text, begins_with_name=bool(op))
        case "order":
            return f"{core} {'do' if cores else 'does'} other work before {name}"
        case "peer":
            of_op = [other for other in async_ops_report(trace) if other["op"] == row["op"]]
            last = device_name(min(of_op, key=lambda other: other["wait_ps"])["device"])
            return Sentence(f"{last} begins {name} later; the others wait for it", begins_with_name=True)
        case "not_traced":
            return f"what {core} {'do' if cores else 'does'} meanwhile is not in the capture"
        case _:
            return ""


def reason_of_transfer(row: SliceTransfer, op: str = "") -> Sentence | str:
    """Why devices wait for a transfer between slices; empty if that is not known. `op`: as for `reason_of_wait`."""
    peer_ps, shared_ps, late = row["peer_ps"] or 0, row["shared_ps"] or 0, row["late"] or 0
    slack, network = brief_times(row["slack_mean_ps"], row["network_mean_ps"] or 0)
    if row["cause"] == "peer":
        peer = f"slice {row['peers'][0]}" if len(row["peers"]) == 1 else "another slice"
        first = f", first in step {row['late_steps'][0]}" if row["late_steps"] else ""
        waits = part_text(peer_ps, row["wait_ps"])
        return (
            f"{peer} sends late {late} of {row['count']} times{first}: {waits} of waiting pass before it does"
        )
    if row["cause"] not in ("slack", "bandwidth"):
        return ""
    text = f"{op or 'it'} is on the way for {network}, and the program leaves {slack} for it"
    if row["cause"] == "bandwidth":
        network_ps = (row["network_mean_ps"] or 0) * row["network_count"]
        text += f"; for {rounded_share(shared_ps / network_ps)} of that time others share the network"
    return Sentence(text, begins_with_name=bool(op))


def advice_on_waits(
    engine: Engine, cause: WaitCause | None, ops: Sequence[str], kinds: Collection[DeviceKind]
) -> str:
    """What to do about waits for an engine on devices of some kinds. `ops`: kinds of collectives, else of ops."""
    match engine, cause:
        case "host_memory", _:
            return _MOVE_LESS
        case "other_slice", "late" | "dependent":
            pass
        case "other_slice", _:
            return _OF_SLICES.get(cause, _OF_SLICES[None])
        case "interconnect", "late" | "peer":
            pass
        case "interconnect", "dependent" if kinds != {"cpu"}:
            return f"{_ADVICE[cause]} Or exchange less (bfloat16, sharding)."
        case "interconnect", _:
            return _advise_hiding(ops, kinds)
        case "other", _ if ops[0].startswith(("copy", "slice", "dynamic")):
            return _PREFETCH
        case "sparse_core", "late" if flag := next((op for op in ops if op in _OFFLOADED), None):
            flag = f"--xla_tpu_sparse_core_{flag.replace('-', '_')}_latency_multiplier"
            return f"{_ADVICE['late']} The compiler does so with a higher {flag}, which costs memory."
    return _ADVICE[cause]


_OFFLOADED = ("all-gather", "all-reduce", "reduce-scatter")
"""Collectives for which the compiler has a flag that says how early a SparseCore starts them."""

_MOVE_LESS = (
    "Move less between host and device memory, or earlier: offload fewer buffers, prefetch further ahead, keep on the "
    "device what is needed again soon."
)

_PREFETCH = (
    "Prefetch further ahead, so that computation hides it, or keep in fast memory what is needed again soon."
)

_OF_SLICES: Mapping[WaitCause | None, str] = {
    "peer": "Find out why the other slice sends late: capture all slices at the same time, and compare what they do "
    "before.",
    "slack": "Start the transfer earlier or use its result later, so that more computation lies between; or send less "
    "(bfloat16, sharding).",
    "bandwidth": "Send less between slices (bfloat16, sharding), or start these transfers at different times.",
    None: "Start the transfer earlier or use its result later, so that more computation lies between. That does not "
    "help if the other slice sends late: a capture of all slices at the same time tells.",
}
"""Advice on transfers between slices."""

_ADVICE: Mapping[WaitCause | None, str] = {
    "bottleneck": "Give the SparseCore less work: fewer or smaller lookups and collectives on it; or share the work "
    "with the other SparseCores of the chip, if it has any that are idle.",
    "late": "Start the op as soon as its input is ready: place it before the work that does not need its result.",
    "dependent": "Let work that does not need the result run between start and end, as far as the program has some, or "
    "split the transfer, so that its first part starts earlier.",
    "order": "Start first what is needed first.",
    "peer": "Balance the cores: find what the core that comes last does before.",
    "not_traced": "Capture with the SparseCores: set tpu_num_sparse_cores_to_trace in the profiler's options (2 on "
    "v6e, 4 on v5p; JAX: in advanced_configuration).",
    None: "Start the awaited ops earlier, or let work that needs none of them run between their start and end.",
}


def _advise_hiding(ops: Sequence[str], kinds: Collection[DeviceKind]) -> str:
    """Advice to hide collectives on devices of some kinds."""
    name = join_words(ops)
    if kinds == {"cpu"}:
        return (
            f"Measure {name} on an accelerator: CPU devices share the machine's processors, and in a collective "
            "each waits for the last one."
        )
    hints = [f"latency-hiding scheduler{_SCHEDULER_FLAGS.get(join_words(sorted(kinds)), '')}"]
    if {"all-reduce", "reduce-scatter"} & {*ops}:
        hints.append("in a training, gradients reduced in buckets during backward")
    if "all-gather" in ops:
        hints.append("weights gathered while the layer before computes")
    return f"Overlap {name} with computation ({', '.join(hints)}), or send less (bfloat16, sharding)."


_SCHEDULER_FLAGS = {"tpu": " by --xla_tpu_… flags", "gpu": " by --xla_gpu_… flags"}
"""The flags that enable the latency-hiding scheduler, by kind of device."""
