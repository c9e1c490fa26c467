"""Numbers that the trace and its kernels share."""

REGION_START, REGION_STOP, HELPER, EXECUTE, COMPLETION, WHOLE, READY, END = range(1, 9)
"""What an event's name is to the regions of a thread pool (`regions`), or to the ends of ops (`cpu_ops`)."""

KNOWN, CANDIDATE, TRANSPARENT, PASS = 0, 1, 2, 3
"""What an event's name is to the user's annotations (`annotations`)."""

NO, YES, THROUGH = 0, 1, 2
"""Whether an event is an annotation, or nothing that hides one."""
