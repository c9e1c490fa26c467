"""Thresholds of findings and their severities, with the reason for each number.

Unless stated otherwise, shares are of a step's time that a fix saves; if nothing can be replayed, of the sum of the
devices' spans. (docs/definitions.md, "Findings")
"""

from __future__ import annotations

from typing import Literal

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
"""From the lowest to the highest."""

INFO_SHARE = 0.03
"""Step times of the same training differ by about this much between runs: smaller gains are not significant."""

HIDDEN_GAIN_SHARE = 0.005
"""A finding that costs at least INFO_SHARE of the devices' spans, but whose fix gains less of a step than this, hides
behind something slower. It is a sixth of INFO_SHARE, well below the noise of gains."""

MAX_GAIN_SPREAD = 0.05
"""Of a gain: how far its lower and upper end may be apart to be given as one number. The replay itself is no more
exact. Smaller shares of a gain or of idle time are not mentioned in texts."""

WARNING_SHARE = 0.10
"""A loss of a tenth of the time is worth an afternoon's work."""

TIGHT_MEMORY_SHARE = 0.8
"""From this share of a device's memory on, a slightly larger batch may not fit: values grow with the batch."""

CRITICAL_SHARE = 0.30
"""More than a change of batch size or compiler flags usually gains: to be fixed first."""

OUTSIDE_SPAN_SHARE = 0.10
"""Of the capture: how much must be outside the devices' span to be reported first, because idle shares and gaps do not
cover it."""

DEVICE_BOUND_SHARE = 0.85
"""Of its span, and of the whole steps if there are any: a device that computes for longer limits the training. The rest
are gaps between executions that can hardly be avoided: input sync, the step's own launch, the clocks' error."""

HIDDEN_SHARE, EXPOSED_SHARE = 0.9, 0.1
"""Of an asynchronous op's time: how much must be hidden for the op to count as hidden, and at most, as exposed. xprof
has the same limits."""

MAIN_SHARE = 0.5
"""Of a wait: how much a cause must explain."""

MIN_LAUNCHES_PER_STEP = 3
"""The fewest launches per step that are reported as many: forward and backward, or one lazy graph and one read, are
usual."""

SMALL_LAUNCHES_SHARE = 0.5
"""Of the launches in steps: how many must be small to be reported (`findings.small` defines small)."""

EVERY_STEP_SHARE = 0.9
"""Of the steps: how many must show something for it to count as occurring in every step. The first and last steps of a
capture are often incomplete."""

REGULAR_STEPS_SHARE = 0.5
"""Of the steps: how many must read from the device, or wait for it, for that to be a habit of the loop.
(docs/definitions.md, "Early execution")"""

UNBROKEN_GRAPHS_PER_STEP = 2
"""Graphs per step of a training without graph breaks under torch.compile: one forward, one backward."""

FIRST_WARM_STEP = 2
"""Steps with lower numbers compile because everything is new. (docs/definitions.md, "Recompilation")"""


def severity_of(gain: float) -> Severity | None:
    """Returns the severity of a finding whose fix saves this share of a step; None if it is not significant."""
    if gain >= CRITICAL_SHARE:
        return "critical"
    if gain >= WARNING_SHARE:
        return "warning"
    return "info" if gain >= INFO_SHARE else None
