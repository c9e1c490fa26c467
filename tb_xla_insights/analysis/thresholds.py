"""From where on something is worth a finding, and how loud it is said. One place, with the reason for each
number.

Shares are of a step, that a fix buys; where nothing can be replayed, of the devices' spans together.
(docs/definitions.md, "Findings")
"""

from __future__ import annotations

from typing import Literal

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
"""From the quietest to the loudest."""

INFO_SHARE = 0.03
"""Step times of one training differ by about that much from run to run: less cannot be told from chance."""

HIDDEN_GAIN_SHARE = 0.005
"""What costs INFO_SHARE of the devices' spans or more, and whose fix gains less of a step than this, hides behind
something slower: a sixth of INFO_SHARE is far from what chance leaves of a gain."""

MAX_GAIN_SPREAD = 0.05
"""Of a gain, how far apart its ends may be to be told as one number: the replay itself is not as exact."""

WARNING_SHARE = 0.10
"""What a tenth of the time is lost to is worth somebody's afternoon."""

CRITICAL_SHARE = 0.30
"""More than a change of batch size or of the compiler's flags usually wins: nothing else should be looked at
first."""

MISTAKE_FIRST_SHARE = 0.25
"""Of the largest limit's gain, what a mistake must gain to come before the limits, unless it is worth a warning by
itself. A mistake is named first although a limit gains more, as it is one place to change; with less than a quarter of
that gain, who mends it sees the training as slow as before."""

OUTSIDE_SPAN_SHARE = 0.10
"""Of the capture, how much must lie outside the devices' span to be told first: idle shares and gaps say nothing of
it."""

DEVICE_BOUND_SHARE = 0.85
"""A device that computes for more of its span than this is what limits the training. What is left are gaps
between executions that hardly anybody gets rid of: input sync, the step's own launch, the clocks'
uncertainty."""

MIN_LAUNCHES_PER_STEP = 3
"""Launches a step from which on they are many: forward and backward, or one lazy graph and one read, are
usual."""

SMALL_LAUNCHES_SHARE = 0.5
"""Of a step's launches, how many must take more of the host's overhead than of the device's time to be called
small."""

EXPOSED_SHARE = 0.95
"""Of a collective's time, how much must be exposed to say that nothing hides it: an op that ends at its edge does
not."""

EVERY_STEP_SHARE = 0.9
"""Of the steps, how many must have something to say that every step has it: the first and the last one of a capture
often lack a part."""

EVERY_STEP_READS_SHARE = 0.5
"""Of the steps, how many must read from the device to say that every step does. (docs/definitions.md, "Early
execution")"""

UNBROKEN_GRAPHS_PER_STEP = 2
"""Graphs a step of a training that torch.compile did not break: one forward and one backward."""

FIRST_WARM_STEP = 2
"""Steps with lower numbers compile because everything is new. (docs/definitions.md, "Recompilation")"""


def severity_of(gain: float) -> Severity | None:
    """How loud it is to be said that a fix buys this share of a step; None where that cannot be told from chance."""
    if gain >= CRITICAL_SHARE:
        return "critical"
    if gain >= WARNING_SHARE:
        return "warning"
    return "info" if gain >= INFO_SHARE else None
