"""Flags and limits that the analysis and its kernels share."""

INHERIT, DISPATCH_THEN_WAIT, WAIT_FOLLOWS = 1, 2, 4
"""Flags of an event in its thread's timeline (`segments.innermost_segments`). INHERIT: it and all events below it
take the class of its nearest ancestor that has one. DISPATCH_THEN_WAIT: after the end of a WAIT_FOLLOWS event in it, it
waits."""

(
    LAUNCH, RUN_START, SYNC, MARKER, DYNAMO, DYNAMO_PART, REGION_BEGINS, REGION_ENDS, ENQUEUE, READ, COMPILE,
    COMPILE_PART, DISPATCH_END, SCHEDULE,
) = (1 << bit for bit in range(14))  # fmt: skip
"""Flags of an event's name: its role in launching (`causality`)."""

MAX_HOPS = 12
"""The most threads that a causal path records (`causality`)."""
