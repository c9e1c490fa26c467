"""PT_XLA_DEBUG logs: why PyTorch/XLA compiled and executed each graph, and from which line of the program.

With level 1 every compilation is told in a block, with level 2 every execution as well:

    Compilation Analysis: ====…
    Compilation Analysis: Compilation Cause
    Compilation Analysis:   user mark_step
    Compilation Analysis: Graph Info:
    Compilation Analysis:   Graph Hash: 537d…
    Compilation Analysis: Python Frame Triggered Execution:
    Compilation Analysis:   mark_step (…/xla_model.py:840)
    Compilation Analysis: ----…
    Compilation Analysis: ====…
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from tb_xla_insights.analysis.sidecars import DebugLogBlock, UnparsedLine

_LINE = re.compile(r"(?P<before>.*?)(?P<post>Post )?(?P<kind>Compilation|Execution) Analysis: (?P<said>.*)")
_FRAME = re.compile(r"\S.* \(.+:\d+\)")
# Frames of torch itself, and of code that dynamo has generated.
_LIBRARY = re.compile(
    r"/(site|dist)-packages/(torch|torch_xla)/|/torch_xla/(core|debug|distributed|torch_xla\.py)|\(<"
)
_ADVICE = re.compile(r"\bpt-xla-profiler:(.*)")
_UNLOWERED = re.compile(r"FRAME \(count=(\d{1,18})\):")
_PARTS = ("cause", "graph", "frames")


@dataclass
class DebugText:
    """What one file says: compilations and executions in order, the profiler's own advice (of a metric that is taken
    too often the last one, of ops that are not lowered how often and where), and what is not understood."""

    compilations: list[DebugLogBlock] = field(default_factory=list)
    executions: list[DebugLogBlock] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    unread: list[UnparsedLine] = field(default_factory=list)


@dataclass
class _Open:
    """A block that is being read."""

    line: int
    part: str = ""
    graph: str | None = None
    cause: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)

    @property
    def begun(self) -> bool:
        return bool(self.part)


def parse_debug(text: str, file: str = "") -> DebugText:
    """Blocks and advice of a log, which may have anything else between its lines, and several processes' lines mixed
    where each begins its own (`[rank1]: …`)."""
    found = DebugText()
    blocks: dict[tuple[str, str], _Open] = {}
    advice = _Advice()
    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        if "pt-xla-profiler" in line and (told := _ADVICE.search(line)):
            advice.add(told[1].strip())
        said = _LINE.match(line) if " Analysis: " in line else None
        if said is None or said["post"]:
            continue
        # Times in what stands before a line differ from line to line; whose line it is does not.
        key = re.sub(r"\d{2,}", "", said["before"]), said["kind"]
        block = blocks.setdefault(key, _Open(number))
        if said["said"].startswith("===="):
            if block.begun:
                _close(found, file, said["kind"], block)
            blocks[key] = _Open(number)
        else:
            _add(block, said["said"])
    for (_, kind), block in blocks.items():
        if block.begun:
            _close(found, file, kind, block)
            found.unread.append(UnparsedLine(file, number, f"ends inside a block of {kind} Analysis"))
    found.advice = advice.texts
    return found


@dataclass
class _Advice:
    """The profiler's advice by what it is about. What is not lowered comes as a count, then a name or frames."""

    frequent: dict[str, str] = field(default_factory=dict)
    unlowered: Counter[str] = field(default_factory=Counter)
    times: int = 0

    def add(self, said: str) -> None:
        if counted := _UNLOWERED.match(said):
            self.times = int(counted[1])
        elif not said:
            self.times = 0
        elif self.times and said.startswith("Unlowered Op:"):
            self._take(f"op {said.partition(':')[2].strip()} is not lowered")
        elif self.times and _FRAME.fullmatch(said) and not _LIBRARY.search(said):
            self._take(f"ops are not lowered at {said}")
        elif "too frequent" in said:
            self.frequent[said.partition(" too frequent")[0]] = said
        elif "not lowered" in said:
            self.frequent[said] = said

    def _take(self, text: str) -> None:
        self.unlowered[text] += self.times
        self.times = 0

    @property
    def texts(self) -> list[str]:
        return [
            *self.frequent.values(),
            *(f"{text}, {times} times" for text, times in self.unlowered.items()),
        ]


def _add(block: _Open, said: str) -> None:
    if said.startswith("----"):
        return
    if not said.startswith("  "):
        head = said.strip().rstrip(":").lower()
        block.part = next((part for part in _PARTS if part.removesuffix("s") in head), head)
    elif said.strip().startswith("Graph Hash:"):
        block.graph = said.partition(":")[2].strip() or None
        block.part = block.part or "graph"
    elif block.part == "cause":
        block.cause.append(said.strip())
    elif block.part == "frames" and _FRAME.fullmatch(said.strip()):  # dots stand for frames that are left out
        block.frames.append(said.strip())


def _close(found: DebugText, file: str, kind: str, block: _Open) -> None:
    users = [frame for frame in block.frames if not _LIBRARY.search(frame)]
    made = DebugLogBlock(
        block.graph, "; ".join(block.cause) or None, tuple(users or block.frames), file, block.line
    )
    (found.compilations if kind == "Compilation" else found.executions).append(made)
    missing = [
        name
        for name, known in (("cause", made.cause), ("graph hash", made.graph), ("Python frame", made.frames))
        if not known
    ]
    if missing:
        found.unread.append(
            UnparsedLine(file, block.line, f"a block of {kind} Analysis without {' and '.join(missing)}")
        )
