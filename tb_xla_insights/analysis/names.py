"""What the catalogue says about the names in one trace, per metadata entry."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.trace.annotations import annotation_kinds
from tb_xla_insights.trace.model import Int8, Trace
from tb_xla_insights.trace.threads import host_planes

_PROGRAM = re.compile(r"^(.*)\((-?\d+)\)$")


def program_of(name: str) -> tuple[str, str]:
    """A module's program and its id, of `program(id)`."""
    match = _PROGRAM.match(name)
    return (match[1], match[2]) if match else (name, "")


@kept
def tags(trace: Trace) -> list[frozenset[str]]:
    """The tags of each metadata entry's name; none on planes that are no host's."""
    hosts = host_planes(trace)
    return [
        trace.catalog.tags(trace.strings[text]) if plane in hosts else frozenset()
        for plane, text in zip(trace.metadata.plane, trace.metadata.name, strict=True)
    ]


def tagged(trace: Trace, *wanted: str) -> NDArray[np.bool_]:
    """Per metadata entry, whether it has one of the tags."""
    some = set(wanted)
    return np.array([bool(some & entry) for entry in tags(trace)], np.bool_)


@kept
def classes_of_annotations(trace: Trace) -> Int8:
    """Per metadata entry, the class that annotations of that name have."""
    return annotation_kinds(trace, trace.catalog)
