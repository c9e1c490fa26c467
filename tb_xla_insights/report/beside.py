"""Finds and reads the text files that lie beside a capture: in its session's directory, and at the run's
root."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tb_xla_insights.analysis.beside import Beside, GraphBreaks, Metrics
from tb_xla_insights.report.metrics_text import parse_causes, parse_explain, parse_metrics
from tb_xla_insights.trace.model import SessionTrace

_ENDS = (".txt", ".log", ".out", ".err")
_MOST_FILES = 32
_MOST_BYTES = 8_000_000
"""Of one file; a log that is longer is read up to here."""


def beside(session: SessionTrace) -> Beside:
    """What lies beside a session's captures, read once. Nothing that goes wrong with these files is an error:
    they are not what the user asked for.

    A file's content says what it is, whatever its name; names that begin with `metrics_report` and
    `dynamo_explain` come first, and of each kind the first file counts. Causes of compilations are collected
    from all.
    """
    store = vars(session)
    if "_beside" not in store:
        store["_beside"] = _read(session)
    found: Beside = store["_beside"]
    return found


def _read(session: SessionTrace) -> Beside:
    metrics: Metrics | None = None
    breaks: GraphBreaks | None = None
    causes: dict[str, dict[str, str]] = {}
    for name, text in _texts(session):
        metrics = metrics or parse_metrics(text, name)
        breaks = breaks or parse_explain(text, name)
        causes = {**parse_causes(text), **causes}
    return Beside(metrics, breaks, causes)


def _texts(session: SessionTrace) -> Iterator[tuple[str, str]]:
    directories = dict.fromkeys(
        place for trace in session.traces if _is_place(trace.path) for place in _places(trace.path)
    )
    for directory in directories:
        with suppress(Exception):  # each file system raises its own kinds
            yield from _in(directory)


def _is_place(path: str) -> bool:
    return "://" in path or os.path.exists(path)


def _places(path: str) -> list[str]:
    """The capture's directory; the run's root where the capture lies in `<run>/plugins/profile/<session>`."""
    path = path if "://" in path else os.path.abspath(path)
    directory = posixpath.dirname(path)
    profile = posixpath.dirname(directory)
    plugins = posixpath.dirname(profile)
    nested = (posixpath.basename(plugins), posixpath.basename(profile)) == ("plugins", "profile")
    return [directory, posixpath.dirname(plugins)] if nested else [directory]


def _in(directory: str) -> Iterator[tuple[str, str]]:
    import fsspec

    system, path = fsspec.core.url_to_fs(directory)
    files = [it for it in system.ls(path, detail=True) if it["type"] == "file" and it["name"].endswith(_ENDS)]
    names = sorted((it["name"] for it in files), key=_rank)
    for name in names[:_MOST_FILES]:
        with system.open(name, "rb") as file:
            yield posixpath.basename(name), file.read(_MOST_BYTES).decode("utf-8", "replace")


def _rank(name: str) -> tuple[bool, str]:
    base = posixpath.basename(name)
    return not base.startswith(("metrics_report", "dynamo_explain")), base


def metrics_document(found: Beside) -> dict[str, Any] | None:
    """The report's `metrics`: `file`, `counters`, `metrics`, `fallbacks`; with `dynamo` (`file`, `graphs`,
    `breaks`, `reasons`) where there is such a file. None where there is neither."""
    if found.metrics is None and found.breaks is None:
        return None
    document: dict[str, Any] = {"file": None, "counters": {}, "metrics": {}, "fallbacks": {}, "dynamo": None}
    if found.metrics is not None:
        document |= {
            "file": found.metrics.file,
            "counters": found.metrics.counters,
            "metrics": found.metrics.metrics,
            "fallbacks": found.metrics.fallbacks(),
        }
    if found.breaks is not None:
        document["dynamo"] = {
            "file": found.breaks.file,
            "graphs": found.breaks.graphs,
            "breaks": found.breaks.breaks,
            "reasons": found.breaks.reasons,
        }
    return document
