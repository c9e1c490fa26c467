"""Which lines of Python made an op: the stack that was recorded with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tb_xla_insights.xplane.proto.hlo_pb2 import StackFrameIndex

_LIBRARY = ("site-packages/", "dist-packages/", "/lib/python")
_DEEPEST = 1000


@dataclass(frozen=True)
class Frame:
    file: str
    function: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Frames:
    """The Python frames of one program, copied out of its module."""

    def __init__(self, index: StackFrameIndex) -> None:
        self._files = list(index.file_names)
        self._functions = list(index.function_names)
        self._places = [(it.file_name_id, it.function_name_id, it.line) for it in index.file_locations]
        self._frames = [(it.file_location_id, it.parent_frame_id) for it in index.stack_frames]
        self._own: dict[int, Frame | None] = {}

    def stack(self, frame: int) -> list[Frame]:
        """The frames from a `stack_frame_id` outward, the innermost first. Ids count from 1 and 0 is none, as do those
        of places and names; an id that the index does not have ends the stack, and so does a circle."""
        return list(islice(self._outward(frame), _DEEPEST))

    def own(self, frame: int) -> Frame | None:
        """The innermost frame in the user's own code: outside of installed packages and the standard library; the
        innermost one where all are inside."""
        if frame not in self._own:
            self._own[frame] = self._find_own(frame)
        return self._own[frame]

    def _find_own(self, frame: int) -> Frame | None:
        stack = islice(self._outward(frame), _DEEPEST)
        innermost = next(stack, None)
        if innermost is None or _is_own(innermost.file):
            return innermost
        return next((it for it in stack if _is_own(it.file)), innermost)

    def _outward(self, frame: int) -> Iterator[Frame]:
        seen: set[int] = set()
        while 0 < frame <= len(self._frames) and frame not in seen:
            seen.add(frame)
            place, frame = self._frames[frame - 1]
            if 0 < place <= len(self._places):
                file, function, line = self._places[place - 1]
                yield Frame(_at(self._files, file), _at(self._functions, function), line)


def _is_own(file: str) -> bool:
    return bool(file) and not file.startswith("<") and not any(mark in file for mark in _LIBRARY)


def _at(names: list[str], number: int) -> str:
    return names[number - 1] if 0 < number <= len(names) else ""
