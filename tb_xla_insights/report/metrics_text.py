"""What PyTorch/XLA and dynamo print about a run: metrics reports, `torch._dynamo.explain`, PT_XLA_DEBUG logs."""

from __future__ import annotations

import re
from typing import Any

from tb_xla_insights.analysis.beside import GraphBreaks, Metrics

_METRIC = re.compile(r"^Metric: (.+)$")
_COUNTER = re.compile(r"^Counter: (.+)$")
_FIELD = re.compile(r"^\s+(TotalSamples|Accumulator|Value): (.+?)\s*$")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(d|h|ms|us|ns|m|s)")
_PS = {
    "d": 86_400 * 10**12, "h": 3_600 * 10**12, "m": 60 * 10**12, "s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3,
}  # fmt: skip
_BYTES = re.compile(r"([\d.]+)([KMGTP]?)B")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def parse_metrics(text: str, file: str = "") -> Metrics | None:
    """A metrics report (`torch_xla.debug.metrics.metrics_report()`, or the short one); None where the text is
    none.

    Times become picoseconds, sizes bytes. The report rounds sizes to two decimals of a power of 1024. Lines
    it does not know are passed over, so that a report inside a log is read as well.
    """
    counters: dict[str, int] = {}
    metrics: dict[str, dict[str, Any]] = {}
    metric = counter = None
    for line in text.splitlines():
        if found := _METRIC.match(line):
            metric, counter = found[1].strip(), None
        elif found := _COUNTER.match(line):
            metric, counter = None, found[1].strip()
        elif found := _FIELD.match(line):
            what, value = found.groups()
            if counter is not None and what == "Value" and _NUMBER.fullmatch(value):
                counters[counter] = int(float(value))
            elif metric is not None and what == "TotalSamples" and value.isdigit():
                metrics.setdefault(metric, {"samples": 0, "total": None, "unit": None})["samples"] = int(
                    value
                )
            elif metric is not None and what == "Accumulator":
                entry = metrics.setdefault(metric, {"samples": 0, "total": None, "unit": None})
                entry["total"], entry["unit"] = _quantity(value)
    return Metrics(file, counters, metrics) if counters or metrics else None


def _quantity(text: str) -> tuple[float | int | None, str | None]:
    """The value and unit of what a metric has accumulated: `01s147ms508.595us`, `171.02KB`, `716.00`."""
    if found := _BYTES.fullmatch(text):
        return round(float(found[1]) * 1024 ** " KMGTP".index(found[2] or " ")), "bytes"
    if _NUMBER.fullmatch(text):
        return float(text), None
    parts = _TIME.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(round(float(number) * _PS[unit]) for number, unit in parts), "ps"
    return None, None


_EXPLAIN = re.compile(r"^Graph (Break )?Count: (\d+)\s*$", re.MULTILINE)
_REASON = re.compile(r"^\s*Break Reason \d+:\s*$")
_FRAME = re.compile(r"<FrameSummary file (.+), line (\d+) in (.+)>")


def parse_explain(text: str, file: str = "") -> GraphBreaks | None:
    """What `torch._dynamo.explain(f)(…)` prints; None where the text is none. Several in one file are added
    up."""
    counts = [(bool(found[1]), int(found[2])) for found in _EXPLAIN.finditer(text)]
    if not any(is_break for is_break, _ in counts):
        return None
    reasons: list[dict[str, str | None]] = []
    inside = False
    for line in text.splitlines():
        if _REASON.match(line):
            inside = True
            reasons.append({"reason": None, "place": None})
        elif line.startswith("Ops per Graph:"):
            inside = False
        elif inside and line.strip().startswith("Reason: ") and reasons[-1]["reason"] is None:
            reasons[-1]["reason"] = line.strip().removeprefix("Reason: ")
        elif inside and (frame := _FRAME.search(line)):  # the innermost frame is printed last
            reasons[-1]["place"] = f"{frame[1]}:{frame[2]} in {frame[3]}"
    return GraphBreaks(
        file, sum(n for is_break, n in counts if not is_break), sum(n for is_break, n in counts if is_break), reasons
    )  # fmt: skip


_ANALYSIS = "Compilation Analysis: "
_LIBRARY = re.compile(r"/(site|dist)-packages/(torch|torch_xla)/")


def parse_causes(text: str) -> dict[str, dict[str, str]]:
    """Cause and Python frame of each compilation in a PT_XLA_DEBUG log, by graph hash. The frame is the
    innermost one outside of torch and torch_xla, as `function (file:line)`. A graph's last compilation
    counts."""
    causes: dict[str, dict[str, str]] = {}
    part, hash_ = "", ""
    cause: list[str] = []
    frames: list[str] = []
    for line in text.splitlines():
        at = line.find(_ANALYSIS)
        if at < 0 or line[:at].endswith("Post "):
            continue
        said = line[at + len(_ANALYSIS) :]
        if said.startswith("====="):
            if hash_:
                users = [frame for frame in frames if not _LIBRARY.search(frame)]
                causes[hash_] = {"cause": "; ".join(cause), "frame": next(iter(users or frames), "")}
            part, cause, hash_, frames = "", [], "", []
        elif not said.startswith("  "):
            part = said.strip().rstrip(":")
        elif said.strip().startswith("Graph Hash: "):
            hash_ = said.strip().removeprefix("Graph Hash: ")
        elif part == "Compilation Cause":
            cause.append(said.strip())
        elif part.startswith("Python Frame"):
            frames.append(said.strip())
    return causes
