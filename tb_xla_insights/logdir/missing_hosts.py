"""Finds hosts without a file, by the gaps in the numbers of the host names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tb_xla_insights.errors import Diagnostic

_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")
_MAX_NAMED_HOSTS = 3


def missing_hosts(names: Sequence[str]) -> list[Diagnostic]:
    """A diagnostic that names the missing hosts, or none.

    Hosts are reported as missing if all names differ in their last number only, the numbers begin with 0 or 1, and
    fewer are missing than present. With more missing, only some hosts were captured on purpose, or the numbers count
    something else."""
    matches = [_NUMBERED.fullmatch(name) for name in names]
    digits = {int(match[2]): match[2] for match in matches if match}
    affixes = {(match[1], match[3]) for match in matches if match}
    if None in matches or len(affixes) != 1 or min(digits) > 1:
        return []
    missing_count = max(digits) - min(digits) + 1 - len(digits)
    if not 0 < missing_count < len(digits):  # a name may end with a time stamp: too many numbers to list
        return []
    numbers = sorted(set(range(min(digits), max(digits))) - set(digits))
    [(prefix, suffix)] = affixes
    width = min(map(len, digits.values()))
    missing = [f"{prefix}{number:0{width}}{suffix}" for number in numbers]
    more = f" and {len(missing) - _MAX_NAMED_HOSTS} more" if len(missing) > _MAX_NAMED_HOSTS else ""
    verb, clause = ("has", "it holds up") if len(missing) == 1 else ("have", "they hold up")
    text = (
        f"{', '.join(missing[:_MAX_NAMED_HOSTS])}{more} {verb} no file here, "
        f"though the hosts are numbered up to {max(digits)}: whether {clause} the others is not known."
    )
    return [Diagnostic("missing_host", "warning", text)]
