"""What to do about hosts that hold up the others: one sentence by what takes longer on them."""

from __future__ import annotations

from collections.abc import Sequence

from tb_xla_insights.analysis.findings.base import join_words
from tb_xla_insights.pod.causes import Cause
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_steps import DEVICE

MOST_CAUSES = 2
"""Causes of which a text tells."""

_ADVICE = {
    "input": "Feed {host} as fast as the rest: compare its storage, network and shard of the data with another host's, "
    "and let the loader prefetch more.",
    "compile": "Find out what {host} must compile when the others need not: another shape, another branch, or a "
    "compilation cache out of reach.",
    "program_load": "Find out which programs {host} must load when the others need not: another branch, or too little "
    "memory to keep them.",
    "dynamo": "Find out what makes {host} go through torch.compile when the others need not: a guard on a value that "
    "differs.",
    "to_device": "Send as much from {host} as from the rest: look at the size of batches, and at what else is sent.",
    DEVICE: "Look at the device before the program: {host} has a hot or faulty chip, or more of the work; shard "
    "evenly, or take {host} out of the job.",
}
"""By what takes longer."""

_ADVICE_ELSE = (
    "Give {host} no more to do than the rest: move what the others do not do{where} to another thread, or out of the "
    "steps (logs, checkpoints, evaluation, garbage collection)."
)
_ADVICE_UNKNOWN = (
    "Capture {host} and {median} again with more of the host recorded (Python's calls, annotations): this capture does "
    "not tell what takes longer."
)
_ADVICE_CHANGING = (
    "Make the steps of all hosts more even, as no single one is to blame: {what}; do what not every step has on all "
    "hosts in the same one."
)
_EVEN = {
    "input": "prefetch more batches, so that a slow one is hidden",
    "compile": "let no host compile alone: pad shapes alike everywhere",
    "python": "let all of them collect garbage and write logs in the same step",
    DEVICE: "give each the same amount of work, as with batches padded or packed to one length",
}


def advice(compared: HostComparison) -> str:
    """One sentence: what to change, and where."""
    cause = compared.causes[0] if compared.causes else None
    if compared.late.kind == "changing":
        what = _EVEN.get(cause.name if cause else "", "look for what only some of them do in a step")
        return _ADVICE_CHANGING.format(what=what)
    by_cause: dict[str | None, tuple[Cause | None, list[str]]] = {}
    for name, its in zip(names(compared), compared.causes, strict=True):
        by_cause.setdefault(its.name if its else None, (its, []))[1].append(name)
    told = [_of_cause(compared, its, hosts) for its, hosts in [*by_cause.values()][:MOST_CAUSES]]
    first, *rest = told
    return (
        "; ".join([first.removesuffix("."), *(text[0].lower() + text[1:] for text in rest)])
        if rest
        else first
    )


def _of_cause(compared: HostComparison, cause: Cause | None, found: Sequence[str]) -> str:
    """What to do about those that are late for one cause."""
    several = "these cores" if compared.cores else "these hosts"
    host = (
        found[0] if len(found) == 1 else several if len(found) == len(names(compared)) else join_words(found)
    )
    median = compared.median_host
    if cause is None:
        return _ADVICE_UNKNOWN.format(host=host, median="" if median is None else compared.hosts[median].name)
    if cause.core and not compared.cores and len(found) == 1:
        host = f"{cause.core.rsplit('/', 1)[-1]} of {host}"
    where = f" ({cause.annotation})" if cause.annotation else ""
    return _ADVICE.get(cause.name, _ADVICE_ELSE).format(host=host, where=where)


def names(compared: HostComparison) -> list[str]:
    """The late ones, the worst first."""
    if compared.cores:
        return [
            compared.hosts[0].collectives.cores[party].rsplit("/", 1)[-1] for party in compared.late.parties
        ]
    return [compared.hosts[party].name for party in compared.late.parties]
