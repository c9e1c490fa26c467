"""Diagnostics of many hosts, each told once, and what the hosts of a session do that others do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tb_xla_insights.analysis.findings.base import plural
from tb_xla_insights.report.merge.parts import HostPart
from tb_xla_insights.report.merge.tables import HostKey

if TYPE_CHECKING:
    from tb_xla_insights.schema.session import Diagnostic

_OF_ONE_PROCESS = frozenset(("metrics_disagree", "debug_log_disagrees"))
"""About texts that one process wrote, be it that of another host: told where no host's trace agrees."""

_EDGE_STEPS = 2
"""By so many steps captures that begin and end together may differ: one at each edge."""

_MOST_NAMED = 3

_Told = tuple[HostKey, int, str, "Diagnostic"]
"""A host, the place in its list, its name, the diagnostic."""


class MergedDiagnostics:
    """What is to be known of each host, by what is said: texts that differ in numbers alone are the same."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, int], list[_Told]] = {}
        self._hosts = 0

    def add(self, key: HostKey, host: str, rows: Sequence[Diagnostic]) -> None:
        self._hosts += 1
        times: Counter[tuple[str, str, str]] = Counter()
        for place, row in enumerate(rows):
            said = row["id"], row["severity"], re.sub(r"\d[\d.,\u202f ]*", "#", row["message"])
            times[said] += 1  # what a host says twice, of two devices, is not said of two hosts
            self._found.setdefault((*said, times[said]), []).append((key, place, host, row))

    def rows(self) -> list[Diagnostic]:
        """In the order of the first host that has each."""
        told = []
        for (id_, *_), its in self._found.items():
            if id_ not in _OF_ONE_PROCESS or len(its) == self._hosts:
                its.sort(key=lambda it: it[:2])
                told.append((its[0][:2], self._row(its)))
        return [row for _, row in sorted(told, key=lambda it: it[0])]

    def _row(self, its: Sequence[_Told]) -> Diagnostic:
        _, _, host, first = its[0]
        row: Diagnostic = {"id": first["id"], "severity": first["severity"], "message": first["message"]}
        if len(its) == 1:
            return {**row, "host": host}
        where = f"on {len(its)} of {self._hosts} hosts"
        if len(its) == self._hosts:
            where = "on both hosts" if len(its) == 2 else f"on all {len(its)} hosts"
        alike = all(it["message"] == first["message"] for *_, it in its)
        text = f"{first['message']} ({where}{'' if alike else f'; the numbers are those of {host}'})"
        return {**row, "message": text, "hosts": len(its)}


def differing_hosts_diagnostic(parts: Sequence[HostPart]) -> Diagnostic | None:
    """A diagnostic where means over all steps blend hosts that do not the same: their steps come from another source or
    have another name, another program takes most device time, or their number differs by more than what a capture's
    edges cut. Hosts without steps are in no mean."""
    ones = [part for part in parts if part.steps]
    if len(ones) < 2:
        return None
    kinds = Counter(map(_kind, ones))
    if len(kinds) == len(ones):
        return _each_its_own(ones)
    usual, _ = kinds.most_common(1)[0]
    counts = sorted(part.steps for part in ones if _kind(part) == usual)
    middle = counts[(len(counts) - 1) // 2]
    unlike = [part for part in ones if _kind(part) != usual or abs(part.steps - middle) > _EDGE_STEPS]
    if not unlike:
        return None
    others = next((part for part in ones if not any(part is it for it in unlike)), None)
    examples = _named(unlike) + (f"; the others: {_told(others)}" if others else "")
    who = f"{plural(len(unlike), 'host')} of {len(ones)}"
    if all(_kind(part) == usual for part in unlike):
        have = "has another number" if len(unlike) == 1 else "have other numbers"
        text = f"{have} of steps ({_numbers(unlike)}; the others {middle}), and means weigh hosts by their steps."
        return _differ("info", f"{who} {text} Capture all hosts for the same time.")
    verb = "runs" if len(unlike) == 1 else "run"
    text = f"{verb} something other than the others ({examples}): means over all steps blend them."
    return _differ("warning", f"{who} {text} Capture hosts of one job together, or look at each alone.")


def _each_its_own(ones: Sequence[HostPart]) -> Diagnostic:
    """The diagnostic where no two hosts do the same."""
    who = f"Each of {len(ones)} hosts runs something of its own"
    if len(ones) == 2:
        who = "Both hosts run something of their own"
    return _differ(
        "warning",
        f"{who} ({_named(ones)}): means over all steps blend them. Look at each alone; only stages of one pipeline "
        "belong together.",
    )


def _differ(severity: Literal["info", "warning"], message: str) -> Diagnostic:
    return {"id": "hosts_differ", "severity": severity, "message": message}


def _numbers(ones: Sequence[HostPart]) -> str:
    """`w-2 78, w-3 80 and 2 more`."""
    named = ", ".join(f"{part.host} {part.steps}" for part in ones[:_MOST_NAMED])
    return f"{named} and {len(ones) - _MOST_NAMED} more" if len(ones) > _MOST_NAMED else named


def _named(ones: Sequence[HostPart]) -> str:
    """`w-2: 4 steps eval, w-3: 4 steps test and 2 more`."""
    named = ", ".join(f"{part.host}: {_told(part)}" for part in ones[:_MOST_NAMED])
    return f"{named} and {len(ones) - _MOST_NAMED} more" if len(ones) > _MOST_NAMED else named


def _kind(part: HostPart) -> tuple[str, str, str | None]:
    """What a host's steps are: source, name without its number, and the program with most device time."""
    first = part.rows["steps"][0]
    return first["source"], re.split(r"[#\d]", first["name"])[0].strip(), part.rows["main_program"]


def _told(part: HostPart) -> str:
    """`4 steps eval of jit_eval`."""
    _, name, program = _kind(part)
    of = f" of {program}" if program else ""
    return f"{plural(part.steps, f'step {name}'.strip(), f'steps {name}'.strip())}{of}"
