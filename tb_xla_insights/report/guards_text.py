"""torch.compile's log: which guard failed when it compiled a function again, and whether it has given up doing so.

A warning at the limit is always there, one block per recompilation with TORCH_LOGS="recompiles":

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

from tb_xla_insights.analysis.sidecars import Guard

_SAID = re.compile(r"(?P<before>.*?\] )\[(?P<frame>\d+)/\d+(_\d+)?\] (\[__recompiles\w*\] )?(?P<said>.*)")
_LIMIT = re.compile(r"torch\._dynamo hit config\.(?:recompile_limit|cache_size_limit) \((\d{1,18})\)")
_AGAIN = re.compile(r"Recompiling function (\S+) in (\S+:\d+)")
_FUNCTION = re.compile(r"\s+function: '(.+)' \((\S+:\d+)\)")
_REASON = re.compile(
    r"\s+(?:last reason:|-) (?:\d+/\d+: )?(?P<guard>.+?)(?:\s+# (?P<source>.*?))?(?:\s+# \S+:\d+ in \S+)?\s*$"
)


@dataclass
class _Open:
    """What is known so far of a recompilation."""

    function: str | None = None
    place: str | None = None
    guard: str | None = None
    source: str | None = None
    limit: int | None = None


def parse_guards(text: str, file: str = "") -> list[Guard]:
    """The recompilations that a log tells, in order; several processes' lines may be mixed where each begins its own.
    Of the guards of one recompilation the first counts: it is that of the variant compiled last. A last line without an
    end may be cut, and is not taken."""
    found: list[_Open] = []
    opened: dict[tuple[str, str], _Open] = {}
    for line in text[: text.rfind("\n") + 1].splitlines():
        said = _SAID.match(line) if "] [" in line else None
        if said is None:
            continue
        key = re.sub(r"\d{2,}", "", said["before"]), said["frame"]
        limit, again = _LIMIT.search(said["said"]), _AGAIN.match(said["said"])
        if limit or again:
            opened[key] = (
                _Open(limit=int(limit[1])) if limit else _Open(again[1], again[2]) if again else _Open()
            )
            found.append(opened[key])
        elif key in opened:
            _add(opened[key], said["said"])
    return [Guard(it.function, it.place, it.guard, it.source, it.limit, file) for it in found]


def _add(block: _Open, said: str) -> None:
    if function := _FUNCTION.match(said):
        block.function, block.place = function[1], function[2]
    elif block.guard is None and (reason := _REASON.match(said)):
        block.guard, block.source = reason["guard"], reason["source"]
