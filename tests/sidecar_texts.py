"""Texts of sidecar files, and what a report says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tb_xla_insights as xi


def diagnostics(report: dict[str, Any], id_: str) -> list[str]:
    return [diagnostic["message"] for diagnostic in report["diagnostics"] if diagnostic["id"] == id_]


def report_of(run_folder: Path) -> Any:
    return xi.load(str(run_folder)).report()


def metrics_text(executions: int, compiles: int = 1, more: str = "") -> str:
    return (
        f"Metric: ExecuteTime\n  TotalSamples: {executions}\n  Accumulator: {executions:03}ms000.000us\n"
        f"Metric: CompileTime\n  TotalSamples: {compiles}\n  Accumulator: 01s000ms000.000us\n"
        f"Counter: UncachedCompile\n  Value: {compiles}\n{more}"
    )
