"""The advice about hosts that hold up the others: one sentence, by what takes longer on them."""

from __future__ import annotations

from collections.abc import Sequence

from tb_xla_insights.pod.causes import LateCause
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_steps import DEVICE
from tb_xla_insights.text.english import Sentence, join_words
from tb_xla_insights.trace.device import device_name

MAX_CAUSES = 2
"""Causes that a text names at most."""

_ADVICE = {
    "input": "feed {host} as fast as the rest: compare the storage, the network and the shard of the data with another "
    "host's, and let the loader prefetch more",
    "compile": "find out what {host} must compile when the others need not: another shape, another branch, or a "
    "compilation cache out of reach",
    "program_load": "find out which programs {host} must load when the others need not: another branch, or too little "
    "memory to keep them",
    "dynamo": "find out what makes {host} go through torch.compile when the others need not: a guard on a value that "
    "differs",
    "to_device": "send no more from {host} than from the rest: look at the size of batches, and at what else is sent",
    DEVICE: "look at the device before the program: check {host} for a hot or faulty chip, or for more work than the "
    "rest has; shard evenly, or take {host} out of the job",
}
"""Advice by the name of the cause, as clauses."""

_OTHER_ADVICE = (
    "give {host} no more to do than the rest: move what the others do not do{where} to another thread, or out of the "
    "steps (logs, checkpoints, evaluation, garbage collection)"
)
_UNKNOWN_CAUSE_ADVICE = (
    "capture {hosts} again with more of the host recorded (Python's calls, annotations): this capture does "
    "not show what takes longer"
)
_CHANGING_ADVICE = (
    "make the steps of all {parties} more even, as no single one is to blame: {what}; do occasional work in the same "
    "step on all {parties}"
)
_EVEN_OUT = {
    "input": "prefetch more batches, so that a slow one is hidden",
    "compile": "let no host compile alone: pad shapes alike everywhere",
    "python": "let all of them collect garbage and write logs in the same step",
    DEVICE: "give each the same amount of work, as with batches padded or packed to one length",
}
"""How to make the steps of all parties more even, by the name of the cause; part of _CHANGING_ADVICE."""


def advice_text(comparison: HostComparison) -> str:
    """Returns one sentence: what to change, and on which hosts."""
    if comparison.late_hosts.kind == "changing":
        cause = comparison.causes[0] if comparison.causes else None
        measure = _EVEN_OUT.get(cause.name if cause else "", "look for what only some of them do in a step")
        parties = "cores" if comparison.core_arrivals else "hosts"
        return str(Sentence(_CHANGING_ADVICE.format(what=measure, parties=parties)))
    by_cause: dict[str | None, tuple[LateCause | None, list[str]]] = {}
    for name, cause in zip(late_names(comparison), comparison.causes, strict=True):
        by_cause.setdefault(cause.name if cause else None, (cause, []))[1].append(name)
    clauses = [_cause_advice(comparison, *of_cause) for of_cause in [*by_cause.values()][:MAX_CAUSES]]
    return str(Sentence("; ".join(clauses)))


def _cause_advice(comparison: HostComparison, cause: LateCause | None, names: Sequence[str]) -> str:
    """Returns the advice about the hosts that are late for one cause, as a clause."""
    if len(names) == 1:
        host = names[0]
    elif len(names) == len(late_names(comparison)):
        host = "these cores" if comparison.core_arrivals else "these hosts"
    else:
        host = join_words(names)
    if cause is None:
        if comparison.core_arrivals:
            return _UNKNOWN_CAUSE_ADVICE.format(hosts=comparison.hosts[0].name)
        median = comparison.median_host
        reference = "another host" if median is None else comparison.hosts[median].name
        return _UNKNOWN_CAUSE_ADVICE.format(hosts=f"{host} and {reference}")
    if cause.core and not comparison.core_arrivals and len(names) == 1:
        host = f"{device_name(cause.core)} of {host}"
    where = f" ({cause.annotation})" if cause.annotation else ""
    return _ADVICE.get(cause.name, _OTHER_ADVICE).format(host=host, where=where)


def late_names(comparison: HostComparison) -> list[str]:
    """Returns the names of the late hosts or cores, the worst first."""
    return party_names(comparison, comparison.late_hosts.parties)


def party_names(comparison: HostComparison, parties: Sequence[int]) -> list[str]:
    """Returns the names of hosts; in a session of one host, the ids of its cores without the host: `TPU:2`."""
    if comparison.core_arrivals:
        cores = comparison.hosts[0].collectives.cores
        return [device_name(cores[party]) for party in parties]
    return [comparison.hosts[party].name for party in parties]
