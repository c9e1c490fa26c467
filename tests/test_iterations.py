"""The iterations of a server: their kinds, what the device waits for in them, and how far it schedules ahead."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from captures import capture, real_trace, session, thread
from launching import Tpu
from schema_checks import check_answer

from tb_xla_insights.analysis.findings import find_findings
from tb_xla_insights.analysis.iterations.iterations import find_iterations
from tb_xla_insights.analysis.iterations.report import iterations_report
from tb_xla_insights.analysis.iterations.texts import serial_text, serial_time_ps
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.iterations_text import kind_note
from tb_xla_insights.report.iterations_view import iterations
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.model import Trace

US = 10**6
OF_TRUTH = {"h2d": "to_device", "queue": "no_requests", "result": "results", "detok": "results"}
"""The names of parts in the script that recorded the captures, where they differ."""


def serving(folder: Path) -> tuple[dict[str, dict[str, Any]], Any]:
    """The report's kinds by name, and the script's own timers."""
    report = iterations_report(real_trace(folder))
    assert report is not None
    return {row["kind"]: dict(row) for row in report["kinds"]}, json.loads(
        (folder / "truth.json").read_text()
    )


@pytest.mark.parametrize("name", ["sched_sync", "sched_async"])
def test_annotated_parts_are_those_of_the_scripts_timers(name: str, shared_traces: Path) -> None:
    """Within 0.05 ms. The truth has one iteration more, the last one, whose end the capture does not mark."""
    kinds, truth = serving(shared_traces / "serving" / name)
    row, expected = kinds["decode"], truth["ledger"]["by_kind"]["decode"]
    assert row["count"] == expected["n"]
    assert row["device_ps"] / 1e9 == pytest.approx(expected["device_busy_ms"], rel=0.01)
    bubble_ms = dict.fromkeys(row["bubble_by_part_ps"], 0.0)
    for part, ms in expected["bubble_ms"].items():
        if part not in ("other", "queue"):
            name_of_part = OF_TRUTH.get(part, part)
            bubble_ms[name_of_part] = bubble_ms.get(name_of_part, 0.0) + ms
    for part in ("schedule", "build", "to_device", "launch", "wait", "results"):
        assert row["bubble_by_part_ps"].get(part, 0) / 1e9 == pytest.approx(bubble_ms[part], abs=0.05), part
    for part, ms in expected["hidden_host_ms"].items():
        if part in ("schedule", "launch"):
            assert row["hidden_by_part_ps"][part] / 1e9 == pytest.approx(ms, abs=0.05)


@pytest.mark.parametrize(
    ("name", "scheduling", "trips"),
    [
        ("sync", ("sync", None), 1),
        ("sched_sync", ("sync", None), 1),
        ("four_gets", ("sync", None), 4),
        ("prefill_stall", ("sync", None), 1),
        ("queue_empty", ("sync", None), 1),
        ("async", ("ahead", 1), 1),
        ("sched_async", ("ahead", 1), 1),
    ],
)
def test_kinds_and_scheduling_of_recorded_servers(
    name: str, scheduling: tuple[str, int | None], trips: int, shared_traces: Path
) -> None:
    kinds, truth = serving(shared_traces / "serving" / name)
    report = iterations_report(real_trace(shared_traces / "serving" / name))
    assert report is not None
    assert report["scheduling"] is not None
    assert (report["scheduling"]["kind"], report["scheduling"]["ahead_by"]) == scheduling
    assert {kind: row["count"] for kind, row in kinds.items()} == {
        kind: row["n"] for kind, row in truth["ledger"]["by_kind"].items()
    }
    for kind, row in kinds.items():
        expected = truth["ledger"]["by_kind"][kind]
        device_ms, wall_ms = expected["device_busy_ms"], expected["wall_ms"]
        # Without annotations for its phases, an iteration begins at its mark, and has the next one's preparations.
        assert row["device_ps"] / 1e9 == pytest.approx(device_ms, rel=0.01 if trips == 1 else 0.02, abs=0.1)
        assert row["wall_ps"]["mean"] / 1e9 == pytest.approx(wall_ms, rel=0.02, abs=0.1)
        assert row["programs"] == truth["programs_per_iteration"]
        assert row["round_trips"] == trips


def test_the_parts_of_an_iteration_add_up(shared_traces: Path) -> None:
    for folder in sorted((shared_traces / "serving").glob("*/")):
        kinds, _ = serving(folder)
        for row in kinds.values():
            assert row["wall_ps"]["mean"] == row["device_ps"] + row["bubble_ps"]
            assert sum(row["bubble_by_part_ps"].values()) == row["bubble_ps"]
            assert sum(row["hidden_by_part_ps"].values()) == row["device_ps"]
            assert row["wall_ps"]["p50"] <= row["wall_ps"]["p99"]


def served(names: list[str], *, ahead: int = 0, cores: tuple[int, ...] = (0,)) -> Trace:
    """A server with iterations of 100 us: 30 of scheduling, 20 of launching, then waiting. The device works for 40 us
    from the launch on, or `ahead` iterations later."""
    tpu = Tpu()
    for number, name in enumerate(names):
        at = 100 * number
        tpu.on_main("schedule", at, 30)
        tpu.on_main(name, at + 30, 20)
        tpu.launch(at + 32, (at + 34, 6), (at + 50 + 100 * ahead, 40), cores=cores)
        tpu.on_main("wait_for_tokens", at + 50, 50)
    return tpu.trace()


DECODING = [f"execute_model: {3 + number % 2} reqs, {3 + number % 2} toks" for number in range(6)]


def test_an_iteration_begins_with_its_scheduling_and_ends_with_the_next_one() -> None:
    found = find_iterations(served(DECODING))
    assert found.start_ps.tolist() == [100 * US * number for number in range(5)]
    assert found.end_ps.tolist() == [100 * US * number for number in range(1, 6)]


@pytest.mark.parametrize("cores", [(0,), (0, 1)])
def test_parts_while_the_device_works_and_while_it_waits(cores: tuple[int, ...]) -> None:
    report = iterations_report(served(DECODING, cores=cores))
    assert report is not None
    (row,) = report["kinds"]
    assert (row["kind"], row["template"], row["count"]) == (
        "decode",
        "execute_model: {} reqs, {} toks",
        5,
    )
    assert row["slots"] == {name: {"min": 3, "median": 3, "max": 4} for name in ("reqs", "toks")}
    assert row["wall_ps"] == {"mean": 100 * US, "p50": 100 * US, "p99": 100 * US}
    assert row["bubble_by_part_ps"]["schedule"] == 30 * US
    assert row["bubble_by_part_ps"]["wait"] == 10 * US
    assert row["hidden_by_part_ps"] == {"wait": 40 * US}


@pytest.mark.parametrize(("ahead", "kind", "ahead_by"), [(0, "sync", None), (1, "ahead", 1), (2, "ahead", 2)])
def test_a_server_is_ahead_by_the_iterations_in_flight(ahead: int, kind: str, ahead_by: int | None) -> None:
    report = iterations_report(served(DECODING * 5, ahead=ahead))
    assert report is not None
    assert report["scheduling"] is not None
    assert (report["scheduling"]["kind"], report["scheduling"]["ahead_by"]) == (kind, ahead_by)


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["execute_model: 2 reqs, 2 toks", "execute_model: 2 reqs, 9 toks"], ["decode", "with_prefill"]),
        ([f"execute_model: {n} reqs, {3 * n} toks" for n in (2, 3, 4)], ["speculative"] * 3),
        (["prefill", "generate", "generate"], ["prefill", "decode", "decode"]),
        ([f"forward_batch_generation {n}" for n in (7, 8, 9)], ["iteration"] * 3),
    ],
)
def test_the_kind_of_a_batch_is_what_its_name_tells(names: list[str], kinds: list[str]) -> None:
    events = [(name, 10 * at, 5, {"_r": 1}) for at, name in enumerate([*names, names[-1]])]
    found = find_iterations(capture(thread("python", *events)))
    assert found.kind == kinds
    assert all(not row for row, name in zip(found.numbers, names, strict=True) if "forward" in name)


def sent(arrays: int) -> Trace:
    """Iterations of 200 us that take 4 us for each of some arrays, of which the runtime records half."""
    tpu = Tpu()
    for start in range(0, 1200, 200):
        tpu.on_main("execute_model: 3 reqs, 3 toks", start, 140)
        for number in range(arrays):
            tpu.on_main("TransferToDevice", start + 4 * number, 2)
        tpu.launch(start + 130, (start + 132, 6), (start + 140, 40))
    return tpu.trace()


@pytest.mark.parametrize(("arrays", "sending_us"), [(30, 118), (8, 30), (7, 14)])
def test_many_arrays_that_are_sent_one_by_one_are_one_time(arrays: int, sending_us: int) -> None:
    trace = sent(arrays)
    report = iterations_report(trace)
    assert report is not None
    (row,) = report["kinds"]
    assert row["bubble_by_part_ps"]["to_device"] == sending_us * US
    assert row["arrays_sent"] == arrays
    found = {finding.id: finding for finding in find_findings(trace)}
    assert ("many_sends" in found) == (arrays >= 8)
    if arrays >= 8:
        assert found["many_sends"].cost_ps == 5 * (4 * arrays - 4) * US  # the first of the arrays remains


def test_iterations_whose_names_tell_nothing_are_of_one_kind_per_bucket(shared_traces: Path) -> None:
    """The script pads a batch to 16, 32 or 64 tokens; its last iteration has no end."""
    report = iterations_report(real_trace(shared_traces / "serving/sglang_overlap"))
    truth = json.loads((shared_traces / "serving/sglang_overlap/truth.json").read_text())
    padded = [row[truth["per_iteration_columns"].index("padded")] for row in truth["per_iteration"]]
    assert report is not None
    assert {row["bucket"]: row["count"] for row in report["kinds"]} == Counter(padded[:-1])
    assert {row["kind"] for row in report["kinds"]} == {"iteration"}


def test_buckets_are_not_known_once_the_file_is_gone(shared_traces: Path, tmp_path: Path) -> None:
    shutil.copytree(shared_traces / "serving/sglang_overlap/plugins", tmp_path / "plugins")
    trace = real_trace(tmp_path)
    (capture_file,) = tmp_path.rglob("*.xplane.pb")
    capture_file.unlink()
    assert set(find_iterations(trace).bucket) == {None}


def test_compiling_says_nothing_about_how_a_server_schedules() -> None:
    row = {
        "kind": "decode",
        "bucket": None,
        "count": 3,
        "wall_ps": {"mean": 100 * US},
        "bubble_ps": 90 * US,
        "bubble_by_part_ps": {"schedule": 6 * US, "launch": 4 * US, "compile": 80 * US},
    }
    assert serial_text("the device waits", row) == (
        "the device waits in 10.0 of 20.0\u202fµs of a decode iteration, mostly for scheduling"
    )
    assert serial_time_ps(row) == 10 * US


def test_after_the_first_launch_an_iteration_prepares_no_inputs() -> None:
    """Python for 20 us before the launch of an iteration, which takes 10, and for 50 us after it, in no annotation of
    its own."""
    tpu = Tpu()
    for start in range(0, 1200, 200):
        tpu.on_main("execute_model: 3 reqs, 3 toks", start, 80)
        tpu.launch(start + 20, (start + 22, 6), (start + 30, 20))
    report = iterations_report(tpu.trace())
    assert report is not None
    (row,) = report["kinds"]
    parts = [
        row["bubble_by_part_ps"].get(part, 0) + row["hidden_by_part_ps"].get(part, 0)
        for part in ("build", "other")
    ]
    assert parts == pytest.approx([20 * US, 50 * US], abs=10 * US)


@pytest.mark.parametrize(("programs", "is_told"), [(7, False), (8, True)])
def test_up_to_seven_programs_in_an_iteration_are_apart_for_a_reason(programs: int, is_told: bool) -> None:
    tpu = Tpu()
    for start in range(0, 1800, 300):
        tpu.on_main("execute_model: 3 reqs, 3 toks", start, 280)
        for number in range(programs):
            at = start + 30 * number
            tpu.launch(at, (at + 2, 6), (at + 9, 3), program=f"part{number}({number})")
    found = {finding.id for finding in find_findings(tpu.trace())}
    assert ("many_small_executions" in found) == is_told


def test_without_a_server_there_are_no_iterations() -> None:
    assert iterations_report(capture(thread("python", ("train", 0, 5, {"_r": 1})))) is None


@pytest.mark.parametrize(
    ("name", "kind", "note"),
    [
        ("sched_sync", "decode", "waits 60 %; 1.67 ms of work hidden, mostly launching"),
        ("sched_async", "decode", "waits 21 %; free until 3.85 ms of device time"),
        (
            "queue_empty",
            "prefill",
            "waits 19 %; 1.96 ms of work hidden, mostly launching; before, 168 ms without a request",
        ),
    ],
)
def test_a_kind_says_what_of_the_servers_work_is_hidden(
    name: str, kind: str, note: str, shared_traces: Path
) -> None:
    kinds, _ = serving(shared_traces / "serving" / name)
    report = iterations_report(real_trace(shared_traces / "serving" / name))
    assert report is not None
    assert kind_note(kinds[kind], report["scheduling"]).replace("\u202f", " ") == note


def test_a_serial_server_hides_nothing_but_waiting() -> None:
    report = iterations_report(served(DECODING))
    assert report is not None
    assert kind_note(report["kinds"][0], report["scheduling"]) == "waits 60\u202f%; no work hidden"


def test_what_happens_outside_of_iterations_does_not_count(shared_traces: Path) -> None:
    report = session_report(session(real_trace(shared_traces / "serving/queue_empty")))
    assert report["iterations"] is not None
    prefill = next(row for row in report["iterations"]["kinds"] if row["kind"] == "prefill")
    truth = json.loads((shared_traces / "serving/queue_empty/truth.json").read_text())
    queue_ms = truth["ledger"]["by_kind"]["prefill"]["bubble_ms"]["queue"]
    assert prefill["bubble_by_part_ps"]["no_requests"] / 1e9 == pytest.approx(queue_ms, rel=0.01)


def test_the_page_gets_each_iteration_and_the_templates(shared_traces: Path) -> None:
    view = SessionView(session(real_trace(shared_traces / "serving/queue_empty")))
    answer = iterations(view)
    check_answer(answer, "iterations")
    assert answer["count"] == len(answer["iterations"]["start_ps"]) == 69
    durations_ps = sum(row["count"] * row["wall_ps"]["mean"] for row in answer["kinds"])
    assert 0 <= sum(answer["iterations"]["wall_ps"]) - durations_ps < 69  # means are rounded down
    columns = answer["iterations"]
    empty = [
        answer["kinds"][at]["name"]
        for at, part in zip(columns["kind"], columns["part"], strict=True)
        if part == "no_requests"
    ]
    assert empty == ["prefill"] * 8
    assert "No request is there for 82 % of the time; in the rest, 77 % is work." in answer[
        "details"
    ].replace("\u202f", " ")
    assert answer["templates"] == []  # few enough texts to stay apart
    assert all(
        sum(row["exposed_ps"] for row in kind["parts"]) == kind["bubble_ps"] for kind in answer["kinds"]
    )


def test_the_page_gets_the_templates_with_the_ranges_of_their_numbers(shared_traces: Path) -> None:
    answer = iterations(SessionView(session(real_trace(shared_traces / "serving/sync"))))
    (row,) = answer["templates"]
    assert (row["name"], row["count"], row["texts"]) == ("execute_model: {} reqs, {} toks", 62, 28)
    assert row["slots"]["toks"] == {"min": 7, "median": 22, "max": 64}


def test_rows_of_one_kind_are_told_apart_by_their_annotation() -> None:
    names = ["execute_model: 3 reqs, 3 toks", "execute_model: 3 reqs, 3 toks, eagerly"] * 3
    answer = iterations(SessionView(session(served(names))))
    check_answer(answer, "iterations")
    decoding = {row["name"]: row["template"] for row in answer["kinds"] if row["kind"] == "decode"}
    assert decoding == {f"decode, {template}": template for template in decoding.values()}
    assert len(decoding) == 2
    shown = answer["iterations"]
    for name, at in zip(shown["name"], shown["kind"], strict=True):
        assert answer["kinds"][at]["template"].endswith("eagerly") == name.endswith("eagerly")


def test_a_session_without_a_server_has_an_empty_answer() -> None:
    answer = iterations(SessionView(session(capture(thread("python", ("train", 0, 5, {"_r": 1}))))))
    check_answer(answer, "iterations")
    assert (answer["headline"], answer["kinds"], answer["main"], answer["count"]) == ("", [], None, 0)
