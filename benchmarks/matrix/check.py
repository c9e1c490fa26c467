#!/usr/bin/env python3
"""Compare the report of every capture with the program's own measurements.

    python benchmarks/matrix/check.py OUT

OUT is the output of capture.py. Prints for each check the captures that fail it, with the reported and the true value.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tb_xla_insights as xi

Document = dict[str, Any]

STEP_SHARE, STEP_MS = 0.05, 0.3
"""The tolerance of a step's time, relative and absolute: the overhead of the annotation, the clock and the profiler."""

TOTAL_SHARE, TOTAL_MS = 0.05, 1.5
"""The tolerance for all steps together: the last wait for the device and the time before the first step belong to no
step."""

MISSED_STEPS = 2
"""How many mean steps may be missing from steps that are derived from a rhythm of runs: the last one, and the time
before the first run."""

LOADER_SHARE = 0.1
"""The tolerance of the class `input`, as a share of the loader's time."""

MIN_LOADER_MS = 100.0
"""The loader's time from which on it is compared with the class `input`."""


def framework(report: Document, truth: Document) -> Iterator[str]:
    reported = report["environment"]["framework"]
    if reported != truth["framework"]:
        yield f"{reported}, not {truth['framework']}"


def steps(report: Document, truth: Document) -> Iterator[str]:
    # Steps from a rhythm of runs lack the end of the last step.
    min_steps = truth["steps"] - (not truth["annotated"])
    if not min_steps <= len(report["steps"]) <= truth["steps"]:
        source = next((step["source"] for step in report["steps"]), "none")
        yield f"{len(report['steps'])} by {source}, not {truth['steps']}"


def step_times(report: Document, truth: Document) -> Iterator[str]:
    """Compares all steps together, and before that each step if the host waits for the device in it."""
    reported = report["steps"]
    if not reported:
        return
    if not truth["asynchronous"] and len(reported) == truth["steps"]:
        for index, (step, true_ms) in enumerate(zip(reported, truth["step_ms"], strict=True)):
            step_ms = step["duration_ps"] / 1e9
            if abs(step_ms - true_ms) > STEP_MS + STEP_SHARE * true_ms:
                yield f"step {index} takes {step_ms:.2f} ms, not {true_ms:.2f}"
                return
    total_ms = (reported[-1]["start_ps"] + reported[-1]["duration_ps"] - reported[0]["start_ps"]) / 1e9
    yield from compare_all_steps("from the first to the last step", total_ms, truth)


def sum_of_steps(report: Document, truth: Document) -> Iterator[str]:
    """Checks that steps follow one another without a pause: the time between two belongs to one of them, except that an
    evaluation may belong to none."""
    yield from compare_all_steps("sum", sum(step["duration_ps"] for step in report["steps"]) / 1e9, truth)


def compare_all_steps(label: str, reported_ms: float, truth: Document) -> Iterator[str]:
    """Compares a time of all steps together with the program's. Steps from a rhythm of runs lack MISSED_STEPS."""
    true_ms = truth["wall_ms"]
    allowed_ms = TOTAL_MS + TOTAL_SHARE * true_ms + truth["parts_ms"].get("evaluation", 0.0)
    if not truth["annotated"]:
        allowed_ms += MISSED_STEPS * true_ms / truth["steps"]
    if abs(reported_ms - true_ms) > allowed_ms:
        yield f"{label} {reported_ms:.1f} ms, not {true_ms:.1f}"


def whole_steps(report: Document, truth: Document) -> Iterator[str]:
    """Checks that no step is cut: the capture begins before the first and ends after the last."""
    if truth["annotated"] and any(row["id"] == "partial_steps" for row in report["diagnostics"]):
        yield "steps are reported as cut"


def compilations(report: Document, truth: Document) -> Iterator[str]:
    if len(report["compiles"]) != truth["compilations"]:
        yield f"{len(report['compiles'])}, not {truth['compilations']}"


def compiled_in(report: Document, truth: Document) -> Iterator[str]:
    """Checks which steps compile."""
    reported_steps = sorted({row["step"] for row in report["compiles"] if row["step"] is not None})
    true_steps = sorted(set(truth["compiled_in"]))
    if reported_steps != true_steps:
        yield f"in steps {reported_steps}, not {true_steps}"


def change(report: Document, truth: Document) -> Iterator[str]:
    """Checks the changes reported for recompiled graphs, from the second compilation on."""
    reported = Counter(row["change"] for row in report["compiles"][1:])
    if truth["change"] is not None and set(reported) != {truth["change"]}:
        yield f"{dict(reported)}, not {truth['change']}"


def devices(report: Document, truth: Document) -> Iterator[str]:
    if truth["devices"] not in (None, len(report["devices"])):
        yield f"{len(report['devices'])}, not {truth['devices']}"


def launches(report: Document, truth: Document) -> Iterator[str]:
    reported = sum(row["launches"] for row in report["executions"])
    if truth["launches"] is not None and reported != truth["launches"]:
        yield f"{reported}, not {truth['launches']}"


def collectives(report: Document, truth: Document) -> Iterator[str]:
    kinds = sorted({row["kind"] for row in report["collectives"]})
    has_ops = any(device["ops"] for device in report["devices"])  # JAX 0.6 records none on a CPU
    if (kinds or has_ops) and bool(kinds) != truth["collectives"]:
        yield f"{kinds or 'none'}, but there are {'some' if truth['collectives'] else 'none'}"


def finding(report: Document, truth: Document) -> Iterator[str]:
    reported = [row["id"] for row in report["findings"]]
    if truth["finding"] not in (None, *reported):
        yield f"no {truth['finding']} among {reported}"


def _own_work(truth: Document) -> set[str]:
    """The finding about the program's own Python."""
    return {"host_code"} if truth["parts_ms"].get("work") else set()


def first_finding(report: Document, truth: Document) -> Iterator[str]:
    reported = [row["id"] for row in report["findings"] if row["id"] not in _own_work(truth)]
    if truth["finding"] in reported[1:]:
        yield f"{truth['finding']} comes after {reported[: reported.index(truth['finding'])]}"


def false_mistakes(report: Document, truth: Document) -> Iterator[str]:
    """Checks that no mistake of at least warning severity is reported that the program does not make."""
    true_ids = {truth["finding"], *truth["besides"], *_own_work(truth)}
    for row in report["findings"]:
        if row["kind"] == "mistake" and row["severity"] != "info" and row["id"] not in true_ids:
            yield f"{row['id']} ({row['severity']}): {row['title']}"


def shares(report: Document, _truth: Document) -> Iterator[str]:
    """Checks that no share exceeds 100 %."""
    texts = [report["verdict"]["text"], *(row["detail"] for row in report["findings"])]
    for text in texts:
        if any(float(share) > 100 for share in re.findall(r"([\d.]+)\s%", text)):
            yield text


def loader(report: Document, truth: Document) -> Iterator[str]:
    """Compares the class `input` with the loader's time, if an annotation shows that the host loads."""
    is_loading_annotated = any(row["path"].endswith("next_batch") for row in report["annotations"])
    true_ms = truth["parts_ms"].get("queue", truth["parts_ms"].get("loader", 0.0))
    if is_loading_annotated and true_ms >= MIN_LOADER_MS:
        reported_ms = sum(step["host_ps"]["input"] for step in report["steps"]) / 1e9
        if abs(reported_ms - true_ms) > LOADER_SHARE * true_ms:
            yield f"{reported_ms:.1f} ms of input, not {true_ms:.1f}"


Check = Callable[[Document, Document], Iterator[str]]
CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        framework, steps, whole_steps, step_times, sum_of_steps, compilations, compiled_in, change, devices, launches,
        collectives, finding, first_finding, false_mistakes, shares, loader,
    )
}  # fmt: skip


def captures(out: Path) -> list[Path]:
    """The folders of captures that have a truth.json."""
    return sorted(file.parent for file in out.glob("*/*/truth.json"))


def read(folder: Path) -> tuple[Document, Document]:
    """The report and the truth of a capture."""
    return dict(xi.load(str(folder)).report()), json.loads((folder / "truth.json").read_text())


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: check.py OUT")
    out = Path(sys.argv[1])
    failures: defaultdict[str, list[str]] = defaultdict(list)
    checked_captures: Counter[str] = Counter()
    for folder in captures(out):
        label = folder.relative_to(out)
        report, truth = read(folder)
        for name, check in CHECKS.items():
            checked_captures[name] += 1
            failures[name] += [f"{label}: {failure}" for failure in check(report, truth)]
    for name, lines in failures.items():
        count = len({line.partition(":")[0] for line in lines})
        print(f"{name}: wrong in {count} of {checked_captures[name]} captures", *lines, sep="\n  ")


if __name__ == "__main__":
    main()
