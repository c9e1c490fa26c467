"""Constants that the trace and its kernels share."""

REGION_START, REGION_STOP, HELPER, EXECUTE, COMPLETION, WHOLE, READY, END = range(1, 9)
"""Codes of event names for finding regions of a thread pool (`regions`) and ends of ops (`cpu_ops`); 0: other names."""

KNOWN, CANDIDATE, TRANSPARENT, PASS = 0, 1, 2, 3
"""Codes of event names for finding the user's annotations (`annotations`)."""

NO, YES, THROUGH = 0, 1, 2
"""Verdicts about events: no annotation, an annotation, or an event that may enclose annotations."""
