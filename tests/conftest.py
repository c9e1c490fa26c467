"""Shared fixtures: small captures, real ones if they are available, and a profiler server."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import free_port, write_session
from hypothesis import settings

from tb_xla_insights.page.folder import page_folder
from tb_xla_insights.page.packed import is_packed
from tb_xla_insights.system import parallel

# Every run tries the same examples, so that failures can be reproduced.
settings.register_profile("reproducible", derandomize=True, deadline=None)
settings.load_profile("reproducible")

# The processes of the tests keep all processors busy: threads of one analysis would wait for each other.
parallel.limit_threads(1)

TRACES_VARIABLE = "XLA_INSIGHTS_TRACES"


@pytest.fixture(scope="module", autouse=True)
def exclude_modules_from_garbage_collection() -> None:
    """Makes the garbage collection after each host's task fast: with the million objects of imported modules
    it would take longer than reading a small capture."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """The folder of real captures: the one that XLA_INSIGHTS_TRACES names, or `../shared/traces` beside the project."""
    folder = Path(os.environ.get(TRACES_VARIABLE) or Path(__file__).parents[2] / "shared" / "traces")
    if not folder.is_dir():
        pytest.skip(f"no real captures here; set {TRACES_VARIABLE} to a folder that has them")
    return folder


@pytest.fixture(scope="session")
def packed_page() -> None:
    """Packs the page of this checkout."""
    npm = shutil.which("npm")
    assert npm, "the page cannot be packed: install nodejs and npm"
    if not is_packed(page_folder()):
        subprocess.run([npm, "run", "--silent", "pack"], cwd=page_folder().parent, check=True)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A logdir with two sessions: `2026_01_01_00_00_00`, and the newer `run/2026_01_02_00_00_00` of two hosts."""
    write_session(tmp_path / "plugins/profile/2026_01_01_00_00_00", "vm")
    write_session(tmp_path / "run/plugins/profile/2026_01_02_00_00_00", "a", "b")
    return tmp_path


@pytest.fixture(scope="module")
def profiler_server() -> Iterator[str]:
    """The address of a JAX profiler server on the CPU. Its process runs until the module's tests end."""
    if find_spec("jax") is None:
        pytest.skip("capturing is tested with JAX's profiler server; install jax")
    address = f"localhost:{free_port()}"
    command = [
        sys.executable,
        str(Path(__file__).with_name("profiled_program.py")),
        address.rpartition(":")[2],
    ]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield address
        finally:
            process.communicate("")


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A logdir with one real session `s`: six steps, each of which launches once."""
    demo = Path(__file__).parents[1] / "demo_logs/torch_xla_baseline"
    [session] = (demo / "plugins/profile").iterdir()
    shutil.copytree(session, tmp_path / "plugins/profile/s")
    return tmp_path
