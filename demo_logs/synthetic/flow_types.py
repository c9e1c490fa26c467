"""Types of flows, as captures record them: `_pt` of the event that hands work over, `_ct` of its receiver."""

SYSTEM_EXECUTE, TPU_LAUNCH, THREAD_POOL = 7, 12, 15
