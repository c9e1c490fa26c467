"""Sentences on loading, for the text, the HTML report and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

Row = Mapping[str, Any]

_LOADERS = {
    "mp_device_loader": "MpDeviceLoader",
    "tf_data": "tf.data",
    "infeed": "infeed",
}
_VERDICTS = {
    "bound": "Devices wait for data",
    "partly_hidden": "Devices wait for data at times",
    "hidden": "Loading does not hold devices up",
}


def input_sentences(report: Row) -> list[str]:
    """Whether devices wait for data, if that is known, and what loads it; empty if no loading is recorded."""
    pipeline = report["input_pipeline"]
    if not pipeline["kind"]:
        return []
    driving = "the driving thread" if len(report["session"]["hosts"]) == 1 else "driving threads"
    verdict = [] if pipeline["verdict"] == "unknown" else [_verdict_text(pipeline)]
    return [*verdict, _loader_text(pipeline, driving)]


def _verdict_text(pipeline: Row) -> str:
    head = _VERDICTS[pipeline["verdict"]]
    if pipeline["late_hosts"]:
        head = f"Loading on {_names_text(pipeline['late_hosts'])} holds up the other hosts, whose devices look busy"
    if not pipeline["idle_ps"]:
        idle = "no idle time"
    else:
        share = units.share(pipeline["share"])
        idle = f"{units.time_text(pipeline['idle_ps'])} of idle time on all cores ({share} of their spans)"
    infeed = (
        f"; {units.time_text(pipeline['infeed_ps'])} of it in infeed ops" if pipeline["infeed_ps"] else ""
    )
    return f"{head}: {idle} is spent waiting for data{infeed}."


def _names_text(hosts: Sequence[str]) -> str:
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more"


def _loader_text(pipeline: Row, driving: str) -> str:
    """What loads the data, and the time that batches take on the driving threads. Only that time if no loader is
    recorded: the driving thread may load, or wait for a thread that does."""
    wait = units.time_text(pipeline["wait_ps"])
    time = (
        f"{wait}, {units.time_text(pipeline['wait_ps'] // pipeline['batches'])} each"
        if pipeline["batches"]
        else wait
    )
    batches = plural(pipeline["batches"], "batch", "batches")
    if pipeline["kind"] == "driving_thread":
        activity = f"Loading {batches}" if pipeline["batches"] else "Loading"
        return f"{activity}, or waiting for a loader, takes {driving} {time}."
    threads = plural(pipeline["loader_threads"], "loader thread") if pipeline["loader_threads"] else ""
    name = _LOADERS.get(pipeline["kind"], "")
    source = f"{name} ({threads})" if name and threads else name or threads
    return f"Data comes from {source}" + (
        f"; {batches} took {driving} {time}." if pipeline["batches"] else "."
    )
