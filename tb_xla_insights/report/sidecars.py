"""Finds and reads the text files that lie beside a capture: in its session's directory, and at the run's root."""

from __future__ import annotations

import logging
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.sidecars import (
    DESCRIPTION_FILE,
    RECORD_FILE,
    DebugLogBlock,
    GraphBreaks,
    Guard,
    Metrics,
    Sidecars,
    UnparsedLine,
)
from tb_xla_insights.errors import InputError
from tb_xla_insights.escapes import escape_text
from tb_xla_insights.files.source import file_names, open_source
from tb_xla_insights.files.texts import MAX_TEXT_BYTES, decode_text
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.report.debug_text import DebugText

_log = logging.getLogger(__name__)
_ENDS = (".txt", ".log", ".out", ".err")
_MOST_FILES = 32
_LONGEST_DESCRIPTION = 300
_MOST_IN_ALL = 32_000_000
"""Of all files: a session opens without waiting for long logs in a bucket."""
_LONG_LINE = re.compile(r"(.{2000}).+")
"""No line that is understood is that long, and some patterns take a square of a line's length."""
_BEFORE = {"before", "start", "begin", "pre"}
_AFTER = {"after", "stop", "end", "post", "final"}


def read_sidecars(session: SessionTrace) -> Sidecars:
    """What lies beside a session's captures, read once. Nothing that goes wrong with these files is an error: they are
    not what the user asked for. It is told in `unread`.

    A file's content says what it is, whatever its name; names that begin with `metrics_report` and `dynamo_explain`
    come first, and of each kind the first file counts. A metrics report whose name has the word before (start, begin,
    pre) is the one from before the trace, if there is another one. Blocks of debug logs, and the guards that
    logs of torch.compile name, are collected from all. Only DESCRIPTION is known by its name.
    """
    store = vars(session)
    if "_beside" not in store:
        store["_beside"] = _read(session)
    found: Sidecars = store["_beside"]
    return found


def _read(session: SessionTrace) -> Sidecars:
    reports: list[Metrics] = []
    breaks: GraphBreaks | None = None
    guards: list[Guard] = []
    compilations: list[DebugLogBlock] = []
    executions: list[DebugLogBlock] = []
    advice: list[str] = []
    recorded: dict[str, Any] | None = None
    description: str | None = None
    files: list[str] = []
    unread: list[UnparsedLine] = []
    for name, text, cut in _texts(session, unread):
        if name == RECORD_FILE:
            from tb_xla_insights.report.record_text import parse_record  # few captures have one beside them

            told_of, damaged = parse_record(text, name)
            recorded = recorded or told_of
            unread += damaged
            continue
        if name == DESCRIPTION_FILE:
            description = description or _description(text)
            continue
        try:
            report, explained, log, failed = _parsed(_LONG_LINE.sub(r"\1…", text), name)
        except Exception as error:  # a fault of a parser ends no report
            _log.exception("%s cannot be read", escape_text(name))
            unread.append(UnparsedLine(name, 0, f"{type(error).__name__}, a fault of xla-insights"))
            continue
        told = [*(report.unread if report else ()), *(explained.unread if explained else ()), *log.unread]
        if report or explained or failed or log.compilations or log.executions or log.advice:
            files.append(name)
            unread += [
                *told,
                *([UnparsedLine(name, text.count("\n") + 1, "what follows is not read")] if cut else []),
            ]
        reports += [report] if report else []
        breaks = breaks or explained
        guards += failed
        compilations += log.compilations
        executions += log.executions
        advice += [it for it in log.advice if it not in advice]
    before, after = _pair(reports)
    return Sidecars(
        after, before, breaks, guards, compilations, executions, advice, recorded, files, unread, description
    )


def _parsed(text: str, name: str) -> tuple[Metrics | None, GraphBreaks | None, DebugText, list[Guard]]:
    """What a file's text is: any of them, or nothing that is known."""
    # Not above: most captures have no such files beside them.
    from tb_xla_insights.report.debug_text import parse_debug
    from tb_xla_insights.report.explain_text import parse_explain
    from tb_xla_insights.report.guards_text import parse_guards
    from tb_xla_insights.report.metrics_text import parse_metrics

    return (
        parse_metrics(text, name),
        parse_explain(text, name),
        parse_debug(text, name),
        parse_guards(text, name),
    )


def _pair(reports: list[Metrics]) -> tuple[Metrics | None, Metrics | None]:
    """The reports from before the trace and from its end. Of several processes' files, those of the same name but for
    the words that tell before from after."""
    early = [it for it in reports if _BEFORE & _words(it.file)]
    late = [it for it in reports if it not in early]
    if not late:
        return None, next(iter(early), None)
    late.sort(key=lambda it: not _AFTER & _words(it.file))
    names = {frozenset(_words(it.file) - _BEFORE): it for it in reversed(early)}
    same = names.get(frozenset(_words(late[0].file) - _AFTER))
    return same or (early[0] if len(early) == len(late) == 1 else None), late[0]


def _words(file: str) -> set[str]:
    return set(re.findall(r"[a-z]+|\d+", file.lower()))


def _description(text: str) -> str | None:
    """The first paragraph, in a line."""
    line = " ".join(text.strip().split("\n\n")[0].split())
    return f"{line[:_LONGEST_DESCRIPTION]}…" if len(line) > _LONGEST_DESCRIPTION else line or None


def _texts(session: SessionTrace, unread: list[UnparsedLine]) -> Iterator[tuple[str, str, bool]]:
    """Name and content of each file, and whether it goes on after what was read. Those that cannot be read go to
    `unread`."""
    left = _MOST_IN_ALL
    for directory in _directories(trace.path for trace in session.traces):
        with suppress(Exception):  # each file system raises its own kinds
            for name, text, cut in _in(directory, unread):
                yield name, text, cut
                left -= len(text)
                if left <= 0:
                    unread.append(UnparsedLine(name, 0, "files after it are not read: too much text in all"))
                    return


def sidecar_files(captures: Iterable[str]) -> Iterator[str]:
    """The paths of all texts that are read beside captures. Those where a folder cannot be listed are left out."""
    for directory in _directories(captures):
        with suppress(Exception):
            yield from (f"{directory}/{name}" for name in _names(directory))


def _directories(captures: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(place for path in captures if _is_place(path) for place in _places(path))


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


def _names(directory: str) -> list[str]:
    names = sorted((it for it in file_names(directory) if it.endswith(_ENDS) or it == RECORD_FILE), key=_rank)
    return names[:_MOST_FILES]


def _in(directory: str, unread: list[UnparsedLine]) -> Iterator[tuple[str, str, bool]]:
    for name in _names(directory):
        try:
            with open_source(f"{directory}/{name}") as source:
                content = source.read(0, MAX_TEXT_BYTES + 1).tobytes()
        except InputError as error:
            unread.append(UnparsedLine(name, 0, str(error).removeprefix(f"{directory}/{name}: ")))
            continue
        yield name, decode_text(content[:MAX_TEXT_BYTES], "replace"), len(content) > MAX_TEXT_BYTES


def _rank(name: str) -> tuple[bool, str]:
    return not name.startswith((DESCRIPTION_FILE, "metrics_report", "dynamo_explain")), name
