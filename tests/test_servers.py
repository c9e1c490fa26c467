"""Servers that decode: what is not advised, since it fits a training only."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from captures import capture, real_trace, session, space_of, thread
from launching import Tpu

from tb_xla_insights.analysis.findings import find_findings
from tb_xla_insights.analysis.findings.compile_advice import advise_change
from tb_xla_insights.analysis.host.servers import is_server, needs_its_reads
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.iterations.report import iterations_report
from tb_xla_insights.analysis.iterations.stalls import find_prefill_stalls
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.needed_table import needed_table
from tb_xla_insights.report.one_step import one_step
from tb_xla_insights.text.units import MISSING
from tb_xla_insights.trace.model import Trace

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


@pytest.mark.parametrize(
    ("name", "headline"),
    [
        ("sync", "0.9 of 3.3\u202fms of a decode iteration, above all for preparing and sending inputs."),
        ("sched_sync", "5.3 of 8.8\u202fms of a decode iteration, mostly for scheduling."),
        (
            "prefill_stall",
            "0.9 of 3.5\u202fms of a decode iteration, above all for preparing and sending inputs.",
        ),
    ],
)
def test_iterations_that_wait_for_their_tokens_are_to_be_scheduled_ahead(
    name: str, headline: str, shared_traces: Path
) -> None:
    report = report_of(shared_traces / "serving" / name)
    assert report["verdict"]["headline"] == f"Decoding is serial: the CPU (as XLA device) waits in {headline}"
    assert report["verdict"]["fix"] == "serial_iterations"
    (finding,) = (row for row in report["findings"] if row["id"] == "serial_iterations")
    assert finding["advice"].startswith("Schedule and launch the next iteration before")


@pytest.mark.parametrize(
    ("names", "needs"),
    [
        ({"sampler", "trainer"}, True),
        ({"inference", "train"}, True),
        ({"prefill", "generate"}, True),
        ({"train", "sampler"}, False),
    ],
)
def test_servers_and_rollouts_need_what_they_read(names: set[str], needs: bool) -> None:
    events = [(name, 10 * at, 5, {"_r": 1}) for at, name in enumerate(sorted(names))]
    assert needs_its_reads(capture(thread("python", *events))) == needs


def test_a_server_is_not_told_to_annotate_training_steps(shared_traces: Path) -> None:
    ids = {row["id"] for row in report_of(shared_traces / "serving/sync")["diagnostics"]}
    assert "no_steps" not in ids


def test_the_first_screen_of_a_server_has_the_parts_of_its_iteration(shared_traces: Path) -> None:
    report = report_of(shared_traces / "serving/sched_sync")
    table = needed_table(report, one_step(report))
    assert table is not None
    document = table.document(20)
    assert (document["kind"], document["rows"][0]) == ("iteration", ["schedule", "3.36", MISSING])
    for column in (1, 2):
        cells = [float(row[column]) for row in document["rows"] if row[column] != MISSING]
        assert sum(cells) == pytest.approx(float(document["last"][column]))


@pytest.mark.parametrize("name", ["async", "sched_async", "sglang_overlap"])
def test_a_server_that_is_ahead_reads_without_delay(name: str, shared_traces: Path) -> None:
    report = report_of(shared_traces / "serving" / name)
    assert report["verdict"]["details"].startswith("The server schedules 1 iteration ahead. ")
    ids = {row["id"] for row in report["findings"]}
    assert ids.isdisjoint(("serial_iterations", "sync_every_step", "sync_some_steps"))


def test_annotations_of_the_scheduler_are_listed_beside_those_of_the_thread_that_launches(
    shared_traces: Path,
) -> None:
    folder = shared_traces / "serving/sglang_overlap"
    rows = {row["path"]: row for row in report_of(folder)["annotations"] if row["kind"] == "annotation"}
    assert {path: row["thread"] for path, row in rows.items()} == {
        "run_batch": "python 2",
        "run_batch/forward_batch_generation_overlap {}": "python 2",
        "process_batch_result": "python 2",
        "forward_batch_generation {}": None,
        "forward_batch_generation {}/_forward_raw": None,
    }
    iterations = json.loads((folder / "truth.json").read_text())["annotation_templates"]
    assert {path.rpartition("/")[2]: row["count"] for path, row in rows.items()} == iterations


def test_requests_that_decode_wait_for_prompts_alone(shared_traces: Path) -> None:
    """By the script's own timers, prompts alone take 54 ms at most between two iterations that decode the same
    requests."""
    rows = json.loads((shared_traces / "serving/prefill_stall/truth.json").read_text())["per_iteration"]
    starts_us, kinds = [row[0] for row in rows], [row[2] for row in rows]
    (stall,) = (
        row
        for row in report_of(shared_traces / "serving/prefill_stall")["findings"]
        if row["id"] == "prefill_stall"
    )
    waits_us = [
        starts_us[after + 1] - starts_us[before + 1]
        for before, after in pairwise(at for at, kind in enumerate(kinds[:-1]) if kind == "decode")
        if after > before + 1
    ]
    usual_us = stall["evidence"]["usual_ps"] / 1e6
    assert stall["evidence"]["count"] == sum(wait_us > 3 * usual_us for wait_us in waits_us)
    assert stall["evidence"]["longest_ps"] / 1e6 == pytest.approx(max(waits_us), rel=0.01)
    assert (stall["gain"], stall["cost_ps"]) == (None, 0)


def test_a_request_waits_from_the_token_that_its_own_prompt_ends_with(tmp_path: Path) -> None:
    """The capture begins with the prompts of two requests, one after the other, and both decode afterwards."""
    batches = [("1 reqs, 40 toks", "a"), ("1 reqs, 40 toks", "b")] + [("2 reqs, 2 toks", "ab")] * 4
    starts = [0, 80, 160, 180, 200, 220]
    events = [
        (f"execute_model: {batch}", at, 10, {f"request_id{id_}": id_ for id_ in ids})
        for at, (batch, ids) in zip(starts, batches, strict=True)
    ]
    space_of(thread("python", *events)).write(tmp_path / "vm.xplane.pb")
    stalls = find_prefill_stalls(real_trace(tmp_path))
    assert stalls is not None
    assert (stalls.start_ps.tolist(), stalls.end_ps.tolist()) == ([80], [180])


@pytest.mark.parametrize(("request_id", "count"), [("a", 1), ("c", 0)])
def test_nobody_waits_for_prompts_if_other_requests_decode_afterwards(
    request_id: str, count: int, tmp_path: Path
) -> None:
    batches = (
        [("1 reqs, 1 toks", "a")] * 3 + [("1 reqs, 40 toks", "b")] + [("1 reqs, 1 toks", request_id)] * 3
    )
    events = [
        (f"execute_model: {batch}", 20 * at + 80 * (at > 3), 10, {"request_id1": id_})
        for at, (batch, id_) in enumerate(batches)
    ]
    space_of(thread("python", *events)).write(tmp_path / "vm.xplane.pb")
    stalls = find_prefill_stalls(real_trace(tmp_path))
    assert (len(stalls.start_ps) if stalls else 0) == count
    if stalls:
        assert (stalls.start_ps.tolist(), stalls.end_ps.tolist(), stalls.usual_ps) == ([60], [180], 20)


@pytest.mark.parametrize(
    ("is_server", "begins"), [(False, "Drop the last batch"), (True, "Pad the parameter")]
)
def test_a_server_has_no_last_batch(is_server: bool, begins: str) -> None:
    assert advise_change("shrinks", "jax", " in serve", "", is_server).startswith(begins)


def test_a_server_may_wait_for_nothing_but_the_device() -> None:
    """Each iteration of 100 us waits for 60 us until the device has worked for 40."""
    tpu = Tpu()
    for start in range(0, 1200, 100):
        tpu.on_main("execute_model: 3 reqs, 3 toks", start, 100)
        tpu.on_main("wait_for_tokens", start, 100)
        tpu.launch(start, (start + 1, 6), (start + 50, 40))
    report = iterations_report(tpu.trace())
    assert report is not None
    assert {*report["kinds"][0]["bubble_by_part_ps"]} == {"wait"}
    assert "serial_iterations" not in {finding.id for finding in find_findings(tpu.trace())}


def test_round_trips_are_to_be_joined(shared_traces: Path) -> None:
    findings = {row["id"]: row for row in report_of(shared_traces / "serving/four_gets")["findings"]}
    advice = findings["serial_iterations"]["advice"]
    assert advice.startswith("Fetch what an iteration reads in 4 round trips at once. Schedule")


def test_a_server_without_requests_makes_no_mistake(shared_traces: Path) -> None:
    """The script's own timers: no request for 82.25 % of the time, and 77.0 % duty cycle in the rest."""
    folder = shared_traces / "serving/queue_empty"
    report, truth = report_of(folder), json.loads((folder / "truth.json").read_text())
    (device,) = report["devices"]
    no_requests_ps = report["iterations"]["no_requests_ps"]
    assert no_requests_ps / 1e9 == pytest.approx(truth["queue_empty_ms_total"], rel=0.02)
    assert device["busy_ps"] / (device["span_ps"] - no_requests_ps) == pytest.approx(
        truth["ledger"]["duty_cycle_without_queue_empty"], abs=0.02
    )
    assert report["verdict"]["headline"].endswith("mostly it gets no request to work on.")
    assert "No request is there for 82\u202f% of the time" in report["verdict"]["details"]
    assert all((row["gain"] or 0.0) < 0.1 for row in report["findings"])
    assert not any(row["id"] == "host_pause" for row in report["findings"])


def served(folder: Path, *requests: str, ids: bool = True) -> Trace:
    """Iterations of 10 ps, 10 ps apart, the last one 100 ps after the one before, as read from a file."""
    starts = [20 * number for number in range(len(requests))]
    starts[-1] += 80
    events = [
        (f"execute_model: {number} reqs", at, 10, {"request_id1": request} if ids else {})
        for number, (at, request) in enumerate(zip(starts, requests, strict=True))
    ]
    space_of(thread("python", *events)).write(folder / "vm.xplane.pb")
    return real_trace(folder)


def test_no_request_is_in_flight_between_iterations_that_share_none(tmp_path: Path) -> None:
    times = no_requests(served(tmp_path, "a", "a", "a", "a", "b"))
    assert (times.start_ps.tolist(), times.end_ps.tolist()) == ([70], [160])


@pytest.mark.parametrize(
    ("requests", "ids"),
    [("aaaaa", True), ("abcdd", True), ("aaaab", False)],
    ids=["the request waits", "the next request is there at once", "it is not recorded"],
)
def test_other_times_between_iterations_are_not_without_requests(
    requests: str, ids: bool, tmp_path: Path
) -> None:
    assert not len(no_requests(served(tmp_path, *requests, ids=ids)))


def test_requests_are_not_known_once_the_file_is_gone(tmp_path: Path) -> None:
    trace = served(tmp_path, "a", "a", "a", "a", "b")
    (tmp_path / "vm.xplane.pb").unlink()
    assert not len(no_requests(trace))


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
