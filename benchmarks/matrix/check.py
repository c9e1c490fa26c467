#!/usr/bin/env python3
"""Hold the report of every capture against what the program knew of itself.

    python benchmarks/matrix/check.py OUT

OUT is what capture.py wrote. Prints per check the captures that fail it, with what the report says and what is true.
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
"""How far a step's time may be from the program's own clock: what the annotation and the clock themselves take, and
the profiler's own work between the two."""

TOTAL_SHARE, TOTAL_MS = 0.05, 1.5
"""The same for all steps together; the last wait for the device, and what comes before the first step, is no step's."""

MISSED_STEPS = 2
"""How many mean steps a rhythm of runs may lack: the last one, and what the host does before the first run."""

LOADER_SHARE = 0.1
LEAST_LOADER_MS = 100.0
"""From where on the loader's time is held against the class `input`."""


def framework(report: Document, truth: Document) -> Iterator[str]:
    told = report["environment"]["framework"]
    if told != truth["framework"]:
        yield f"{told}, not {truth['framework']}"


def steps(report: Document, truth: Document) -> Iterator[str]:
    fewest = truth["steps"] - (not truth["annotated"])  # a rhythm lacks the end of the last one
    if not fewest <= len(report["steps"]) <= truth["steps"]:
        source = next((step["source"] for step in report["steps"]), "none")
        yield f"{len(report['steps'])} by {source}, not {truth['steps']}"


def step_times(report: Document, truth: Document) -> Iterator[str]:
    """Each step where the host waits for the device in it, else all together."""
    told = report["steps"]
    if not told:
        return
    if not truth["asynchronous"] and len(told) == truth["steps"]:
        for index, (step, true_ms) in enumerate(zip(told, truth["step_ms"], strict=True)):
            step_ms = step["duration_ps"] / 1e9
            if abs(step_ms - true_ms) > STEP_MS + STEP_SHARE * true_ms:
                yield f"step {index} takes {step_ms:.2f} ms, not {true_ms:.2f}"
                return
    whole_ms = (told[-1]["start_ps"] + told[-1]["duration_ps"] - told[0]["start_ps"]) / 1e9
    yield from of_all_steps("from the first to the last step", whole_ms, truth)


def sum_of_steps(report: Document, truth: Document) -> Iterator[str]:
    """Steps follow one another without a pause: what lies between two belongs to one of them, but an evaluation may
    as well be none's."""
    yield from of_all_steps("sum", sum(step["duration_ps"] for step in report["steps"]) / 1e9, truth)


def of_all_steps(what: str, told_ms: float, truth: Document) -> Iterator[str]:
    """Holds a time of all steps together against the program's. A rhythm is that of the device, and lacks a step."""
    true_ms = truth["wall_ms"]
    allowed_ms = TOTAL_MS + TOTAL_SHARE * true_ms + truth["parts_ms"].get("evaluation", 0.0)
    if not truth["annotated"]:
        allowed_ms += MISSED_STEPS * true_ms / truth["steps"]
    if abs(told_ms - true_ms) > allowed_ms:
        yield f"{what} {told_ms:.1f} ms, not {true_ms:.1f}"


def whole_steps(report: Document, truth: Document) -> Iterator[str]:
    """No step is cut: the capture begins before the first and ends after the last."""
    if truth["annotated"] and any(row["id"] == "partial_steps" for row in report["diagnostics"]):
        yield "steps are said to be cut"


def compilations(report: Document, truth: Document) -> Iterator[str]:
    if len(report["compiles"]) != truth["compilations"]:
        yield f"{len(report['compiles'])}, not {truth['compilations']}"


def compiled_in(report: Document, truth: Document) -> Iterator[str]:
    """The steps that compile."""
    told = sorted({row["step"] for row in report["compiles"] if row["step"] is not None})
    true = sorted(set(truth["compiled_in"]))
    if told != true:
        yield f"in steps {told}, not {true}"


def change(report: Document, truth: Document) -> Iterator[str]:
    """What is new in what is compiled again, once there is something to hold it against."""
    told = Counter(row["change"] for row in report["compiles"][1:])
    if truth["change"] is not None and set(told) != {truth["change"]}:
        yield f"{dict(told)}, not {truth['change']}"


def devices(report: Document, truth: Document) -> Iterator[str]:
    if truth["devices"] not in (None, len(report["devices"])):
        yield f"{len(report['devices'])}, not {truth['devices']}"


def launches(report: Document, truth: Document) -> Iterator[str]:
    told = sum(row["launches"] for row in report["executions"])
    if truth["launches"] is not None and told != truth["launches"]:
        yield f"{told}, not {truth['launches']}"


def collectives(report: Document, truth: Document) -> Iterator[str]:
    kinds = sorted({row["kind"] for row in report["collectives"]})
    recorded = any(device["ops"] for device in report["devices"])  # JAX 0.6 records no ops on a CPU
    if (kinds or recorded) and bool(kinds) != truth["collectives"]:
        yield f"{kinds or 'none'}, but there are {'some' if truth['collectives'] else 'none'}"


def finding(report: Document, truth: Document) -> Iterator[str]:
    told = [row["id"] for row in report["findings"]]
    if truth["finding"] not in (None, *told):
        yield f"no {truth['finding']} among {told}"


def first_finding(report: Document, truth: Document) -> Iterator[str]:
    told = [row["id"] for row in report["findings"]]
    if truth["finding"] in told[1:]:
        yield f"{truth['finding']} comes after {told[: told.index(truth['finding'])]}"


def false_mistakes(report: Document, truth: Document) -> Iterator[str]:
    """Mistakes worth a warning that nobody made."""
    true = (truth["finding"], *truth["besides"])
    for row in report["findings"]:
        if row["kind"] == "mistake" and row["severity"] != "info" and row["id"] not in true:
            yield f"{row['id']} ({row['severity']}): {row['title']}"


def shares(report: Document, _truth: Document) -> Iterator[str]:
    """Nothing is more than the whole."""
    texts = [report["verdict"]["text"], *(row["detail"] for row in report["findings"])]
    for text in texts:
        if any(float(share) > 100 for share in re.findall(r"([\d.]+)\s%", text)):
            yield text


def loader(report: Document, truth: Document) -> Iterator[str]:
    """The class `input`, where an annotation tells that the host loads."""
    loads = any(row["path"].endswith("next_batch") for row in report["annotations"])
    true_ms = truth["parts_ms"].get("queue", truth["parts_ms"].get("loader", 0.0))
    if loads and true_ms >= LEAST_LOADER_MS:
        told_ms = sum(step["host_ps"]["input"] for step in report["steps"]) / 1e9
        if abs(told_ms - true_ms) > LOADER_SHARE * true_ms:
            yield f"{told_ms:.1f} ms of input, not {true_ms:.1f}"


Check = Callable[[Document, Document], Iterator[str]]
CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        framework, steps, whole_steps, step_times, sum_of_steps, compilations, compiled_in, change, devices, launches,
        collectives, finding, first_finding, false_mistakes, shares, loader,
    )
}  # fmt: skip


def captures(out: Path) -> list[Path]:
    """The folders of captures with their truth."""
    return sorted(file.parent for file in out.glob("*/*/truth.json"))


def read(folder: Path) -> tuple[Document, Document]:
    """Report and truth of a capture."""
    return dict(xi.load(str(folder)).report()), json.loads((folder / "truth.json").read_text())


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: check.py OUT")
    out = Path(sys.argv[1])
    failed: defaultdict[str, list[str]] = defaultdict(list)
    tried: Counter[str] = Counter()
    for folder in captures(out):
        place = folder.relative_to(out)
        report, truth = read(folder)
        for name, check in CHECKS.items():
            tried[name] += 1
            failed[name] += [f"{place}: {wrong}" for wrong in check(report, truth)]
    for name, lines in failed.items():
        wrong = len({line.partition(":")[0] for line in lines})
        print(f"{name}: wrong in {wrong} of {tried[name]} captures", *lines, sep="\n  ")


if __name__ == "__main__":
    main()
