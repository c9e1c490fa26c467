"""Parses and numbers names, and finds the catalogue's properties of a trace's names, per event metadata."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import host_planes

_PROGRAM = re.compile(r"^(.*)\((-?\d{1,20})\)$", re.ASCII)


class ProgramName(NamedTuple):
    """A program's name and its id, a decimal string, which is empty if none is recorded."""

    name: str
    id: str


def parse_program_name(text: str) -> ProgramName:
    """Parses the name of a module, such as `program(id)`."""
    match = _PROGRAM.match(text)
    return ProgramName(match[1], match[2]) if match else ProgramName(text, "")


def number_distinct(values: Iterable[Hashable]) -> NDArray[np.int32]:
    """Numbers values by their first occurrence; equal ones have the same number. `numpy.unique` would first copy every
    text at the length of the longest."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)


@memoised
def metadata_tags(trace: Trace) -> list[frozenset[str]]:
    """Returns the catalogue's tags of each event metadata's name; none for planes other than hosts'."""
    hosts = host_planes(trace)
    return [
        trace.catalog.tags(trace.strings[text_index]) if plane in hosts else frozenset()
        for plane, text_index in zip(trace.metadata.plane, trace.metadata.name, strict=True)
    ]


@memoised
def has_tag(trace: Trace, *tags: str) -> NDArray[np.bool_]:
    """Per event metadata, whether its name has at least one of the tags."""
    return np.array([not name_tags.isdisjoint(tags) for name_tags in metadata_tags(trace)], np.bool_)


@memoised
def is_loading_annotation(trace: Trace) -> NDArray[np.bool_]:
    """Per event metadata, whether it belongs to annotations whose name says that they load data."""
    is_loading = np.zeros(len(trace.metadata.name), np.bool_)
    for metadata_index in np.unique(trace.metadata_index[trace.annotations]).tolist():
        is_loading[metadata_index] = trace.catalog.describes_loading(
            trace.strings[trace.metadata.name[metadata_index]]
        )
    return is_loading
