"""PT_XLA_DEBUG logs: why PyTorch/XLA compiled and executed each graph, and from which line of the program.

Level 1 logs a block per compilation, level 2 also one per execution:

    Compilation Analysis: ====…
    Compilation Analysis: Compilation Cause
    Compilation Analysis:   user mark_step
    Compilation Analysis: Graph Info:
    Compilation Analysis:   Graph Hash: 537d…
    Compilation Analysis: Python Frame Triggered Execution:
    Compilation Analysis:   mark_step (…/xla_model.py:840)
    Compilation Analysis: ----…
    Compilation Analysis: ====…

Blocks of `Post Compilation Analysis`, with sizes in the device's memory, are skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from tb_xla_insights.analysis.sidecar_contents import DebugLogBlock, UnparsedLine
from tb_xla_insights.text.english import join_words, plural

TIME_STAMP = re.compile(r"\d\d:\d\d:\d\d[\d.,]*|\d{10}[\d.]*")
"""In a prefix of log lines: a time of day, or the time since the epoch in seconds or smaller units."""

_LINE = re.compile(r"(?P<before>.*?)(?P<post>Post )?(?P<kind>Compilation|Execution) Analysis: (?P<text>.*)")
_FRAME = re.compile(r"(?>\S.*? \().+:\d+\)")
_LIBRARY = re.compile(
    r"/(site|dist)-packages/(torch|torch_xla)/|/torch_xla/(core|debug|distributed|torch_xla\.py)|\(<"
)
"""Frames of torch itself, and of code that dynamo generated."""

_ADVICE = re.compile(r"\bpt-xla-profiler:(.*)")
_UNLOWERED = re.compile(r"FRAME \(count=(\d{1,18})\):")
_SECTIONS = ("cause", "graph", "frames")
"""The sections of a block. A section's heading contains its name, without the final s."""


@dataclass
class DebugText:
    """The content of one file: compilations and executions in order, the profiler's own advice, and incomplete blocks
    (`unread`). `advice` has the last line on each metric that occurs too often; lines that list ops that are not
    lowered; and the name of each such op, or its frame, with the number of its occurrences."""

    compilations: list[DebugLogBlock] = field(default_factory=list)
    executions: list[DebugLogBlock] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    unread: list[UnparsedLine] = field(default_factory=list)


@dataclass
class _OpenBlock:
    """A block whose end has not been read yet."""

    line: int
    section: str = ""
    graph: str | None = None
    cause: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)

    @property
    def has_begun(self) -> bool:
        return bool(self.section)


def parse_debug(text: str, file: str = "") -> DebugText:
    """Parses the blocks and the advice of a log. The log may have any other lines between them, and lines of several
    processes may be mixed if each process has its own prefix (`[rank1]: …`)."""
    result = DebugText()
    blocks: dict[tuple[str, str], _OpenBlock] = {}
    advice = _Advice()
    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        if "pt-xla-profiler" in line and (advice_match := _ADVICE.search(line)):
            advice.add(TIME_STAMP.sub("", line[: advice_match.start()]), advice_match[1].strip())
        match = _LINE.match(line) if " Analysis: " in line else None
        if match is None or match["post"]:
            continue
        # Time stamps may differ from line to line; the rest of a prefix identifies the process.
        key = TIME_STAMP.sub("", match["before"]), match["kind"]
        block = blocks.setdefault(key, _OpenBlock(number))
        if match["text"].startswith("===="):
            if block.has_begun:
                _close_block(result, file, match["kind"], block)
            blocks[key] = _OpenBlock(number)
        else:
            _add_line(block, match["text"])
    for (_, kind), block in blocks.items():
        if block.has_begun:
            _close_block(result, file, kind, block)
            result.unread.append(UnparsedLine(file, number, f"ends inside a block of {kind} Analysis"))
    result.advice = advice.texts
    return result


@dataclass
class _Advice:
    """The profiler's advice by its subject. Advice on ops that are not lowered is a line with their count, then a line
    with the op's name or lines with frames."""

    lines: dict[str, str] = field(default_factory=dict)
    unlowered: Counter[str] = field(default_factory=Counter)
    pending_counts: dict[str, int] = field(default_factory=dict)
    """By prefix, the count whose op or frame has not been read yet."""

    def add(self, prefix: str, line: str) -> None:
        """Adds a line of the process that has this prefix."""
        is_pending = prefix in self.pending_counts
        if count := _UNLOWERED.match(line):
            self.pending_counts[prefix] = int(count[1])
        elif not line:
            self.pending_counts.pop(prefix, None)
        elif is_pending and line.startswith("Unlowered Op:"):
            self._add_unlowered(prefix, f"op {line.partition(':')[2].strip()} is not lowered")
        elif is_pending and _FRAME.fullmatch(line) and not _LIBRARY.search(line):
            self._add_unlowered(prefix, f"ops are not lowered at {line}")
        elif "too frequent" in line:
            self.lines[line.partition(" too frequent")[0]] = line
        elif "not lowered" in line:
            self.lines[line] = line

    def _add_unlowered(self, prefix: str, text: str) -> None:
        self.unlowered[text] += self.pending_counts.pop(prefix)

    @property
    def texts(self) -> list[str]:
        return [
            *self.lines.values(),
            *(f"{text}, {plural(count, 'time')}" for text, count in self.unlowered.items()),
        ]


def _add_line(block: _OpenBlock, text: str) -> None:
    if text.startswith("----"):
        return
    if not text.startswith("  "):
        head = text.strip().rstrip(":").lower()
        block.section = next((section for section in _SECTIONS if section.removesuffix("s") in head), head)
    elif text.strip().startswith("Graph Hash:"):
        block.graph = text.partition(":")[2].strip() or None
        block.section = block.section or "graph"
    elif block.section == "cause":
        block.cause.append(text.strip())
    elif block.section == "frames" and _FRAME.fullmatch(
        text.strip()
    ):  # a line of dots stands for omitted frames
        block.frames.append(text.strip())


def _close_block(result: DebugText, file: str, kind: str, open_block: _OpenBlock) -> None:
    user_frames = [frame for frame in open_block.frames if not _LIBRARY.search(frame)]
    frames = tuple(user_frames or open_block.frames)
    block = DebugLogBlock(
        open_block.graph, "; ".join(open_block.cause) or None, frames, file, open_block.line
    )
    (result.compilations if kind == "Compilation" else result.executions).append(block)
    missing = [
        name
        for name, value in (
            ("cause", block.cause),
            ("graph hash", block.graph),
            ("Python frame", block.frames),
        )
        if not value
    ]
    if missing:
        result.unread.append(
            UnparsedLine(file, open_block.line, f"a block of {kind} Analysis without {join_words(missing)}")
        )
