"""Profiles whose truth is known, because they are written rather than measured.

`writer` builds XPlane files in a few lines and serves tests as well; `case_study` and `dynamo_issue` use it for the
sessions beside this package. `python -m synthetic`, run from `demo_logs`, writes those sessions again.
"""

from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.writer import Event, EventMetadata, Line, Plane, Ref, Space, Stat, Uint

__all__ = [
    "Computation",
    "Event",
    "EventMetadata",
    "HloModule",
    "Instruction",
    "Line",
    "Plane",
    "Ref",
    "Space",
    "Stat",
    "Uint",
]
