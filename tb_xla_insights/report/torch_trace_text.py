"""Parser of the structured logs that PyTorch writes if TORCH_TRACE is set (`dedicated_log_torch_trace_*.log`).

A record is a line that begins like a log line and continues with JSON; the lines of its payload begin with a tab:

    V1129 03:51:50.502000 12720 torch/_dynamo/guards.py:5400] {"artifact": {"name": "recompile_reasons", …}, …}
    →   0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6

A log has the sources of all graphs, so that it may be far larger than other sidecar files. It is read line by line; a
record of another kind costs a comparison, and its payload is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tb_xla_insights.analysis.graph_break import GraphBreak
from tb_xla_insights.analysis.sidecar_contents import UnparsedLine
from tb_xla_insights.analysis.torch_trace import LoggedBreak, LoggedGraph, Materialization, TorchTraceLog
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.files.texts import TextError, parse_json
from tb_xla_insights.report.guards_text import parse_reason

FILE_PREFIX = "dedicated_log_torch_trace_"
"""How PyTorch names these files."""

_HEAD = re.compile(rb"[A-Z]\d{4} \d\d:\d\d:\d\d\.\d{1,9} \d{1,20} [^\n]{1,400}?:\d{1,9}\] (?=\{)")
_RANK_IN_NAME = re.compile(r"_rank_(\d{1,9})_")
_KINDS = tuple(b'{"%s": ' % name for name in (b"artifact", b"compilation_metrics", b"dynamo_start", b"str"))
"""How the JSON of the records that are used begins, except _EVENT."""
_EVENT = b'{"chromium_event": '
_EAGER_ARTIFACT = b'{"artifact": {"name": "torchtpu_eager_'
_HASH = re.compile(rb', "has_payload": "[0-9a-f]{32}"\}\r?$')
_MAX_REPEATED = 1000
"""The different metadata of TorchTPU's graphs that are kept, so that each is parsed once."""
_MAX_LINE_BYTES = 1 << 20
"""A longer line is cut: the sources in payloads have no such lines, and metadata are a few kilobytes."""
_MAX_PAYLOAD_LINES = 200
"""The lines of a payload that are kept: reasons, hints and the user's stack come first."""
_MAX_TEXT_CHARS = 2000
_MAX_UNREAD = 20

_EAGER_EVENT = '{"name":"torchtpu_eager'
_EAGER_PREFIX = "torchtpu_eager/"
_MODULE = re.compile(r'module @(?:"([^"]+)"|([\w.$-]+))')
_BEFORE_PLACE = "    # "
_OPERATOR_PLACE = re.compile(r"(?P<file>\S.*):(?P<line>\d{1,9}) in (?P<function>\S+)")
_BREAK_PLACE = re.compile(r"Graph break in user code at (?P<file>.+):(?P<line>\d{1,9})$")
_BREAK_REASON = re.compile(r"(?:Graph Break )?Reason: (.*)")
_DETAIL = re.compile(r"\s*(Explanation|Hint): (.*\S)")
_STACK_FRAME = re.compile(r'\s*File "(.+)", line (\d{1,9}), in (\S+)')
_SKIPPED_FRAME = "cannot properly resume from this graph break"


def is_torch_trace(name: str, begin: bytes) -> bool:
    """Whether a file is such a log, by its name or its first line."""
    if name.startswith(FILE_PREFIX):
        return True
    line = begin[: begin.find(b"\n") + 1]
    if (head := _HEAD.match(line)) is None:
        return False
    try:
        return isinstance(parse_json(line[head.end() :]), dict)
    except TextError:
        return False


def parse_torch_trace(blocks: Iterable[bytes], file: str) -> tuple[TorchTraceLog, list[UnparsedLine]]:
    """Parses a log, given in blocks of any size. Returns also the lines that are damaged, at most the first few."""
    parser = _Parser(file)
    for line, is_whole in _lines(blocks):
        parser.add_line(line, is_whole)
    parser.end()
    return parser.log, parser.unread


def _lines(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The lines without their ends, and whether each is whole: the end of a very long line is left out, and the file
    may end inside of one."""
    rest = b""
    for block in blocks:
        *lines, last = block.split(b"\n")
        if not lines:
            rest += block[: _MAX_LINE_BYTES + 1 - len(rest)]
            continue
        for line in (rest + lines[0], *lines[1:]):
            yield line[:_MAX_LINE_BYTES], len(line) <= _MAX_LINE_BYTES
        rest = last
    if rest:
        yield rest[:_MAX_LINE_BYTES], False


class _Parser:
    """Reads lines. `_take` receives the lines of the current record's payload, `_close` is called after the last; both
    are None for a payload that is skipped."""

    def __init__(self, file: str) -> None:
        rank = _RANK_IN_NAME.search(file)
        self.log = TorchTraceLog(file, int(rank[1]) if rank else None)
        self.unread: list[UnparsedLine] = []
        self._number = 0
        self._take: Callable[[str], None] | None = None
        self._close: Callable[[], None] | None = None
        self._file_names: dict[int, str] = {}
        self._parsed: dict[bytes, dict[str, Any]] = {}
        self._times: tuple[str, int, int] | None = None
        """Name, start and duration of a materialisation whose artefacts follow."""
        self._graph: tuple[Materialization, Frame | None] | None = None
        """A materialisation whose program's text follows."""

    def add_line(self, line: bytes, is_whole: bool) -> None:
        self._number += 1
        if line.startswith(b"\t"):
            if self._take is not None:
                self._take(line[1 : 1 + _MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r"))
            if not is_whole and self._take is not None:
                self._tell("cut")
            return
        self._end_payload()
        head = _HEAD.match(line)
        if head is None:
            if line.strip():
                self._tell(line.decode("utf-8", "replace"))
            return
        if line.startswith(_EVENT, head.end()):
            self._take = self._take_event  # its metadata are empty
        elif line.startswith(_KINDS, head.end()):
            try:
                record = self._parse(line[head.end() :])
            except TextError as error:
                self._tell(f"{'cut' if not is_whole else error}: {line[:80].decode('utf-8', 'replace')}")
                return
            self._add_record(record)

    def _parse(self, text: bytes) -> dict[str, Any]:
        """The metadata of a record. Those of TorchTPU's graphs repeat, but for the hash of a payload that is not
        empty."""
        metadata = _HASH.sub(b"}", text) if text.startswith(_EAGER_ARTIFACT) else b""
        if (known := self._parsed.get(metadata)) is not None:
            return known
        record: dict[str, Any] = parse_json(text)
        if metadata and len(self._parsed) < _MAX_REPEATED:
            self._parsed[metadata] = record
        return record

    def end(self) -> None:
        self._end_payload()

    def _end_payload(self) -> None:
        close, self._take, self._close = self._close, None, None
        if close is not None:
            close()

    def _tell(self, text: str) -> None:
        if len(self.unread) < _MAX_UNREAD:
            self.unread.append(UnparsedLine(self.log.file, self._number, text))

    def _add_record(self, record: dict[str, Any]) -> None:
        if self.log.rank is None:
            self.log.rank = _whole(record.get("rank"))
        compile_id = _compile_id(record)
        if "str" in record:
            match record["str"]:
                case [str(name), int(number)]:
                    self._file_names[number] = name
        elif isinstance(metrics := record.get("compilation_metrics"), dict):
            self._add_metrics(metrics)
        elif isinstance(start := record.get("dynamo_start"), dict):
            self._add_start(start, compile_id)
        elif isinstance(artifact := record.get("artifact"), dict):
            self._add_artifact(artifact, compile_id)

    def _add_artifact(self, artifact: dict[str, Any], compile_id: str | None) -> None:
        match artifact.get("name"):
            case "torchtpu_eager_aten_graph":
                self._collect_operators(artifact)
            case "torchtpu_eager_stablehlo":
                materialized, self._graph = self._graph, None
                if materialized is not None:
                    row, frame = materialized
                    self._collect_program(
                        lambda program: LoggedGraph(program, row.reason, row.operator, frame)
                    )
            case "torchtpu_stablehlo_graph" if compile_id is not None:
                self._collect_program(lambda program: LoggedGraph(program, compile_id=compile_id))
            case "dynamo_graph_break_reason":
                self._collect(
                    lambda lines: self.log.breaks.append(LoggedBreak(parse_break(lines), compile_id))
                )
            case "recompile_reasons" if compile_id is not None:
                self._collect(lambda lines: self._add_reasons(compile_id, lines))

    def _collect(self, use: Callable[[list[str]], None]) -> None:
        """Collects the first lines of the payload for `use`."""
        lines: list[str] = []

        def take(line: str) -> None:
            if len(lines) < _MAX_PAYLOAD_LINES:
                lines.append(line[:_MAX_TEXT_CHARS])

        self._take, self._close = take, lambda: use(lines)

    def _collect_operators(self, artifact: dict[str, Any]) -> None:
        """The operators of a materialisation: the last one with a line of Python gives its place."""
        name = _text(artifact.get("op_name")) or ""
        event, self._times = self._times, None
        _, start_us, duration_us = event if event and event[0] == name else ("", 0, 0)
        row = Materialization(
            _text(artifact.get("reason")) or "unknown",
            name.removeprefix(_EAGER_PREFIX) if name.startswith(_EAGER_PREFIX) else "",
            start_us,
            duration_us,
            artifact.get("cache_hit") is False,
            artifact.get("compile_failed") is True,
        )
        self.log.materializations.add(row)
        frames: list[Frame] = []

        def take(line: str) -> None:
            _, mark, place = line[:_MAX_TEXT_CHARS].rpartition(_BEFORE_PLACE)
            if mark and (match := _OPERATOR_PLACE.fullmatch(place)):
                frames[:] = [Frame(match["function"], match["file"], int(match["line"]))]

        def close() -> None:
            self._graph = row, next(iter(frames), None)

        self._take, self._close = take, close

    def _collect_program(self, graph_of: Callable[[str], LoggedGraph]) -> None:
        """The name of the module in the payload, which is the name of its program in a capture."""
        names: list[str] = []

        def take(line: str) -> None:
            if not names and (match := _MODULE.match(line[:_MAX_TEXT_CHARS])):
                names.append(match[1] or match[2])

        self._take, self._close = take, lambda: self.log.graphs.extend(map(graph_of, names))

    def _take_event(self, line: str) -> None:
        """The first line of a timeline event; those of TorchTPU have only one."""
        self._take = None
        if not line.startswith(_EAGER_EVENT):
            return
        try:
            event = parse_json(line)
        except TextError as error:
            self._tell(f"{error}: {line[:80]}")
            return
        start_us, duration_us = _whole(event.get("ts")), _whole(event.get("dur"))
        if (name := _text(event.get("name"))) is not None and start_us is not None:
            self._times = name, start_us, duration_us or 0
            self._note_time(start_us)

    def _note_time(self, start_us: int) -> None:
        self.log.start_us = min(self.log.start_us or start_us, start_us)

    def _add_reasons(self, compile_id: str, lines: list[str]) -> None:
        """The guards that failed, as text or as a list of texts; the first belongs to the variant compiled last."""
        if lines[:1] == ["["] and len(lines) > 1:
            try:
                reason = _text(parse_json(lines[1].removesuffix(",")))
            except TextError:
                reason = lines[1].lstrip('"')
            lines = (reason or "").splitlines()
        if lines:
            compilation = self.log.compilation(compile_id)
            compilation.guard, compilation.source = parse_reason(lines[0])

    def _add_start(self, start: dict[str, Any], compile_id: str | None) -> None:
        """The function that is compiled: the innermost of a stack whose file names are numbers."""
        if compile_id is None:
            return
        compilation, stack = self.log.compilation(compile_id), start.get("stack")
        if isinstance(stack, list) and stack and isinstance(stack[-1], dict):
            file_name = self._file_names.get(_whole(stack[-1].get("filename")) or 0)
            line = _whole(stack[-1].get("line"))
            compilation.function = _text(stack[-1].get("name"))
            compilation.place = f"{file_name}:{line}" if file_name and line is not None else None

    def _add_metrics(self, metrics: dict[str, Any]) -> None:
        """Forward and backward of one compilation have metrics of their own."""
        if (compile_id := _text(metrics.get("compile_id"))) is None:
            return
        compilation = self.log.compilation(compile_id)
        if (function := _text(metrics.get("co_name"))) is not None:
            file_name, line = _text(metrics.get("co_filename")), _whole(metrics.get("co_firstlineno"))
            compilation.function = function
            compilation.place = f"{file_name}:{line}" if file_name and line is not None else None
        if (duration_us := _whole(metrics.get("duration_us"))) is not None:
            compilation.duration_us = (compilation.duration_us or 0) + duration_us
        if start_us := _whole(metrics.get("start_time_us")):
            compilation.start_us = min(compilation.start_us or start_us, start_us)
            self._note_time(start_us)


def parse_break(lines: list[str]) -> GraphBreak:
    """Parses the explanation of a graph break: its place, what torch.compile cannot compile there, and the function by
    the user's stack. The stack of torch.compile itself follows, and is not used."""
    found = GraphBreak()
    place: tuple[str, int] | None = None
    is_title_next = False
    for line in lines:
        if line.startswith("Traceback (most recent call last)"):
            break
        if match := _BREAK_PLACE.match(line):
            place = match["file"], int(match["line"])
        elif match := _BREAK_REASON.match(line):
            found.reason, is_title_next = match[1].strip() or None, True
        elif match := _DETAIL.match(line):
            is_title_next = False
            name = match[1].lower()
            setattr(found, name, getattr(found, name) or match[2])
        elif frame := _STACK_FRAME.match(line):
            is_title_next = False
            found.frame = Frame(frame[3], frame[1], int(frame[2]))  # the innermost comes last
        elif _SKIPPED_FRAME in line:
            found.reason = (
                "torch.compile cannot resume here, and runs the whole function without compiling it"
            )
        elif is_title_next and line.strip():
            # What cannot be compiled says more than the instruction at which it was found.
            found.reason, is_title_next = line.strip(), False
    if place is not None and (found.frame is None or (found.frame.file, found.frame.line) != place):
        found.frame = Frame("", *place)
    return found


def _compile_id(record: dict[str, Any]) -> str | None:
    """The id of a record's compilation, as PyTorch writes it: `0/1`, with compiled autograd `!2/0/1`."""
    frame, number = _whole(record.get("frame_id")), _whole(record.get("frame_compile_id"))
    if frame is None or number is None:
        return None
    autograd = _whole(record.get("compiled_autograd_id"))
    return f"{frame}/{number}" if autograd is None else f"!{autograd}/{frame}/{number}"


def _text(value: object) -> str | None:
    return value[:_MAX_TEXT_CHARS] if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    """A whole number that fits 63 bits and is not negative; floats are rounded down."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 2**63 else None
