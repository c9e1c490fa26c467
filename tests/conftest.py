"""What tests share: small captures, and the real ones where they lie beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers import write_session
from hypothesis import settings

# Every run tries the same examples: what fails, fails for everybody.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

TRACES = "XLA_INSIGHTS_TRACES"


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """The folder of real captures: `../shared/traces` beside the project, or where the environment says."""
    folder = Path(os.environ.get(TRACES) or Path(__file__).parents[2] / "shared" / "traces")
    if not folder.is_dir():
        pytest.skip(f"no real captures here; set {TRACES} to a folder that has them")
    return folder


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A logdir with two sessions: `2026_01_01_00_00_00`, and the newer `run/2026_01_02_00_00_00` of two hosts."""
    write_session(tmp_path / "plugins/profile/2026_01_01_00_00_00", "vm")
    write_session(tmp_path / "run/plugins/profile/2026_01_02_00_00_00", "a", "b")
    return tmp_path
