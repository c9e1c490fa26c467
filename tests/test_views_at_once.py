"""Many views of one session, asked for at once: each answer is what it is when it is asked for alone."""

from __future__ import annotations

SESSION = "2026_05_14_09_00_00"
VIEWS = [
    ("overview", {}), ("counts", {}), ("gaps", {}), ("executions", {}), ("compiles", {}), ("propagation", {}),
    ("scopes", {}), ("hosts", {}), ("waits", {}), ("device", {}), ("device", {"by": "annotation"}),
    ("timeline", {"start_ps": 0, "end_ps": 10**12, "px": 800}),
    ("search", {"q": "Training_Step"}), ("window", {"start_ps": 10**10, "end_ps": 10**11}),
    ("table", {"start_ps": 10**10, "end_ps": 10**11}),
]  # fmt: skip
