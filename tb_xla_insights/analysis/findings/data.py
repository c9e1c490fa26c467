"""Findings about data on its way: batches that come too late, transfers that the device waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    first_that_fits,
    most_common,
    plural,
    total_ps,
)
from tb_xla_insights.analysis.input_pipeline import InputPipeline, find_input_pipeline, input_report
from tb_xla_insights.analysis.names import frame_name
from tb_xla_insights.analysis.steps import steps_at
from tb_xla_insights.analysis.transfers import transfers_report
from tb_xla_insights.trace.model import Int64
from tb_xla_insights.units import byte_size, share, time_text

DELAYED_RATIO = 2
"""From how many times the idle time on a text says why loading costs more than that."""

_MOST_OF_IT = 0.8
"""Of a cost, what one host must have for the finding to name it."""

MOST_HOSTS = 3
"""Hosts that a sentence names."""

_LOADING = {
    # Whether another thread loads, of which nothing is recorded, a capture does not tell.
    "driving_thread": "If {where} loads the batch itself, move that off the thread that drives the device: {how}; if "
    "it waits for a loader, make that faster or give it more workers.",
    "mp_device_loader": "Give the DataLoader under MpDeviceLoader more workers, let it prefetch more "
    "(loader_prefetch_size), and make a batch cheaper to collate.",
    "loader_threads": "Use more loader threads, let them prefetch, and make a batch cheaper.",
    "tf_data": "Let the input pipeline prefetch and map in parallel (tf.data.AUTOTUNE), and cache what it decodes.",
    "infeed": "Prepare batches ahead on the host, and shard the input over more hosts.",
}
"""What to change, by how batches come."""


def input_bound(facts: Facts) -> Finding | None:
    """Idle time in which the driving thread loads or waits for a batch, and device time spent in infeed. Loading while
    the device works delays what is launched next, so all steps in which the host loads have it."""
    taken = [ledger.take(("input",)) for ledger in facts.ledgers]
    parts = [find_input_pipeline(trace) for trace in facts.traces]
    infeed = sum(part.infeed_ps for part in parts)
    cost = total_ps(taken) + infeed
    pipeline = input_report(facts.session)
    batches = pipeline["batches"]
    if not cost and not batches:
        return None
    steps = [
        idle | set(steps_at(trace, trace.start_ps[part.batches]).tolist()) - {-1}
        for trace, part, idle in zip(facts.traces, parts, facts.steps_taken(taken), strict=True)
    ]
    names = [
        frame_name(trace.name(row))
        for trace, part in zip(facts.traces, parts, strict=True)
        for row in part.batches.tolist()
    ]
    name = most_common(names) or "the input pipeline"
    kind = "infeed" if infeed > total_ps(taken) else pipeline["kind"] or "driving_thread"
    hidden = pipeline["load_hidden"]
    waited = sum(
        part.waits.total_ps * len(trace.devices) for part, trace in zip(parts, facts.traces, strict=True)
    )
    delays = ", but delays what is launched next" if waited > DELAYED_RATIO * cost else ""
    return Finding(
        "input_bound",
        first_that_fits(f"The device waits for data: {name}", "The device waits for data"),
        f"the device waits for data ({name}{_one_host(facts, taken)})",
        f"Devices idle{' or wait in infeed' if infeed else ''} for {facts.of_span(cost)}, while the host loads or "
        f"waits for {plural(batches, 'batch', 'batches')}{_each(facts, parts)}. Of all loading, {share(hidden)} "
        f"overlaps with the device's work{delays}.",
        _LOADING[kind].format(where=name, how=facts.words.ahead),
        cost,
        {key: value for key, value in pipeline.items() if key != "verdict"}
        | {"name": name, "infeed_ps": infeed},
        facts.gap_windows(taken),
        facts.recurs(steps),
        facts.without(steps, "input", aside=True),
    )


def _brief(to_device: Mapping[str, Any], sends: bool) -> str:
    if not sends:
        return "the device waits while data is read back"
    size = to_device["bytes_per_step"]
    return f"{byte_size(size)} sent each step" if size else "the device waits for data to be sent"


def _one_host(facts: Facts, taken: Sequence[Int64]) -> str:
    """` on host`, where one of several has most of the cost."""
    costs = [int(cost.sum()) for cost in taken]
    if len(costs) == 1 or max(costs) < _MOST_OF_IT * sum(costs):
        return ""
    return f" on {facts.traces[costs.index(max(costs))].host}"


def _each(facts: Facts, parts: list[InputPipeline]) -> str:
    """How long a batch takes: ` (14.073 ms each)`; per host where there are several, those that wait longest first."""
    hosts = sorted(zip(parts, facts.traces, strict=True), key=lambda it: -it[0].waits.total_ps)
    told = [
        (trace.host, len(part.batches), time_text(part.waits.total_ps // len(part.batches)))
        for part, trace in hosts
        if len(part.batches)
    ]
    if len(facts.traces) == 1:
        return "".join(f" ({each} each)" for _, _, each in told)
    shown = [f"{host}: {number} of {each} each" for host, number, each in told[:MOST_HOSTS]]
    more = [f"{len(told) - MOST_HOSTS} more hosts"] if len(told) > MOST_HOSTS else []
    return f" ({', '.join(shown + more)})" if shown else ""


def transfer_bound(facts: Facts) -> Finding | None:
    """Idle time in which the host sends to the device or reads from it."""
    sent = [ledger.take(("to_device",)) for ledger in facts.ledgers]
    read = [ledger.take(("from_device",)) for ledger in facts.ledgers]
    taken = [a + b for a, b in zip(sent, read, strict=True)]
    cost = total_ps(taken)
    if not cost:
        return None
    transfers, steps = transfers_report(facts.session), facts.steps_taken(taken)
    to_device, from_device = transfers["to_device"], transfers["from_device"]
    size = f" of {byte_size(to_device['bytes'])}" if to_device["bytes"] is not None else ""
    sends = total_ps(sent) >= total_ps(read)
    return Finding(
        "transfer_bound",
        "The device waits for data to be sent" if sends else "The device waits while data is read back",
        _brief(to_device, sends),
        f"{plural(to_device['count'], 'transfer')}{size} to the device and {from_device['count']} from it"
        f"{facts.of_hosts}; devices idle meanwhile for {facts.of_span(cost)}.",
        f"Send the next batch while the device works{facts.words.sends}, in fewer and smaller pieces: "
        "integer labels, constants made on the device, bfloat16."
        if sends
        else "Read less from the device, and later: add up on the device, and fetch many values at once.",
        cost,
        {
            "to_device_idle_ps": total_ps(sent),
            "from_device_idle_ps": total_ps(read),
            "to_device": to_device,
            "from_device": from_device,
        },
        facts.gap_windows(taken),
        facts.recurs(steps),
        facts.without(steps, "to_device", "from_device"),
    )
