"""All targets of fuzzing."""

from __future__ import annotations

from fuzz import captures_in, programs_in, python_in, requests_in, sessions_in, sidecars_in, views_in
from fuzz.target import Target

TARGETS: list[Target] = [
    *captures_in.TARGETS,
    *programs_in.TARGETS,
    *sessions_in.TARGETS,
    *python_in.TARGETS,
    *views_in.TARGETS,
    *requests_in.TARGETS,
    *sidecars_in.TARGETS,
]
