"""Hosts of which a session has no file, as the numbers in the others' names tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tb_xla_insights.errors import Diagnostic

_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")
_MOST_NAMED = 3


def missing_hosts(names: Sequence[str]) -> list[Diagnostic]:
    """Says which hosts are missing where names are alike but for their last number, these begin with 0 or 1, and most
    are there: of fewer a part was captured on purpose, or the numbers count something else."""
    parts = [_NUMBERED.fullmatch(name) for name in names]
    there = {int(part[2]): part[2] for part in parts if part}
    around = {(part[1], part[3]) for part in parts if part}
    if None in parts or len(around) != 1 or min(there) > 1:
        return []
    lost = sorted(set(range(min(there), max(there))) - set(there))
    if not lost or len(lost) >= len(there):
        return []
    [(before, after)] = around
    width = min(map(len, there.values()))
    told = [f"{before}{number:0{width}}{after}" for number in lost]
    more = f" and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    have, whether = ("has", "it holds") if len(told) == 1 else ("have", "they hold")
    text = (
        f"{', '.join(told[:_MOST_NAMED])}{more} {have} no file here, though the hosts are numbered up to {max(there)}: "
        f"whether {whether} up the others is not known."
    )
    return [Diagnostic("missing_host", "warning", text)]
