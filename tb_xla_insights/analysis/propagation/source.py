"""The Python stack recorded with each op."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.user_files import is_user_file
from tb_xla_insights.catalog.frames import Frame

if TYPE_CHECKING:
    from tb_xla_insights.xplane.proto.hlo_pb2 import StackFrameIndex

_MAX_STACK_DEPTH = 1000


class Frames:
    """The Python frames of one program, copied from its module."""

    def __init__(self, index: StackFrameIndex) -> None:
        self._files = list(index.file_names)
        self._functions = list(index.function_names)
        self._locations = [
            (location.file_name_id, location.function_name_id, location.line)
            for location in index.file_locations
        ]
        self._frames = [(frame.file_location_id, frame.parent_frame_id) for frame in index.stack_frames]
        self._user_frames: dict[int, Frame | None] = {}

    def stack(self, frame_id: int) -> list[Frame]:
        """The frames from a `stack_frame_id` outward, innermost first, at most _MAX_STACK_DEPTH. Ids of frames,
        locations and names count from 1; 0 means none. The id of a frame that is not in the index ends the stack, and
        so does a cycle; a frame whose location is not in the index is left out."""
        return list(islice(self._outward(frame_id), _MAX_STACK_DEPTH))

    def user_frame(self, frame_id: int) -> Frame | None:
        """The innermost frame in a file of the user's. If there is none, the innermost frame; None without frames."""
        if frame_id not in self._user_frames:
            self._user_frames[frame_id] = self._find_user_frame(frame_id)
        return self._user_frames[frame_id]

    def _find_user_frame(self, frame_id: int) -> Frame | None:
        stack = islice(self._outward(frame_id), _MAX_STACK_DEPTH)
        innermost = next(stack, None)
        if innermost is None or is_user_file(innermost.file):
            return innermost
        return next((outer for outer in stack if is_user_file(outer.file)), innermost)

    def _outward(self, frame_id: int) -> Iterator[Frame]:
        visited: set[int] = set()
        while 0 < frame_id <= len(self._frames) and frame_id not in visited:
            visited.add(frame_id)
            location, frame_id = self._frames[frame_id - 1]
            if 0 < location <= len(self._locations):
                file, function, line = self._locations[location - 1]
                yield Frame(_name(self._functions, function), _name(self._files, file), line)


def _name(names: list[str], id_: int) -> str:
    return names[id_ - 1] if 0 < id_ <= len(names) else ""
