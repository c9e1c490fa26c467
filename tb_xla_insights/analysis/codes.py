"""Numbers that the analysis and its kernels share."""

INHERIT, DISPATCH_THEN_WAIT, ENDS_DISPATCH = 1, 2, 4
"""What an event of a thread's timeline may do beside having a class: it and all below it inherit; it turns to waiting;
it makes one turn (`segments.innermost`)."""

(
    LAUNCH, HELPER, SYNC, MARKER, DYNAMO, DYNAMO_PART, REGION_BEGINS, REGION_ENDS, ENQUEUE, READ, COMPILE, COMPILE_PART,
    DISPATCH_END, SCHEDULE,
) = (1 << bit for bit in range(14))  # fmt: skip
"""What an event's name is to a launch (`reach`)."""

MAX_HOPS = 12
"""Threads that the way back from an event may cross (`reach`)."""
