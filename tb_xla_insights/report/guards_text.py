"""Parser of torch.compile's log: the guards whose failure made it recompile a function, and whether it reached the
recompilation limit.

The warning at the limit is always logged; TORCH_LOGS="recompiles" adds a block per recompilation:

    W1121 00:05:02.826000 … [1/8] torch._dynamo hit config.recompile_limit (8)
    W1121 00:05:02.826000 … [1/8]    function: 'forward' (/train.py:73)
    W1121 00:05:02.826000 … [1/8]    last reason: 1/7: self.scale == 1.5      # x * self.scale  # train.py:75 in forward

    V1122 12:03:22.799000 … [1/1] [__recompiles] Recompiling function forward in /train.py:73
    V1122 12:03:22.799000 … [1/1] [__recompiles]     triggered by the following guard failure(s):
    V1122 12:03:22.799000 … [1/1] [__recompiles]     - 1/0: tensor 'x' size mismatch at index 0. expected 8, actual 10
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tb_xla_insights.analysis.sidecar_contents import Guard
from tb_xla_insights.report.debug_text import TIME_STAMP

_LINE = re.compile(r"(?P<before>.*?\] )\[(?P<frame>\d+)/\d+(_\d+)?\] (\[__recompiles\w*\] )?(?P<text>.*)")
_LIMIT = re.compile(r"torch\._dynamo hit config\.(?:recompile_limit|cache_size_limit) \((\d{1,18})\)")
_RECOMPILE = re.compile(r"Recompiling function (\S+) in (\S.*:\d+)")
_FUNCTION = re.compile(r"\s+function: '([^']+)' \((\S.*:\d+)\)")
_PLACE = r"[^#]+:\d+ in \S+"
_REASON = re.compile(
    r"\s+(?:last reason:|-) (?:\d+/\d+:(?!\S))?+\s*+(?P<guard>\S.*?)"
    rf"(?:(?<!\s)\s++#(?= )(?! {_PLACE}$)(?P<source>.*?))?(?:(?<!\s)\s++# {_PLACE})?"
)
"""A guard, and after it a line of source with its place, one of both, or none. Each run of spaces is tried once, from
its start: texts that only resemble a log do not take quadratic time."""


@dataclass
class _Recompilation:
    """A recompilation, as far as it has been read."""

    function: str | None = None
    place: str | None = None
    guard: str | None = None
    source: str | None = None
    limit: int | None = None


def parse_guards(text: str, file: str = "") -> list[Guard]:
    """Parses the recompilations in a log, in order. Lines of several processes may be mixed if each process has its own
    prefix. The first guard of a recompilation counts: it belongs to the variant compiled last. An unterminated last
    line may be cut, and is ignored."""
    recompilations: list[_Recompilation] = []
    current: dict[tuple[str, str], _Recompilation] = {}
    for line in text[: text.rfind("\n") + 1].splitlines():
        match = _LINE.match(line) if "] [" in line else None
        if match is None:
            continue
        # Time stamps may differ from line to line; the rest of a prefix identifies the process.
        key = TIME_STAMP.sub("", match["before"]), match["frame"]
        text = match["text"].rstrip()
        if limit := _LIMIT.search(text):
            recompilation = _Recompilation(limit=int(limit[1]))
        elif function := _RECOMPILE.fullmatch(text):
            recompilation = _Recompilation(function[1], function[2])
        else:
            if key in current:
                _add_line(current[key], text)
            continue
        current[key] = recompilation
        recompilations.append(recompilation)
    return [Guard(row.function, row.place, row.guard, row.source, row.limit, file) for row in recompilations]


def _add_line(recompilation: _Recompilation, text: str) -> None:
    if function := _FUNCTION.fullmatch(text):
        recompilation.function, recompilation.place = function[1], function[2]
    elif recompilation.guard is None:
        recompilation.guard, recompilation.source = _parse_reason(text)


def parse_reason(text: str) -> tuple[str | None, str | None]:
    """Parses a reason alone, `1/7: self.scale == 1.5      # x * self.scale  # train.py:75 in forward`: the guard, and
    the line of source that it comes from; None for what it lacks."""
    return _parse_reason(f"  - {text.rstrip()}")


def _parse_reason(line: str) -> tuple[str | None, str | None]:
    reason = _REASON.fullmatch(line)
    return (reason["guard"], (reason["source"] or "").strip() or None) if reason else (None, None)
