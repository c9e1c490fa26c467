"""Joins the parts of a capture that was written in parts: each has planes, lines and event metadata again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Line
from tb_xla_insights.xplane.read_xspace import XPlane


def has_parts(planes: Sequence[XPlane]) -> bool:
    """Whether a plane's name occurs again."""
    return len({plane.name for plane in planes}) < len(planes)


def join_lines_of_parts(lines: Sequence[Line], planes: Sequence[XPlane]) -> tuple[list[Line], Int64]:
    """Joins the lines of equal ids and names of planes with equal names; they belong to the first of these planes.
    Returns the lines and the order of the events: row i is now the event that was row `order[i]`."""
    first_planes = _first_planes(planes)
    parts: dict[tuple[int, int, str, int], list[Line]] = defaultdict(list)
    seen: Counter[tuple[int, int, str]] = Counter()  # a plane may have lines of equal ids and names
    for line in lines:
        key = line.plane, line.id, line.name
        parts[first_planes[line.plane], line.id, line.name, seen[key]].append(line)
        seen[key] += 1
    joined: list[Line] = []
    rows = [np.empty(0, np.int64)]
    first = 0
    for (plane, *_), of_line in sorted(parts.items(), key=lambda item: item[0][0]):
        count = sum(line.count for line in of_line)
        joined.append(replace(of_line[0], index=len(joined), plane=plane, first=first, count=count))
        rows += [np.arange(line.rows.start, line.rows.stop) for line in of_line]
        first += count
    return joined, np.concatenate(rows)


def same_metadata(planes: Sequence[XPlane]) -> Int32:
    """Per event metadata of all planes, the first of those that are equal in the parts, whose ids may differ."""
    first_planes = _first_planes(planes)
    first: dict[object, int] = {}
    result: list[int] = []
    for plane, first_plane in zip(planes, first_planes, strict=True):
        seen: Counter[object] = Counter()  # a plane may have equal metadata under two ids
        for metadata in plane.event_metadata:
            content = metadata.name, metadata.display_name, tuple(sorted(metadata.stats.items()))
            result.append(first.setdefault((first_plane, content, seen[content]), len(result)))
            seen[content] += 1
    return np.array(result, np.int32)


def _first_planes(planes: Sequence[XPlane]) -> list[int]:
    """Per plane, the index of the first one with its name."""
    first: dict[str, int] = {}
    return [first.setdefault(plane.name, index) for index, plane in enumerate(planes)]
