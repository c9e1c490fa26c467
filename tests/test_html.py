"""The report as a page in notebooks: well-formed, safe with any names, and with its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest
from captures import Core, capture, session, thread
from helpers import MS
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.html.cards import card
from tb_xla_insights.html.charts import steps_chart
from tb_xla_insights.html.page import DETAIL, report_html
from tb_xla_insights.report.document import session_report
from tb_xla_insights.sections import device_time, idle_time, recorded
from tb_xla_insights.sections.blocks import Detail, Section

DEMOS = sorted(path.name for path in LOGDIR.iterdir() if path.name.startswith(("synthetic_", "torch_xla_")))


class Page(HTMLParser):
    """A parsed page with balanced elements: its texts by element, its attributes, and the rows of its tables by
    heading."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.declared = ""
        self.texts: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.rows: dict[str, list[list[str]]] = {}
        self._title = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_decl(self, decl: str) -> None:
        self.declared = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag == "tr":
            self.rows.setdefault(self._title, []).append([])
        elif tag in ("td", "th"):
            self.rows[self._title][-1].append("")
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        self.texts.append((inside, data))
        if inside == "h2":
            self._title = data
        if {"td", "th"} & set(self.open):
            self.rows[self._title][-1][-1] += data

    def text(self) -> str:
        return plain(" ".join(data for inside, data in self.texts if inside not in ("style", "title")))


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


@cache
def page(demo: str, all_gaps: bool = False) -> tuple[Page, Any, str]:
    """The parsed page of a demo session, its report, and the page's text."""
    report = xi.load(str(LOGDIR / demo)).report(all_gaps)
    text = report_html(report)
    return Page(text), report, text


def card_of(make: Callable[[Any, Detail], Section | None], report: Any) -> str:
    """The card of one section."""
    section = make(report, DETAIL)
    assert section is not None
    return str(card(section))


@pytest.mark.parametrize("demo", DEMOS)
def test_every_demo_is_a_page_under_two_megabytes(demo: str) -> None:
    parser, report, text = page(demo)
    assert len(text.encode()) < 2_000_000
    assert report["session"]["name"] in parser.text()
    for finding in report["findings"]:
        assert plain(finding["title"]) in parser.text()
        assert plain(finding["advice"]) in parser.text()


def test_findings_are_grouped_with_their_gain() -> None:
    parser, report, _ = page("synthetic_case_study_8_tpu_cores")
    text = " ".join(parser.text().split())
    expected = [
        "Fix what your code can avoid together at best: mean 290.8 → 221.4 ms",
        "Pace what sets the pace; gains of each alone",
        "−30.3 % of a step 242.7 → 169.3 ms",
        "backward cannot be seen on the device no gain",
        "warning once SyncTensorsGraph.42210 is compiled in step 1209 −318.4 ms once mean step 290.8 → 259.0 ms",
    ]
    positions = [text.find(part) for part in expected]
    assert -1 not in positions
    assert positions == sorted(positions)
    titles = [text.index(plain(finding["title"])) for finding in report["findings"]]
    assert titles == sorted(titles)
    assert all(f"Do: {plain(finding['advice'])}" in text for finding in report["findings"])


def test_the_page_is_html_in_standards_mode() -> None:
    parser, _, _ = page("torch_xla_baseline")
    assert parser.declared == "doctype html"


def test_the_page_makes_no_request_and_runs_no_script() -> None:
    parser, _, text = page("synthetic_case_study_8_tpu_cores")
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'") in parser.attributes
    assert parser.tags.isdisjoint({"script", "link", "img", "iframe", "a", "form"})
    assert not [key for _, key, _ in parser.attributes if key.startswith("on") or key in ("src", "href")]
    style = "".join(data for inside, data in parser.texts if inside == "style")
    assert "@import" not in style
    assert re.findall(r"url\((?!#)", text) == []
    assert "prefers-color-scheme:dark" in style
    assert style.count("--c-tracing:") == 2


def test_idle_time_adds_up() -> None:
    parser, report, _ = page("synthetic_case_study_8_tpu_cores")
    head, *parts, whole = parser.rows["Idle time by cause"]
    assert head == ["What the host did", "Idle, ms", "Share", "All cores, ms"]
    for column, idle_ps in (
        (1, report["step_idle"]["idle_ps"]),
        (3, report["step_idle"]["all_cores"]["idle_ps"]),
    ):
        times = [int(re.sub(r"\D", "", row[column])) for row in parts]
        assert sum(times) == int(re.sub(r"\D", "", whole[column]))
        assert plain(whole[column]).replace(" ", "") == f"{idle_ps / 1e9:.3f}"


def test_device_work_is_shown_by_annotation_and_by_op() -> None:
    parser, report, _ = page("synthetic_transformer_2_tpu_cores")
    head, first, *_, total = parser.rows["Device work by annotation"]
    assert head[-2:] == ["HBM, of peak", "Bound by"]
    assert [plain(cell) for cell in (first[0], first[1], first[2], first[-1])] == [
        "Training_Step/layers/attention", "448.476", "38.0 %", "memory",
    ]  # fmt: skip
    _, *ops, total_row = parser.rows["Device work by op"]
    assert len(ops) == len(report["ops"])
    assert [*total[1:3], *total[4:]] == total_row[4:-1]  # without the time that does not compute
    assert "Peaks (TPU v6 Lite): 918.0 TFLOP/s and 1 638 GB/s, from the capture." in parser.text()


def test_all_steps_and_gaps_are_shown() -> None:
    parser, report, _ = page("synthetic_case_study_8_tpu_cores")
    assert [row[0] for row in parser.rows["Steps"][1:]] == [
        f"Training_Step {step['number']}" for step in report["steps"]
    ]
    gaps = [row for row in parser.rows["Gaps"] if row[0] != "Device"]
    assert [plain(row[2]) for row in gaps] == [
        f"{gap['duration_ps'] / 1e9:.3f}" for gap in report["gaps"]["items"]
    ]
    chains = parser.rows["Why the longest gaps ended"]
    sums = [float(plain(row[-1])) for row in chains if row[0] == "Sum"]
    assert sums[0] == pytest.approx(report["gaps"]["items"][0]["duration_ps"] / 1e9, abs=0.001)
    assert "72.143" in parser.text()


def test_the_page_has_the_gaps_of_the_document() -> None:
    ops = [(f"op.{number}", number * 30_000_000, 10_000_000) for number in range(1102)]
    traced = session(capture(thread("python", ("forward", 0, 40_000_000_000)), Core(ops)))
    limited, complete = (Page(report_html(session_report(traced, all_gaps))) for all_gaps in (False, True))
    assert "1 101 on all cores; the 1 000 longest" in limited.text()
    assert len([row for row in limited.rows["Gaps"] if row[0] != "Device"]) == 1000
    assert len([row for row in complete.rows["Gaps"] if row[0] != "Device"]) == 1101
    # No step identifies these gaps between the same programs, and yet they are different ones.
    assert sum(row[0] == "Sum" for row in complete.rows["Why the longest gaps ended"]) == 30


def test_tables_of_several_hosts_name_the_host() -> None:
    parser, report, _ = page("torch_xla_dynamic_shapes")
    pod = report | {"session": report["session"] | {"hosts": report["session"]["hosts"] * 2}}
    for title in ("Compilations", "Steps"):
        assert "Host" not in parser.rows[title][0]
        heads, first, *_ = Page(report_html(pod)).rows[title]
        assert first[heads.index("Host")] == "demo-host"


def test_names_are_escaped() -> None:
    name = '<script>alert("1")</script>&amp;<b onload=x>'
    events = (name, 0, 90, {"_r": 1, "step_num": 3}), ("StepMarker", 40, 20)
    trace = capture(thread("python", *events), Core([(name, 0, 10), (name, 50_000_000, 10)], [(name, 0, 10)]))
    traced = session(trace)
    parsed = Page(report_html(session_report(traced)))
    assert "script" not in parsed.tags
    assert "onload" not in {key for _, key, _ in parsed.attributes}
    assert name in parsed.text()


def test_an_empty_capture_has_a_page() -> None:
    traced = session(capture(thread("python", ("forward", 0, 10))))
    text = Page(report_html(session_report(traced))).text()
    assert "The capture shows no device's work" in text
    assert "No findings." in text


def test_a_bar_is_as_high_as_its_parts() -> None:
    def step(number: int, device: int, **host: int) -> dict[str, Any]:
        times = {name: ps * MS for name, ps in host.items()}
        whole = {"duration_ps": sum(times.values()), "device_busy_ps": device * MS, "host_ps": times}
        return {"index": 0, "number": number, **whole}

    steps = [step(1, 1, tracing=2, wait=1), step(2, 4, tracing=1)]
    svg = steps_chart(steps)
    heights = [float(match) for match in re.findall(r'<rect [^>]*height="([\d.]+)"', svg)]
    assert heights == pytest.approx([83, 41.5, 41.5], abs=0.02)  # 166 px represent the device's 4 ms
    lines = [float(match) for match in re.findall(r'y1="([\d.]+)" y2="[\d.]+" class="busy"', svg)]
    assert lines == pytest.approx([6 + 166 * 3 / 4, 6])


def test_the_names_of_steps_do_not_overlap() -> None:
    steps = [
        {"index": 0, "number": 10**6 + number, "duration_ps": 1, "device_busy_ps": 1, "host_ps": {}}
        for number in range(36)
    ]
    names = re.findall(r'<text x="([\d.]+)" [^>]*text-anchor="middle"', steps_chart(steps))
    assert float(names[1]) - float(names[0]) >= 44


def test_all_counters_are_counted_and_the_first_are_shown() -> None:
    report: Any = xi.load(str(LOGDIR / "torch_xla_baseline")).report()
    counters = {f"Counter{index}": index for index in range(350)}
    shown = Page(
        card_of(recorded.text_files, report | {"metrics": {**report["metrics"], "counters": counters}})
    )
    assert "the first 200 of 350 counters" in shown.text()
    assert (
        len([row for rows in shown.rows.values() for row in rows if row[0].startswith("Counter")]) == 1 + 200
    )


def test_graph_breaks_without_a_place_or_a_reason() -> None:
    report: Any = xi.load(str(LOGDIR / "torch_xla_dynamo_graph_break")).report()
    reasons = [{"reason": None, "place": "train.py:7 in step"}, {"reason": "Unsupported", "place": None}]
    dynamo = report["metrics"]["dynamo"] | {"reasons": reasons}
    shown = card_of(recorded.text_files, report | {"metrics": report["metrics"] | {"dynamo": dynamo}})
    assert '<p class="indented">no reason given at train.py:7 in step</p>' in shown
    assert '<p class="indented">Unsupported</p>' in shown


def test_a_table_that_leaves_rows_out_says_so() -> None:
    row = {
        "op": "all-reduce.1",
        "kind": "all-reduce",
        "count": 1,
        "duration_ps": 5,
        "exposed_ps": 5,
        "exposed_in_steps_ps": 0,
    }
    texts = [card_of(device_time.collectives, {"collectives": [row] * count}) for count in (200, 345)]
    assert ["; the 200 longest" in text for text in texts] == [False, True]


def test_patterns_that_are_left_out_are_counted() -> None:
    report = xi.load(str(LOGDIR / "torch_xla_baseline")).report()
    [pattern, *_] = report["gaps"]["patterns"]
    cards = [card_of(idle_time.patterns, {"gaps": {"patterns": [pattern] * count}}) for count in (200, 201)]
    assert ["; the first 200 of 201" in text for text in cards] == [False, True]
    assert [len(Page(text).rows["Recurring gaps"]) - 1 for text in cards] == [200, 200]


def test_sidecar_files_are_shown() -> None:
    parser, report, _ = page("torch_xla_dynamo_graph_break")
    assert "capture_scalar_outputs=False at /opt/xla-demo/train.py:73 in forward" in parser.text()
    counters = {name: value for rows in parser.rows.values() for name, value, *rest in rows if not rest}
    assert counters["UncachedCompile"] == str(report["metrics"]["counters"]["UncachedCompile"])
