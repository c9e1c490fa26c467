"""What the catalogue says about the names in one trace, per metadata entry."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import host_planes

_FRAME = re.compile(r"\$(\S+:\d+) (.+)")
_PROGRAM = re.compile(r"^(.*)\((-?\d{1,20})\)$", re.ASCII)


def program_of(name: str) -> tuple[str, str]:
    """A module's program and its id, of `program(id)`."""
    match = _PROGRAM.match(name)
    return (match[1], match[2]) if match else (name, "")


def frame_name(name: str) -> str:
    """A Python tracer's frame as people write it: `$train.py:34 next_batch` as `next_batch at train.py:34`; all
    other names as they are."""
    match = _FRAME.fullmatch(name)
    return f"{match[2]} at {match[1]}" if match else name


@memoised
def metadata_tags(trace: Trace) -> list[frozenset[str]]:
    """The tags of each metadata entry's name; none on planes that are no host's."""
    hosts = host_planes(trace)
    return [
        trace.catalog.tags(trace.strings[text]) if plane in hosts else frozenset()
        for plane, text in zip(trace.metadata.plane, trace.metadata.name, strict=True)
    ]


def has_tag(trace: Trace, *wanted: str) -> NDArray[np.bool_]:
    """Per metadata entry, whether it has one of the tags."""
    some = set(wanted)
    return np.array([bool(some & entry) for entry in metadata_tags(trace)], np.bool_)


@memoised
def is_loading_annotation(trace: Trace) -> NDArray[np.bool_]:
    """Per metadata entry, whether annotations have that name and it speaks of loading data."""
    found = np.zeros(len(trace.metadata.name), np.bool_)
    for entry in np.unique(trace.meta[trace.annotations]).tolist():
        found[entry] = trace.catalog.loads(trace.strings[trace.metadata.name[entry]])
    return found
