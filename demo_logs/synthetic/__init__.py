"""Generated profiles, whose exact figures are known.

`writer` builds XPlane files in a few lines, also for tests. `case_study`, `dynamo_issue`, `pod` and `transformer` are
the synthetic demo sessions; `python -m synthetic`, run from `demo_logs`, writes them again.
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
