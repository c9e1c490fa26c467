"""Merges the diagnostics of many hosts, each reported once, and finds hosts that run something other than the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.merge.sections import HostSection
from tb_xla_insights.report.merge.tables import HostKey
from tb_xla_insights.text.english import plural
from tb_xla_insights.text.units import brief_time

if TYPE_CHECKING:
    from tb_xla_insights.schema.session import Diagnostic as DiagnosticRow

_OF_ONE_PROCESS = frozenset(("metrics_disagree", "debug_log_disagrees"))
"""Diagnostics about sidecar files that one process wrote, on any host: reported only if every host has them."""

_MAX_STEP_DIFFERENCE = 2
"""The most steps by which captures of the same time may differ: one at each edge."""

_MAX_NAMED_HOSTS = 3

_SOURCES = {
    "annotation": "annotations",
    "steps_line": "the device's Steps line",
    "step_marker": "step markers",
    "modules": "program runs",
}
"""The sources of steps, the best first."""

_Same = tuple[str, str, str | None, str | None]
"""What diagnostics of hosts have in common to be merged: id, severity, and either the variant or the message."""

_Signature = tuple[str, str, str | None]
"""The source of a host's steps, their name without its number, and the program with most device time."""


class _HostDiagnostic(NamedTuple):
    """A diagnostic of one host. `host_key` is the host's sort key, `position` the index in the host's list."""

    host_key: HostKey
    position: int
    host: str
    diagnostic: Diagnostic

    @property
    def sort_key(self) -> tuple[HostKey, int]:
        return self.host_key, self.position


class MergedDiagnostics:
    """The diagnostics of all hosts; those that say the same are merged (see `Diagnostic.variant`)."""

    def __init__(self) -> None:
        self._of_hosts: dict[tuple[_Same, int], list[_HostDiagnostic]] = {}
        self._host_count = 0

    def add(self, key: HostKey, host: str, diagnostics: Sequence[Diagnostic]) -> None:
        self._host_count += 1
        occurrences: Counter[_Same] = Counter()
        for index, diagnostic in enumerate(diagnostics):
            message = diagnostic.message if diagnostic.variant is None else None
            same = diagnostic.id, diagnostic.severity, diagnostic.variant, message
            occurrences[same] += 1  # repetitions on one host, such as for two devices, are not merged
            of_hosts = self._of_hosts.setdefault((same, occurrences[same]), [])
            of_hosts.append(_HostDiagnostic(key, index, host, diagnostic))

    def rows(self) -> list[DiagnosticRow]:
        """The merged diagnostics, in the order of the first host that has each."""
        result = []
        for ((id_, *_), _), of_hosts in self._of_hosts.items():
            if id_ not in _OF_ONE_PROCESS or len(of_hosts) == self._host_count:
                of_hosts.sort(key=lambda item: item.sort_key)
                result.append((of_hosts[0].sort_key, self._merge(of_hosts)))
        return [row for _, row in sorted(result, key=lambda pair: pair[0])]

    def _merge(self, of_hosts: Sequence[_HostDiagnostic]) -> DiagnosticRow:
        host, first = of_hosts[0].host, of_hosts[0].diagnostic
        row: DiagnosticRow = {"id": first.id, "severity": first.severity, "message": first.message}
        if len(of_hosts) == 1:
            return {**row, "host": host}
        where = f"on {len(of_hosts)} of {self._host_count} hosts"
        if len(of_hosts) == self._host_count:
            where = "on both hosts" if len(of_hosts) == 2 else f"on all {len(of_hosts)} hosts"
        same_numbers = all(item.diagnostic.message == first.message for item in of_hosts)
        text = f"{first.message} ({where}{'' if same_numbers else f'; the numbers are those of {host}'})"
        return {**row, "message": text, "hosts": len(of_hosts)}


def differing_hosts_diagnostic(sections: Sequence[HostSection]) -> DiagnosticRow | None:
    """The diagnostic for sessions in which means over all steps mix hosts with different work; None for others.

    Hosts differ if their steps have another name, if another program takes most device time, or if their numbers of
    steps differ by more than the edges of captures explain; or if only the source of their steps is another one. Hosts
    without steps are in no mean."""
    sections_with_steps = [section for section in sections if section.steps]
    if len(sections_with_steps) < 2:
        return None
    recorded, signature_of = _signatures(sections_with_steps)
    signatures = Counter(signature_of.values())
    if len(signatures) == len(sections_with_steps):
        return _all_differ(sections_with_steps)
    common_signature, _ = signatures.most_common(1)[0]
    same_work = [
        section for section in sections_with_steps if signature_of[section.number] == common_signature
    ]
    counts = sorted(section.steps for section in same_work)
    median = counts[(len(counts) - 1) // 2]
    differing = [
        section
        for section in sections_with_steps
        if signature_of[section.number] != common_signature
        or abs(section.steps - median) > _MAX_STEP_DIFFERENCE
    ]
    source = common_signature[0]
    other_source = [section for section in same_work if recorded[section.number][0] != source]
    hosts_text = f"{len(same_work)}"
    if len(same_work) < len(sections_with_steps):
        hosts_text = f"the {len(same_work)} that run the same work"
    sources = _sources_text(other_source, hosts_text, source) if other_source else ""
    if not differing:
        return _diagnostic("info", sources) if sources else None
    typical = next(
        (section for section in sections_with_steps if not any(section is outlier for outlier in differing)),
        None,
    )
    examples = _list_steps(differing) + (f"; the others: {_steps_text(typical)}" if typical else "")
    subject = f"{plural(len(differing), 'host')} of {len(sections_with_steps)}"
    if all(signature_of[section.number] == common_signature for section in differing):
        predicate = "has another number" if len(differing) == 1 else "have other numbers"
        numbers = f"{_list_step_counts(differing)}; the others {median}"
        text = f"{predicate} of steps ({numbers}), and means weigh hosts by their steps."
        return _diagnostic(
            "info", f"{subject} {text} Capture all hosts for the same time. {sources}".rstrip()
        )
    verb = "runs" if len(differing) == 1 else "run"
    text = f"{verb} different work than the others ({examples}): means over all steps mix them."
    advice = "Capture hosts of one job together, or look at each host separately."
    return _diagnostic("warning", f"{subject} {text} {advice} {sources}".rstrip())


def apart_hosts_diagnostic(spans: Sequence[tuple[str, int, int]]) -> DiagnosticRow | None:
    """The diagnostic for hosts of which one begins after another has ended, as captures of different times do. `spans`
    are the hosts' names, first and last times, of those that have events."""
    if len(spans) < 2:
        return None
    first, _, end_ps = min(spans, key=lambda span: span[2])
    last, start_ps, _ = max(spans, key=lambda span: span[1])
    if start_ps <= end_ps:
        return None
    return {
        "id": "hosts_apart",
        "severity": "warning",
        "message": f"No instant is recorded on all hosts: {last} begins {brief_time(start_ps - end_ps)} after {first} "
        "ends, so that their steps cannot be compared in time. Capture all hosts at once, or look at each separately.",
    }


def _sources_text(sections: Sequence[HostSection], hosts_text: str, source: str) -> str:
    """The sentences about hosts that do the same work, but whose steps do not come from `source` like the others'."""
    names = ", ".join(
        f"{section.host}: {_SOURCES[_signature(section)[0]]}" for section in sections[:_MAX_NAMED_HOSTS]
    )
    names += f" and {len(sections) - _MAX_NAMED_HOSTS} more" if len(sections) > _MAX_NAMED_HOSTS else ""
    subject = f"{plural(len(sections), 'host')} of {hosts_text} {'has' if len(sections) == 1 else 'have'}"
    return (
        f"{subject} steps from another source than the others ({names}; the others: {_SOURCES[source]}), which may "
        "begin and end at other instants: means over all steps mix them. Annotate the steps on all hosts."
    )


def _all_differ(sections: Sequence[HostSection]) -> DiagnosticRow:
    """The diagnostic if no two hosts do the same work."""
    subject = f"Each of {len(sections)} hosts runs different work"
    if len(sections) == 2:
        subject = "Both hosts run different work"
    return _diagnostic(
        "warning",
        f"{subject} ({_list_steps(sections)}): means over all steps mix them. Look at each host separately; only "
        "stages of one pipeline belong together.",
    )


def _diagnostic(severity: Literal["info", "warning"], message: str) -> DiagnosticRow:
    return {"id": "hosts_differ", "severity": severity, "message": message}


def _list_step_counts(sections: Sequence[HostSection]) -> str:
    """`w-2 78, w-3 80 and 2 more`."""
    names = ", ".join(f"{section.host} {section.steps}" for section in sections[:_MAX_NAMED_HOSTS])
    return (
        f"{names} and {len(sections) - _MAX_NAMED_HOSTS} more" if len(sections) > _MAX_NAMED_HOSTS else names
    )


def _list_steps(sections: Sequence[HostSection]) -> str:
    """`w-2: 4 steps eval, w-3: 4 steps test and 2 more`."""
    names = ", ".join(f"{section.host}: {_steps_text(section)}" for section in sections[:_MAX_NAMED_HOSTS])
    return (
        f"{names} and {len(sections) - _MAX_NAMED_HOSTS} more" if len(sections) > _MAX_NAMED_HOSTS else names
    )


def _signatures(sections: Sequence[HostSection]) -> tuple[dict[int, _Signature], dict[int, _Signature]]:
    """The signature of each host by its number, as recorded and for comparison.

    For comparison, a host whose steps come from another source than those of most hosts with its program has the
    signature of the latter; so has a host without device work, which is not known to run another program than the other
    hosts with the same steps.
    """
    recorded = {section.number: _signature(section) for section in sections}
    with_program = Counter(signature for signature in recorded.values() if signature[2])
    ranked = sorted(with_program, key=lambda row: (-with_program[row], [*_SOURCES].index(row[0])))

    def compared(signature: _Signature) -> _Signature:
        source, _, program = signature
        if program:
            usual = next(row for row in ranked if row[2] == program)
            return usual if usual[0] != source else signature
        return next((row for row in ranked if row[:2] == signature[:2]), signature)

    return recorded, {number: compared(signature) for number, signature in recorded.items()}


def _signature(section: HostSection) -> _Signature:
    first = section.rows["steps"][0]
    return first["source"], re.split(r"[#\d]", first["name"])[0].strip(), section.rows["main_program"]


def _steps_text(section: HostSection) -> str:
    """`4 steps eval of jit_eval`."""
    _, name, program = _signature(section)
    program_phrase = f" of {program}" if program else ""
    return f"{plural(section.steps, f'step {name}'.strip(), f'steps {name}'.strip())}{program_phrase}"
