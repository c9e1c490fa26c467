"""Finds and reads the sidecar files of captures: text files in the session's directory and at the run's root."""

from __future__ import annotations

import logging
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tb_xla_insights.analysis.sidecar_contents import (
    DESCRIPTION_FILE,
    RECORD_FILE,
    GraphBreaks,
    Guard,
    Metrics,
    Sidecars,
    UnparsedLine,
)
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import file_names, open_source
from tb_xla_insights.files.paths import absolute, decoded, is_web_address
from tb_xla_insights.files.texts import MAX_TEXT_BYTES, decode_text
from tb_xla_insights.text.escapes import escape_text
from tb_xla_insights.text.units import byte_size, count
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.analysis.torch_trace import TorchTraceLog
    from tb_xla_insights.files.source import Source
    from tb_xla_insights.report.debug_text import DebugText

_log = logging.getLogger(__name__)
_SUFFIXES = (".txt", ".log", ".out", ".err")
_MAX_FILES = 32
"""The most files that are read in a directory."""
_MAX_DESCRIPTION_CHARS = 300
_MAX_TOTAL_CHARS = 32_000_000
"""The limit over all files, so that a session opens without waiting for long logs in a bucket."""
_MAX_TRACE_BYTES = 128_000_000
"""The limit over all logs of TORCH_TRACE, which are parsed without being kept."""
_BLOCK_BYTES = 1 << 20
_LONG_LINE = re.compile(r"(.{2000}).+")
"""No line in a known format is that long, and some patterns take time quadratic in a line's length."""
_WORDS_BEFORE = {"before", "start", "begin", "pre"}
_WORDS_AFTER = {"after", "stop", "end", "post", "final"}


class _TextFile(NamedTuple):
    """The name and the text of a file; `is_cut` if the text ends at the size limit. A log of TORCH_TRACE is parsed
    while it is read, and its text is empty."""

    name: str
    text: str
    is_cut: bool
    torch_trace: TorchTraceLog | None = None


def read_sidecars(trace: Trace) -> Sidecars:
    """Reads the sidecar files of a capture, once per trace. Problems with these files are no errors, since
    the user did not ask for them; they are reported in `unread`.

    A file's format is found by its content, whatever its name; only DESCRIPTION_FILE and RECORD_FILE are found by name.
    Names that begin with `metrics_report` and `dynamo_explain` come first, and the first file of each format counts. If
    there are several metrics reports, one whose name has the word before (start, begin, pre) is from before the trace.
    Blocks of debug logs, and the guards in logs of torch.compile, are collected from all files, logs of TORCH_TRACE one
    by one."""
    cache = vars(trace)
    if "_sidecars" not in cache:
        cache["_sidecars"] = _read(trace.path)
    sidecars: Sidecars = cache["_sidecars"]
    return sidecars


def _read(capture: str) -> Sidecars:
    contents: list[_Contents] = []
    torch_traces: list[TorchTraceLog] = []
    recorded: dict[str, Any] | None = None
    description: str | None = None
    files: list[str] = []
    unread: list[UnparsedLine] = []
    for file in _text_files(capture, unread):
        if file.name == RECORD_FILE:
            from tb_xla_insights.report.record_text import parse_record  # few captures have this file

            values, unread_values = parse_record(file.text, file.name)
            recorded = recorded or values
            unread += unread_values
        elif file.torch_trace is not None:
            files.append(file.name)
            torch_traces.append(file.torch_trace)
        elif file.name == DESCRIPTION_FILE:
            description = description or _description(file.text)
        elif content := _parse(file, unread):
            files.append(file.name)
            contents.append(content)
    before, after = _pair_reports([content.report for content in contents if content.report])
    return Sidecars(
        metrics=after,
        before=before,
        breaks=next((content.breaks for content in contents if content.breaks), None),
        guards=[guard for content in contents for guard in content.guards],
        compilations=[block for content in contents for block in content.log.compilations],
        executions=[block for content in contents for block in content.log.executions],
        advice=[*dict.fromkeys(line for content in contents for line in content.log.advice)],
        torch_traces=torch_traces,
        recorded=recorded,
        files=files,
        unread=unread,
        description=description,
    )


class _Contents(NamedTuple):
    """The contents of one file in each of the formats; several may apply."""

    report: Metrics | None
    breaks: GraphBreaks | None
    log: DebugText
    guards: list[Guard]


def _parse(file: _TextFile, unread: list[UnparsedLine]) -> _Contents | None:
    """Parses a file; None if no format applies. Adds the lines that are not understood to `unread`."""
    # Imported here because most captures have no such files.
    from tb_xla_insights.report.debug_text import parse_debug
    from tb_xla_insights.report.explain_text import parse_explain
    from tb_xla_insights.report.guards_text import parse_guards
    from tb_xla_insights.report.metrics_text import parse_metrics

    name, text = file.name, _LONG_LINE.sub(r"\1…", file.text)
    try:
        report, breaks = parse_metrics(text, name), parse_explain(text, name)
        log, guards = parse_debug(text, name), parse_guards(text, name)
    except Exception as error:  # a fault in a parser must not prevent the report
        _log.exception("%s cannot be read", escape_text(name))
        unread.append(UnparsedLine(name, 0, f"{type(error).__name__}, a fault of xla-insights"))
        return None
    if not (report or breaks or guards or log.compilations or log.executions or log.advice):
        return None
    unread += [*(report.unread if report else ()), *(breaks.unread if breaks else ()), *log.unread]
    if file.is_cut:
        unread.append(UnparsedLine(name, 0, f"only its first {byte_size(MAX_TEXT_BYTES)} are read"))
    return _Contents(report, breaks, log, guards)


def _pair_reports(reports: list[Metrics]) -> tuple[Metrics | None, Metrics | None]:
    """The metrics reports from before the trace and from its end. Of several processes' files, a pair whose names are
    equal except for the words that mean before and after. If all names mean before, the first is taken for the end."""
    before = [report for report in reports if not _WORDS_BEFORE.isdisjoint(_words(report.file))]
    after = [report for report in reports if report not in before]
    if not after:
        return None, next(iter(before), None)
    after.sort(key=lambda report: _WORDS_AFTER.isdisjoint(_words(report.file)))
    before_by_words = {_words_without(report.file, _WORDS_BEFORE): report for report in reversed(before)}
    partner = before_by_words.get(_words_without(after[0].file, _WORDS_AFTER))
    return partner or (before[0] if len(before) == len(after) == 1 else None), after[0]


def _words(file: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+", file.lower())


def _words_without(file: str, left_out: set[str]) -> tuple[str, ...]:
    return tuple(word for word in _words(file) if word not in left_out)


def _description(text: str) -> str | None:
    """The first paragraph, as one line."""
    line = " ".join(re.split(r"\n\s*\n", text.strip())[0].split())
    return f"{line[:_MAX_DESCRIPTION_CHARS]}…" if len(line) > _MAX_DESCRIPTION_CHARS else line or None


def _text_files(capture: str, unread: list[UnparsedLine]) -> Iterator[_TextFile]:
    """Iterates over the files of all directories. Adds those that cannot be read to `unread`."""
    remaining, last_name = _MAX_TOTAL_CHARS, ""
    read_trace = _TraceReader(_MAX_TRACE_BYTES, unread)
    for directory in _directories([capture]):
        with suppress(Exception):  # each file system raises its own exceptions
            for file in _read_directory(directory, read_trace, unread):
                if remaining <= 0:
                    reason = f"text files after {last_name} are not used, as all together are too long"
                    unread.append(UnparsedLine(directory, 0, reason))
                    return
                yield file
                remaining -= len(file.text)
                last_name = file.name


def sidecar_files(captures: Iterable[str]) -> Iterator[str]:
    """Iterates over the paths of all files that are read beside captures, except in directories that cannot be
    listed."""
    for directory in _directories(captures):
        with suppress(Exception):
            yield from (f"{directory}/{name}" for name in _file_names(directory)[:_MAX_FILES])


def _directories(captures: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(
        directory for path in captures if _is_path(path) for directory in _directories_of(path)
    )


def _is_path(path: str) -> bool:
    """Whether a capture's path is a URL or an existing path. A capture from memory has a label in place of a path."""
    return "://" in path or os.path.exists(path)


def _directories_of(path: str) -> list[str]:
    """The capture's directory, and the run's root if the capture is in `<run>/plugins/profile/<session>`."""
    path = path.partition("?")[0] if is_web_address(path) else absolute(path)
    directory = posixpath.dirname(path.replace(os.sep, "/"))
    profile = posixpath.dirname(directory)
    plugins = posixpath.dirname(profile)
    nested = (posixpath.basename(plugins), posixpath.basename(profile)) == ("plugins", "profile")
    return [directory, posixpath.dirname(plugins)] if nested else [directory]


@dataclass
class _TraceReader:
    """Reads logs of TORCH_TRACE up to a number of bytes in all. Adds damaged lines, and what is left out, to
    `unread`."""

    remaining_bytes: int
    unread: list[UnparsedLine]

    def __call__(self, source: Source, name: str, begin: bytes) -> TorchTraceLog | None:
        """The contents of such a log; None if the file is none, as its name and its beginning tell."""
        # Imported here because most captures have no text files.
        from tb_xla_insights.report.torch_trace_text import is_torch_trace, parse_torch_trace

        if not is_torch_trace(name, begin):
            return None
        end = min(source.size, self.remaining_bytes)
        self.remaining_bytes -= end
        blocks = (
            source.read(offset, min(_BLOCK_BYTES, end - offset)).tobytes()
            for offset in range(0, end, _BLOCK_BYTES)
        )
        log, damaged = parse_torch_trace(blocks, name)
        self.unread += damaged
        if source.size > end:
            self.unread.append(UnparsedLine(name, 0, f"only its first {byte_size(end)} are read"))
        return log


def _file_names(directory: str) -> list[str]:
    names = (name for name in file_names(directory) if name.endswith(_SUFFIXES) or name == RECORD_FILE)
    return sorted(names, key=_sort_key)


def _read_directory(
    directory: str, read_trace: _TraceReader, unread: list[UnparsedLine]
) -> Iterator[_TextFile]:
    names = _file_names(directory)
    if len(names) > _MAX_FILES:
        reason = f"the first {_MAX_FILES} of {count(len(names))} text files are read"
        unread.append(UnparsedLine(directory, 0, reason))
    for name in names[:_MAX_FILES]:
        shown_name = posixpath.basename(decoded(f"{directory}/{name}"))
        try:
            with open_source(f"{directory}/{name}") as source:
                begin = source.read(0, _BLOCK_BYTES).tobytes()
                if log := read_trace(source, shown_name, begin):
                    yield _TextFile(shown_name, "", is_cut=False, torch_trace=log)
                    continue
                content = begin + source.read(len(begin), MAX_TEXT_BYTES + 1 - len(begin)).tobytes()
        except InputError as error:
            unread.append(UnparsedLine(shown_name, 0, str(error).removeprefix(f"{directory}/{name}: ")))
            continue
        text = decode_text(content[:MAX_TEXT_BYTES], "replace")
        yield _TextFile(shown_name, text, is_cut=len(content) > MAX_TEXT_BYTES)


def _sort_key(name: str) -> tuple[bool, str]:
    return not name.startswith((DESCRIPTION_FILE, RECORD_FILE, "metrics_report", "dynamo_explain")), name
