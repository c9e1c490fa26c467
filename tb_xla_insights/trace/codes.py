"""Constants that the trace and its kernels share."""

REGION_START, REGION_STOP, HELPER, EXECUTE, COMPLETION, WHOLE_RUN, READY, END = range(1, 9)
"""Codes of event names for finding regions of a thread pool (`regions`) and ends of ops (`cpu_ops`); 0: other names."""

KNOWN, CANDIDATE, TRANSPARENT, PASS = 0, 1, 2, 3
"""Codes of event names for finding the user's annotations (`annotations`): a runtime event, an unknown name, a Python
frame or loader, a compiler pass."""

NOT_ANNOTATION, ANNOTATION, MAY_ENCLOSE = 0, 1, 2
"""Whether an event is an annotation; MAY_ENCLOSE: it is not, but may enclose annotations."""
