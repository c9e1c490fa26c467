"""The documents of gaps that the page shows: the list, one gap, and its sentence."""

from __future__ import annotations

from typing import Any

import pytest
from captures import Core, capture, session, thread
from launching import US, demo, event

from tb_xla_insights.analysis.idle.chains import HANDED_OVER
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.errors import InputError
from tb_xla_insights.report import gap_views
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.gap_text import gap_sentence, gaps_and_steps_text, patterns_with_kind
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.timeline import Timeline
from tb_xla_insights.trace.model import SessionTrace


@pytest.fixture(scope="module")
def case_study() -> SessionTrace:
    return session(demo("synthetic_case_study_8_tpu_cores"))


MS = 1000 * US
GAP_SENTENCES = [
    (False, "starved", {"wait": MS}, "Nothing was queued: the host waits (1.00 ms)."),
    (True, "starved", {"wait": MS}, "Nothing was queued: the host waits (1.00 ms)."),
    (
        False,
        "starved",
        {"input": 350 * US, "dispatch": 150 * US, "tracing": 400 * US, "wait": 100 * US},
        "Nothing was queued: the host traces and lowers (0.400 ms), waits for data (0.350 ms) and launches (0.150 ms).",
    ),
    (
        False,
        "starved",
        {"wait": 150 * US, "compile": 850 * US},
        "Nothing was queued: the host compiles (0.850 ms).",
    ),
    (
        True,
        "queued",
        {"wait": MS},
        "The device is idle while train runs: the program itself waits for something.",
    ),
    (
        False,
        "queued",
        {"wait": MS},
        (
            "train was queued before the gap began: the device waited for something else, a transfer, a collective "
            "or another core."
        ),
    ),
    (
        False,
        "starved",
        {"unrecorded": 600 * US, "dispatch": 400 * US},
        "Nothing was queued: the host launches (0.400 ms); the capture shows nothing of it for 0.600 ms.",
    ),
    (
        False,
        "starved",
        {"unrecorded": MS},
        "Nothing was queued: the capture shows nothing of the host for 1.00 ms.",
    ),
    (
        False,
        "unknown",
        {"wait": MS},
        "It is not known whether the device waited for the host: the host waits (1.00 ms).",
    ),
]


class TestSentences:
    @pytest.mark.parametrize(("inside", "kind", "by_class_ps", "sentence"), GAP_SENTENCES)
    def test_a_gap_in_one_sentence(
        self, inside: bool, kind: str, by_class_ps: dict[str, int], sentence: str
    ) -> None:
        gap = {
            "duration_ps": MS,
            "after": "train",
            "kind": kind,
            "inside_run": inside,
            "by_class_ps": by_class_ps,
        }
        assert gap_sentence(gap, "jax").replace("\u202f", " ") == sentence

    def test_a_gap_with_a_late_launch_states_the_time_of_the_launch(self) -> None:
        pieces = [("forward", "tracing", 400), (HANDED_OVER, "wait", 500), ("Execute", "dispatch", 100)]
        chain = [
            {"name": name, "class": class_, "thread": "executor", "start_ps": at * US, "duration_ps": us * US}
            for (name, class_, us), at in zip(pieces, (0, 400, 900), strict=True)
        ]
        gap = {"duration_ps": MS, "start_ps": 0, "after": "train", "kind": "starved", "chain": chain}
        # The driving thread worked on the next step in the meantime.
        sentence = gap_sentence(
            gap | {"by_class_ps": {"tracing": 900 * US, "dispatch": 100 * US}}, "torch_xla"
        )
        assert sentence.replace("\u202f", " ") == (
            "Nothing was queued: the host builds the graph (0.400 ms). train was handed over 0.400 ms into the gap, "
            "and taken up by executor 0.500 ms later."
        )


class TestGaps:
    def test_one_gap_of_several_cores_is_one_item(self, case_study: SessionTrace) -> None:
        view, report = gap_views.gaps(SessionView(case_study)), session_report(case_study)["gaps"]
        assert sum(entry["cores"] for entry in view["items"]) == len(report["items"]) == view["count"]
        longest = view["items"][0]
        assert (longest["cores"], len(set(longest["devices"])), longest["cause"]) == (8, 8, "compile")
        durations_by_gap = {
            (item["device"], item["start_ps"]): item["duration_ps"] for item in report["items"]
        }
        places = zip(longest["devices"], longest["starts_ps"], strict=True)
        assert [durations_by_gap[place] for place in places] == longest["durations_ps"]
        assert [entry["index"] for entry in view["items"]] == list(range(len(view["items"])))
        durations = [entry["duration_ps"] for entry in view["items"]]
        assert durations == sorted(durations, reverse=True)
        assert view["patterns"] == patterns_with_kind(report)

    def test_the_strip_has_the_cause_of_most_gap_time_per_bucket(self, case_study: SessionTrace) -> None:
        gaps = session_report(case_study, all_gaps=True)["gaps"]["items"]
        strip = gap_views.gaps(SessionView(case_study))["strip"]
        assert len(strip) == 8
        for row in strip[::7]:
            for bucket in range(1000):
                low, high = (case_study.duration_ps * at // 1000 for at in (bucket, bucket + 1))
                time = dict.fromkeys(CLASSES, 0)
                for gap in gaps:
                    if gap["device"] == row["id"]:
                        start, end = gap["start_ps"], gap["start_ps"] + gap["duration_ps"]
                        time[gap["cause"]] += max(0, min(end, high) - max(start, low))
                longest_class = max(CLASSES, key=lambda name: time[name])
                expected = f"{CLASSES.index(longest_class):x}" if time[longest_class] else "f"
                assert row["causes"][bucket] == expected

    def test_every_gap_has_a_document_whose_parts_add_up(self, case_study: SessionTrace) -> None:
        view = SessionView(case_study)
        document = gap_views.gaps(view)
        for item in document["items"]:
            for device in item["devices"][:1]:
                gap = gap_views.gap(view, device, item["start_ps"])
                assert sum(piece["duration_ps"] for piece in gap["chain"]) == gap["duration_ps"]
                assert sum(part["duration_ps"] for part in gap["by_thread"]) == gap["duration_ps"]
                assert gap["sentence"].endswith(".")
                assert gap["cores"] == item["cores"]
                pattern = document["patterns"][gap["pattern"]]
                assert [pattern[key] for key in ("before", "after")] == [gap["before"], gap["after"]]
                assert gap["occurrences"] == pattern["count"]

    def test_a_gap_states_whether_all_cores_of_the_host_were_idle(self, case_study: SessionTrace) -> None:
        """One core is idle from 20 to 60 us and from 100 to 140 us, the other from 40 to 140 us."""
        first = Core([("a", 0, 20 * US), ("b", 60 * US, 40 * US), ("c", 140 * US, 9 * US)])
        second = Core([("a", 0, 40 * US), ("b", 140 * US, 9 * US)], name="TPU:1")
        capture_session = session(capture(first, second))
        all_cores_idle_ps = {
            (gap_item["device"], gap_item["start_ps"] // US): gap_item["all_cores_idle_ps"]
            for gap_item in gap_views.gaps(SessionView(capture_session))["items"]
        }
        assert all_cores_idle_ps == {
            ("vm/TPU:0", 20): 20 * US,
            ("vm/TPU:0", 100): 40 * US,
            ("vm/TPU:1", 40): 60 * US,
        }
        shown_sentence = gap_views.gap(SessionView(capture_session), "vm/TPU:0", 20 * US)["sentence"].replace(
            "\u202f", " "
        )
        assert shown_sentence.endswith(
            " All cores of the host are idle for 20.0 µs of it; for the rest, some of them work."
        )
        assert (
            "are idle meanwhile."
            in gap_views.gap(SessionView(capture_session), "vm/TPU:0", 100 * US)["sentence"]
        )
        overlapping = session(
            capture(first, Core([("a", 0, 20 * US), ("b", 60 * US, 89 * US)], name="TPU:1"))
        )
        # The other core has the same gap: the page counts such gaps, so the sentence does not repeat it.
        assert "cores" not in gap_views.gap(SessionView(overlapping), "vm/TPU:0", 20 * US)["sentence"]
        busy_core = Core([("a", 0, 149 * US)], name="TPU:1")
        sentence = gap_views.gap(SessionView(session(capture(first, busy_core))), "vm/TPU:0", 20 * US)[
            "sentence"
        ]
        assert sentence.endswith(" At any time, at least one other core of the host works.")
        single = session(capture(first))
        assert {
            gap_item["all_cores_idle_ps"] for gap_item in gap_views.gaps(SessionView(single))["items"]
        } == {None}
        assert "cores" not in gap_views.gap(SessionView(single), "vm/TPU:0", 20 * US)["sentence"]
        for item in gap_views.gaps(SessionView(case_study))["items"]:
            assert len(item["all_cores_idle_by_device_ps"]) == item["cores"]

    def test_a_gap_has_a_place_among_those_of_its_device_and_its_row_leads_to_them(self) -> None:
        """Between the runs there are 2 ms, 20 µs and 3 ms: the short gap is neither counted nor visited."""
        runs = [(0, 1000), (3000, 4000), (4020, 5000), (8000, 9000)]
        core = Core(
            [event("fusion", start, end - start) for start, end in runs],
            [event("f(1)", start, end - start) for start, end in runs],
        )
        hosts = session(capture(thread("python", event("start", 0, 1), role="driving"), core))
        device, view = hosts.devices[0].id, SessionView(hosts)
        starts = [1000 * US, 4000 * US, 5000 * US]
        places = [gap_views.gap(view, device, start_ps) for start_ps in starts]
        assert [place["number"] for place in places] == [1, None, 2]
        assert {(place["counted"], place["counted_from_ps"]) for place in places} == {(2, MS)}
        timeline = Timeline(hosts)
        timeline.find_more_rows()
        row = next(row for row in timeline.rows()["rows"] if row["kind"] == "gaps")
        assert (row["device"], row["events"]) == (device, 3)

        def visited(skip_short: bool) -> list[int]:
            found, start_ps = [], 0
            while neighbour := timeline.neighbor(row["id"], 0, start_ps, "next", skip_short)["event"]:
                found.append(start_ps := neighbour["start_ps"])
            return found

        assert visited(skip_short=False) == starts
        assert visited(skip_short=True) == [starts[0], starts[2]]

    def test_on_a_device_without_long_gaps_all_are_counted(self) -> None:
        core = Core([event("fusion", start, 10) for start in (0, 30, 60)])
        hosts = session(capture(thread("python", event("start", 0, 1), role="driving"), core))
        place = gap_views.gap(SessionView(hosts), hosts.devices[0].id, 40 * US)
        assert (place["number"], place["counted"], place["counted_from_ps"]) == (2, 2, 10 * US)

    def test_an_unknown_gap_is_an_error(self, case_study: SessionTrace) -> None:
        with pytest.raises(InputError, match="no gap of x begins at 5"):
            gap_views.gap(SessionView(case_study), "x", 5)


@pytest.mark.parametrize(
    ("cause", "queued_ps", "kind"), [("wait", 31, "queued"), ("wait", 30, None), ("input", 31, None)]
)
def test_a_pattern_is_queued_if_most_time_of_its_cause_is(
    cause: str, queued_ps: int, kind: str | None
) -> None:
    pattern = {"cause": cause, "by_cause_ps": {"wait": 60, "input": 40}, "queued_ps": queued_ps}
    [row] = patterns_with_kind({"patterns": [pattern]})
    assert row["kind"] == kind


def test_gaps_are_related_to_steps() -> None:
    gaps: dict[str, Any] = {"total_ps": 50 * MS, "patterns": []}
    assert gaps_and_steps_text(gaps, None, has_straggler=False) == ""
    gaps["patterns"] = [
        {"total_ps": 1, "per_step_ps": 9 * MS},
        {"total_ps": 2, "per_step_ps": 4 * MS},
    ]
    inside: Any = {"idle_ps": 30 * MS, "edges_ps": 0}
    with_edges: Any = {"idle_ps": 30 * MS, "edges_ps": 10 * MS}
    texts = [
        gaps_and_steps_text(gaps, inside, has_straggler=False),
        gaps_and_steps_text(gaps, with_edges, has_straggler=True),
    ]
    head = "The pattern with most time takes 4.0 ms per step and core, over whole steps; "
    without, beside_late_host = (text.replace("\u202f", " ") for text in texts)
    assert without == (
        f"{head}without these gaps, a step is shorter by at most that. Overview counts whole steps: 30.0 ms of the "
        "50.0 ms of idle time here."
    )
    assert beside_late_host == (
        f"{head}the time that other hosts then wait in collectives counts as busy and is additional (see Hosts). "
        "Overview counts whole steps: 20.0 ms of the 50.0 ms of idle time here, and 10.0 ms before a core’s first or "
        "after its last run."
    )


def test_patterns_sum_up_their_gaps(case_study: SessionTrace) -> None:
    gaps = session_report(case_study, all_gaps=True)["gaps"]
    for pattern in gaps["patterns"]:
        members = [
            gap
            for gap in gaps["items"]
            if all(gap[name] == pattern[name] for name in ("before", "after", "inside_run"))
        ]
        durations = [gap["duration_ps"] for gap in members]
        assert (pattern["count"], pattern["total_ps"]) == (len(members), sum(durations))
        assert (pattern["min_ps"], pattern["max_ps"]) == (min(durations), max(durations))
        for name in CLASSES:
            assert pattern["by_class_ps"].get(name, 0) == sum(
                gap["by_class_ps"].get(name, 0) for gap in members
            )
