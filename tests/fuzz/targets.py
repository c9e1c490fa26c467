"""All targets of fuzzing."""

from __future__ import annotations

from fuzz import (
    capture_targets,
    program_targets,
    python_target,
    request_target,
    session_targets,
    sidecar_targets,
    view_target,
)
from fuzz.target import Target

TARGETS: list[Target] = [
    *capture_targets.TARGETS,
    *program_targets.TARGETS,
    *session_targets.TARGETS,
    *python_target.TARGETS,
    *view_target.TARGETS,
    *request_target.TARGETS,
    *sidecar_targets.TARGETS,
]
