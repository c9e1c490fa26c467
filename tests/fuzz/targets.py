"""Everything that is tried."""

from __future__ import annotations

from fuzz import captures_in, sessions_in
from fuzz.target import Target

TARGETS: list[Target] = [*captures_in.TARGETS, *sessions_in.TARGETS]
