"""Findings about input data and transfers that the device waits for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tb_xla_insights.analysis.delays.input_pipeline import (
    find_input_pipeline,
    infeed_ps_of_runs,
    infeed_waits,
    input_pipeline_report,
)
from tb_xla_insights.analysis.delays.transfers import transfers_report
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    Frequency,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.findings.locations import most_common
from tb_xla_insights.analysis.frameworks import Words
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import steps_at
from tb_xla_insights.analysis.replay.what_if import Fix, removed_host_ps, step_without
from tb_xla_insights.catalog.frames import parse_frame
from tb_xla_insights.text.english import Phrase, mean_text, sentences
from tb_xla_insights.text.units import brief_time, byte_size, count, share
from tb_xla_insights.trace.model import Trace

_MIN_DELAYED_RATIO = 2
"""If the host waits for batches more than this many times longer than devices idle, the text names the effect: the next
launch is delayed."""

_LOADING_ADVICE = {
    # A capture does not show whether another thread loads if nothing of that thread is recorded.
    "driving_thread": "If {where} loads the batch itself, load ahead{at_once}: {how}; if it waits "
    "for a loader, give that more workers.",
    "mp_device_loader": "Give the DataLoader under MpDeviceLoader more workers, let it prefetch more "
    "(loader_prefetch_size), and make a batch cheaper to collate.",
    "loader_threads": "Use more loader threads, let them prefetch, and make a batch cheaper.",
    "tf_data": "Let the input pipeline prefetch and map in parallel (tf.data.AUTOTUNE), and cache what it decodes.",
    "infeed": "Prepare batches ahead on the host, and shard the input over more hosts.",
}
"""Advice by the kind of input pipeline."""


def loading_advice(kind: str | None, words: Words, where: str = "the script", at_once: str = "") -> str:
    """Advice on an input pipeline of some kind; `where` the driving thread loads, `at_once`: how much to load ahead."""
    return _LOADING_ADVICE[kind or "driving_thread"].format(where=where, at_once=at_once, how=words.ahead)


def input_bound(facts: Facts) -> Finding | None:
    """Idle time in which the driving thread loads or waits for a batch, and device time spent in infeed. It affects all
    steps in which the host loads: loading while the device works delays the next launch."""
    trace, taken_ps, inputs = facts.trace, facts.ledger.take(("input",)), find_input_pipeline(facts.trace)
    infeed_ps, idle_ps = inputs.infeed_ps, int(taken_ps.sum())
    cost = idle_ps + infeed_ps
    pipeline = input_pipeline_report(facts.trace)
    batches = pipeline["batches"]
    if not cost and not batches:
        return None
    steps_with_batches = set(steps_at(trace, trace.start_ps[inputs.batches]).tolist()) - {-1}
    infeed_ps_by_run = infeed_ps_of_runs(trace)
    steps_with_infeed = set(find_launches(trace).step_of_run[infeed_ps_by_run > 0].tolist()) - {-1}
    steps = facts.affected_steps(taken_ps) | steps_with_batches | steps_with_infeed
    recorded_name = most_common(trace.name(row) for row in inputs.batches.tolist()) or "the input pipeline"
    frame = parse_frame(recorded_name)
    name = frame.text if frame else recorded_name
    pipeline_kind = "infeed" if infeed_ps > idle_ps else pipeline["kind"]
    # Several in a step may be unlike: polls beside the batch.
    is_one_per_step = 0 < batches <= facts.step_count + 1
    each_text = f" ({brief_time(inputs.waits.total_ps // batches)} each)" if is_one_per_step else ""
    waiting_ps = inputs.waits.total_ps * len(trace.devices)
    delay_text = ", but delays the next launch" if waiting_ps > _MIN_DELAYED_RATIO * cost else ""
    overlap_text = (
        f"loading overlaps with the device's work for {share(pipeline['load_hidden'])} of its time{delay_text}"
        if pipeline["load_hidden"] is not None
        else ""
    )
    frequency = facts.frequency_of(steps)
    idle_in_steps_ps = facts.idle_in_steps_ps(frequency, "input")
    infeed_mean_ps = _infeed_mean_ps(facts, infeed_ps, frequency)
    mean = facts.mean_per_core(taken_ps, frequency)
    mean = replace(mean, ps=mean.ps + infeed_mean_ps)
    idle_text = (
        f"{facts.core_subject} {_waiting_text(idle_ps, infeed_ps)} {mean}"
        if mean.ps
        else f"no device idles{' in whole steps' if cost else ''}"
    )
    fix = replace(
        facts.fix_removing(steps, "input", in_other_thread=True),
        device_ps=infeed_ps_by_run if infeed_ps else None,
    )
    return Finding(
        "input_bound",
        first_fitting_title(
            f"The device waits for data: {name}",
            f"The device waits for data: {frame.name if frame else name}",
            "The device waits for data",
        ),
        f"loading in {name}" if len(inputs.batches) else "loading",
        sentences(
            f"{idle_text}{f' while the host loads or waits for a batch{each_text}' if idle_ps or batches else ''}",
            overlap_text,
        ),
        loading_advice(pipeline_kind, facts.words, name, _loaders_text(facts, frequency, fix)),
        cost,
        {key: value for key, value in pipeline.items() if key != "verdict"}
        | {"name": name, "infeed_ps": infeed_ps},
        facts.gap_windows(taken_ps) if idle_ps >= infeed_ps else _infeed_windows(trace),
        frequency,
        fix,
        idle_ps=None if idle_in_steps_ps is None else idle_in_steps_ps + infeed_mean_ps,
        waits_for=Phrase("the next batch"),
        best_if="loading is fully hidden",
    )


def _waiting_text(idle_ps: int, infeed_ps: int) -> str:
    """The verb phrase before the time: `idles`, `waits in infeed for`, or both."""
    if not infeed_ps:
        return "idles"
    return "idles or waits in infeed for" if idle_ps else "waits in infeed for"


def _loaders_text(facts: Facts, frequency: Frequency | None, fix: Fix) -> str:
    """`, at least 3 batches at once`: the number of loaders that load the batches of a step within a step without
    loading. Empty if one loader suffices, or if the number is unknown."""
    step_ps = step_without(facts.trace, fix) if frequency == "every_step" else None
    loaders = -(-removed_host_ps(facts.trace, fix) // step_ps) if step_ps else 1
    return f", at least {count(loaders)} batches at once" if loaders > 1 else ""


def _infeed_windows(trace: Trace) -> list[ShownWindow]:
    """The longest waits of devices in infeed."""
    waits_by_device = [(device.id, infeed_waits(trace, index)) for index, device in enumerate(trace.devices)]
    return longest_windows(
        ShownWindow(start, end, id_)
        for id_, waits in waits_by_device
        for start, end in zip(waits.start_ps.tolist(), waits.end_ps.tolist(), strict=True)
    )


def _infeed_mean_ps(facts: Facts, infeed_ps: int, frequency: Frequency | None) -> int:
    """The mean time in infeed per core, and per step as in `Facts.mean_per_core`."""
    is_per_step = frequency in ("every_step", "some_steps")
    return infeed_ps // max(1, facts.core_steps if is_per_step else len(facts.trace.devices))


def _transfer_brief(to_device: Mapping[str, Any], sends: bool, is_per_step: bool) -> str:
    if not sends:
        return "reading data back from the device"
    number, size = to_device["per_step"], to_device["bytes_per_step"]
    if is_per_step and number and number >= _MANY_TRANSFERS:
        return f"sending data in {mean_text(number)} transfers a step"
    return f"{byte_size(size)} sent each step" if size and is_per_step else "sending data to the device"


def _transfer_text(to_device: Mapping[str, Any], is_per_step: bool) -> str:
    """`324.5 MB are sent (1.1 transfers)`, per step; without numbers, which are means, if it does not recur, or if no
    transfer is in a step."""
    number, size = to_device["per_step"], to_device["bytes_per_step"]
    if not number or not is_per_step:
        return "the host sends to it"
    text = f"{byte_size(size)} are sent" if size else "the host sends to it"
    mean = mean_text(number)
    return f"{text} ({mean} {'transfer' if mean == '1' else 'transfers'})"


_MANY_TRANSFERS = 16
"""From this number of transfers per step on, sending them one by one is the cost. A batch consists of a few arrays, and
an optimizer sends a few constants; a script that sends its samples one by one sent 128."""


def _many_transfers_text(facts: Facts) -> str:
    """`Pack the 128 transfers of a step (64.0 kB) into a few: …`; empty if a step has few transfers."""
    to_device = transfers_report(facts.trace)["to_device"]
    number, size = to_device["per_step"], to_device["bytes_per_step"]
    if not number or number < _MANY_TRANSFERS:
        return ""
    total = f" ({byte_size(size)})" if size else ""
    return (
        f"Pack the {mean_text(number)} transfers of a step{total} into a few: stack the arrays on the host, send the "
        "stack, and take it apart on the device."
    )


def _advise_sending(facts: Facts) -> str:
    return _many_transfers_text(facts) or (
        f"Send what the next step needs while the device works{facts.words.sends}; send less: create constants on the "
        "device, keep there what does not change, and use small types (bfloat16, integer labels)."
    )


def transfer_bound(facts: Facts) -> Finding | None:
    """Idle time in which the host sends to the device or reads from it."""
    to_device_ps, from_device_ps = facts.ledger.take(("to_device",)), facts.ledger.take(("from_device",))
    send_ps, read_ps = int(to_device_ps.sum()), int(from_device_ps.sum())
    taken_ps, cost = to_device_ps + from_device_ps, send_ps + read_ps
    if not cost:
        return None
    transfers, steps = transfers_report(facts.trace), facts.affected_steps(taken_ps)
    to_device, from_device = transfers["to_device"], transfers["from_device"]
    sends, frequency = send_ps >= read_ps, facts.frequency_of(steps)
    is_per_step = frequency in ("every_step", "some_steps")
    times = ((send_ps, _transfer_text(to_device, is_per_step)), (read_ps, "the host reads from it"))
    activities = [text for ps, text in sorted(times, key=lambda time: -time[0]) if ps]
    return Finding(
        "transfer_bound",
        "The device waits for data to be sent" if sends else "The device waits while data is read back",
        _transfer_brief(to_device, sends, is_per_step),
        sentences(f"{facts.idle_text(taken_ps, frequency)} while {' or '.join(activities)}"),
        _advise_sending(facts) if sends else "Read less from the device, later, and many values at once.",
        cost,
        {
            "to_device_idle_ps": send_ps,
            "from_device_idle_ps": read_ps,
            "to_device": to_device,
            "from_device": from_device,
        },
        facts.gap_windows(taken_ps),
        frequency,
        facts.fix_removing(steps, "to_device", "from_device"),
        idle_ps=facts.idle_in_steps_ps(frequency, "to_device", "from_device"),
        waits_for=Phrase("data to be sent" if sends else "data to be read back"),
    )
