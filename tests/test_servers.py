"""Servers that decode: what is not advised, since it fits a training only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import capture, real_trace, session, thread

from tb_xla_insights.analysis.host.servers import is_server
from tb_xla_insights.report.document import session_report

SERVERS = [
    "async",
    "four_gets",
    "prefill_stall",
    "queue_empty",
    "sched_async",
    "sched_sync",
    "sglang_overlap",
    "sync",
]


def report_of(folder: Path) -> Any:
    return session_report(session(real_trace(folder)))


@pytest.mark.parametrize("name", SERVERS)
def test_nothing_is_advised_that_fits_a_training_only(name: str, shared_traces: Path) -> None:
    """Each iteration needs the tokens of the one before, and sampling is a program of its own for a reason."""
    findings = report_of(shared_traces / "serving" / name)["findings"]
    advice = " ".join(finding["advice"] for finding in findings)
    for word in (
        "tenth step",
        "lax.scan",
        "larger batch",
        "one graph",
        "one function",
        "whole step",
        "worker",
    ):
        assert word not in advice


@pytest.mark.parametrize("name", ["sync", "sched_sync", "prefill_stall"])
def test_iterations_that_wait_for_their_tokens_are_to_be_scheduled_ahead(
    name: str, shared_traces: Path
) -> None:
    findings = {row["id"]: row for row in report_of(shared_traces / "serving" / name)["findings"]}
    assert findings["sync_every_step"]["advice"].startswith("Schedule and launch the next iteration before")


def test_a_server_that_is_ahead_needs_no_change(shared_traces: Path) -> None:
    findings = {row["id"]: row for row in report_of(shared_traces / "serving/async")["findings"]}
    assert findings["sync_every_step"]["advice"].startswith("Tokens are read after the next launch already")


def test_round_trips_are_to_be_joined(shared_traces: Path) -> None:
    findings = {row["id"]: row for row in report_of(shared_traces / "serving/four_gets")["findings"]}
    advice = findings["sync_every_step"]["advice"]
    assert advice.startswith("Fetch what an iteration reads in 4 round trips at once. Schedule")


@pytest.mark.parametrize(
    ("names", "serves"),
    [
        (["execute_model: 3 reqs, 64 toks"], True),
        (["forward_batch_generation_overlap 7"], True),
        (["prefill", "generate"], True),
        (["generate"], False),
        (["Training_Step", "forward"], False),
    ],
)
def test_servers_are_recognised_by_their_annotations(names: list[str], serves: bool) -> None:
    events = [(name, 10 * number, 5, {"_r": 1}) for number, name in enumerate(names)]
    assert is_server(capture(thread("python", *events))) == serves
