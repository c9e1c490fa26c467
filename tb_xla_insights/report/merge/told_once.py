"""Diagnostics of many hosts, each told once, and what the hosts of a session do that others do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from tb_xla_insights.analysis.findings.base import plural
from tb_xla_insights.report.merge.parts import Part
from tb_xla_insights.report.merge.tables import HostKey, Row, Rows

_OF_ONE_PROCESS = frozenset(("metrics_disagree", "debug_log_disagrees"))
"""About texts that one process wrote, be it that of another host: told where no host's trace agrees."""

_EDGE_STEPS = 2
"""By so many steps captures that begin and end together may differ: one at each edge."""

_MOST_NAMED = 3

_Kind = tuple[str, str, str | None]

_Told = tuple[HostKey, int, str, Row]
"""A host, the place in its list, its name, the diagnostic."""


class Diagnostics:
    """What is to be known of each host, by what is said: texts that differ in numbers alone are the same."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, int], list[_Told]] = {}
        self._hosts = 0

    def add(self, key: HostKey, host: str, rows: Rows) -> None:
        self._hosts += 1
        times: Counter[tuple[str, str, str]] = Counter()
        for place, row in enumerate(rows):
            said = row["id"], row["severity"], re.sub(r"\d[\d.,\u202f ]*", "#", row["message"])
            times[said] += 1  # what a host says twice, of two devices, is not said of two hosts
            self._found.setdefault((*said, times[said]), []).append((key, place, host, row))

    def rows(self) -> Rows:
        """In the order of the first host that has each."""
        told = []
        for (id_, *_), its in self._found.items():
            if id_ not in _OF_ONE_PROCESS or len(its) == self._hosts:
                its.sort(key=lambda it: it[:2])
                told.append((its[0][:2], self._row(its)))
        return [row for _, row in sorted(told, key=lambda it: it[0])]

    def _row(self, its: Sequence[_Told]) -> Row:
        _, _, host, first = its[0]
        row = {name: first[name] for name in ("id", "severity", "message")}
        if len(its) == 1:
            return row | {"host": host}
        where = f"on {len(its)} of {self._hosts} hosts"
        if len(its) == self._hosts:
            where = "on both hosts" if len(its) == 2 else f"on all {len(its)} hosts"
        alike = all(it["message"] == first["message"] for *_, it in its)
        text = f"{first['message']} ({where}{'' if alike else f'; the numbers are those of {host}'})"
        return row | {"message": text, "hosts": len(its)}


def unlike_hosts(parts: Sequence[Part]) -> Row | None:
    """A diagnostic where means over all steps blend hosts that do not the same: their steps come from another source or
    have another name, another program takes most device time, or their number differs by more than what a capture's
    edges cut. Hosts without steps are in no mean."""
    of_host = {part.host: part.rows["steps"] for part in parts if part.rows["steps"]}
    kinds = {part.host: _kind(part) for part in parts if part.rows["steps"]}
    if len(of_host) < 2:
        return None
    if len(set(kinds.values())) == len(kinds):
        return _each_its_own(of_host, kinds)
    usual, _ = Counter(kinds.values()).most_common(1)[0]
    counts = sorted(len(steps) for host, steps in of_host.items() if kinds[host] == usual)
    middle = counts[(len(counts) - 1) // 2]
    unlike = [
        host
        for host, steps in of_host.items()
        if kinds[host] != usual or abs(len(steps) - middle) > _EDGE_STEPS
    ]
    if not unlike:
        return None
    named = _named(unlike, of_host, kinds)
    others = next(host for host in of_host if host not in unlike) if len(unlike) < len(of_host) else None
    usual_text = f"; the others: {_told(of_host[others], kinds[others])}" if others else ""
    if all(kinds[host] == usual for host in unlike):
        have = "has another number" if len(unlike) == 1 else "have other numbers"
        text = f"{have} of steps than the others ({named}{usual_text}): in means they weigh by these."
        return {
            "id": "hosts_differ",
            "severity": "info",
            "message": f"{plural(len(unlike), 'host')} of {len(of_host)} {text} Capture all hosts for the same time.",
        }
    verb = "runs" if len(unlike) == 1 else "run"
    return {
        "id": "hosts_differ",
        "severity": "warning",
        "message": f"{plural(len(unlike), 'host')} of {len(of_host)} {verb} something other than the others "
        f"({named}{usual_text}): means over all steps blend them. "
        "Capture hosts of one job together, or look at each alone.",
    }


def _each_its_own(of_host: Mapping[str, Rows], kinds: Mapping[str, _Kind]) -> Row:
    """The diagnostic where no two hosts do the same."""
    every, whose = (
        ("Both hosts run", "their")
        if len(of_host) == 2
        else (f"Each of the {len(of_host)} hosts runs", "its")
    )
    return {
        "id": "hosts_differ",
        "severity": "warning",
        "message": f"{every} something of {whose} own ({_named([*of_host], of_host, kinds)}): means over all steps "
        "blend them. Look at each alone; only stages of one pipeline belong together.",
    }


def _named(hosts: Sequence[str], of_host: Mapping[str, Rows], kinds: Mapping[str, _Kind]) -> str:
    """`w-2: 4 steps eval, w-3: 4 steps test and 2 more`."""
    named = ", ".join(f"{host}: {_told(of_host[host], kinds[host])}" for host in hosts[:_MOST_NAMED])
    return f"{named} and {len(hosts) - _MOST_NAMED} more" if len(hosts) > _MOST_NAMED else named


def _kind(part: Part) -> _Kind:
    """What a host's steps are: source, name without its number, and the program with most device time."""
    first = part.rows["steps"][0]
    return first["source"], re.split(r"[#\d]", first["name"])[0].strip(), part.rows["main_program"]


def _told(steps: Sequence[Row], kind: _Kind) -> str:
    _, name, program = kind
    of = f" of {program}" if program else ""
    return f"{plural(len(steps), f'step {name}'.strip(), f'steps {name}'.strip())}{of}"
