"""Tests a wheel with the oldest and with the newest releases of its dependencies: `make ranges`

    python .ci/ranges.py WHEEL [--only 3.11 3.14] [--ends oldest newest]

Tests with each supported Python that is on the PATH or in pyenv. The releases are the oldest and the newest ones that
pyproject.toml permits and that have a wheel for this Python. Must run in an environment with the tools of
.ci/tools.txt. A missing Python is reported as skipped; if --only names it and CI is `true`, that is a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
"""uv's resolution for each end of the ranges. Dependencies of dependencies are always the newest, as users get them."""

TOOLS = ("hypothesis", "pydantic", "pytest")
TOOLS_OF_EXTRAS = ("gcp-storage-emulator", "ipykernel", "moto[server]", "nbclient")
REPLACEABLE = ("typing-extensions==", "werkzeug==")
"""Releases that `TOOLS_OF_EXTRAS` may replace: no recent moto supports the oldest of these libraries. The tests without
extras cover them."""

# A few tests per library, as every Python runs them twice.
TESTS = (
    "test_docs.py::test_every_command_and_option_is_listed",  # argparse
    "test_xplane_read.py",  # NumPy and the kernels
    "test_hlo.py",  # protobuf
    "test_json_text.py",  # orjson
    "test_cli_layout.py",  # rich
    "test_cli_text.py",
    "test_html.py",  # MarkupSafe
    "test_capture.py",  # gRPC
    "test_tasks.py::test_processes_give_the_same_in_the_same_order",  # loky
    "test_plugin.py::test_the_views_answer",  # Werkzeug
    "test_plugin_assets.py",
    "test_packaging.py::test_tensorboard_finds_the_plugin_by_itself",
)
TESTS_OF_EXTRAS = (
    "test_cluster.py::test_workers_read_the_hosts_in_their_order",  # Dask
    "test_cluster.py::test_a_report_is_the_same_to_the_byte",
    "test_remote.py::test_remote_and_local_captures_give_the_same_trace",  # fsspec and its stores
    "test_gs.py::test_a_report_of_a_bucket_has_the_figures_of_the_files_on_a_disk",
    "test_s3.py::test_a_report_is_that_of_the_same_files_on_a_disk",
    "test_tables.py",  # pandas
    "test_riegeli.py::test_the_report_is_that_of_the_protocol_buffer",  # Brotli
    "test_cli_export.py::test_tables_as_parquet",  # pyarrow
    "test_cli_export.py::test_numbers_beyond_64_bits_are_floats_in_parquet",
    "test_notebook.py::TestTheExample",
)
TEST_FILES = ("tests", "demo_logs", "docs", "examples", "frontend", "README.md", "Makefile", "pyproject.toml")
"""The files of the project that the tests read. The package is not among them: the tests use the installed wheel."""

PYTEST_OPTIONS = ("-q", "--maxfail=5", "-p", "no:cacheprovider", "-o", "pythonpath=demo_logs tests",
                   "-o", "filterwarnings=error:::tb_xla_insights")  # fmt: skip
"""Only warnings that the project causes are errors: libraries of different years cause warnings in each other."""


class Suite(NamedTuple):
    """The tests without extras or with all of them, and the tools that they need. Of the releases to test with, the
    tools may replace those that begin with one of `replaceable`."""

    name: str
    extras: tuple[str, ...]
    tools: tuple[str, ...]
    tests: tuple[str, ...]
    replaceable: tuple[str, ...] = ()


class CommandError(Exception):
    """A command failed; its output is printed."""


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def suites() -> tuple[Suite, ...]:
    extras = tuple(name for name in project()["optional-dependencies"] if name != "test")
    return (
        Suite("core", (), TOOLS, TESTS),
        Suite("extras", extras, TOOLS_OF_EXTRAS, TESTS_OF_EXTRAS, REPLACEABLE),
    )


def run(*command: object, folder: Path) -> None:
    """Runs a command in a folder. Raises CommandError."""
    arguments = [str(argument) for argument in command]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)  # the installed wheel is tested, and not another copy of the package
    completed = subprocess.run(
        arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if completed.returncode:
        print(completed.stdout, flush=True)
        raise CommandError(" ".join(arguments))


def find_python(version: str) -> str | None:
    """The first interpreter of this version that starts, None if there is none. pyenv puts the names of all its
    versions on the PATH, but only selected ones start."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return str(path)
    return None


def direct_releases(lock: Path) -> str:
    """The releases of the project's own dependencies in a lock file, in one line."""
    extras = project()["optional-dependencies"]
    requirements = [
        *project()["dependencies"],
        *(requirement for name in extras if name != "test" for requirement in extras[name]),
    ]
    names = {text.split(">")[0].split("[")[0].split(";")[0].strip() for text in requirements}
    return " ".join(line for line in lock.read_text().split("\n") if line.split("==")[0] in names)


def check(python: str, wheel: Path, end: str, folder: Path) -> None:
    """Tests the wheel in a new environment in `folder`, with the releases at one end of the ranges. Raises CommandError
    if they cannot be installed or a test fails."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in TEST_FILES:
        (folder / name).symlink_to(ROOT / name)
    environment = folder / "environment"
    run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", python, environment, folder=folder)
    for suite in suites():
        run_suite(suite, python, wheel, end, environment)


def run_suite(suite: Suite, python: str, wheel: Path, end: str, environment: Path) -> None:
    """Installs the wheel with the releases and tools of a suite, and runs its tests. Raises CommandError."""
    folder, pip = environment.parent, (sys.executable, "-m", "uv", "pip")
    lock = folder / f"{suite.name}.txt"
    extras = [f"--extra={name}" for name in suite.extras]
    options = ["--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:", "--python", python]
    resolution = f"--resolution={RESOLUTIONS[end]}"
    run(*pip, "compile", *options, resolution, *extras, "pyproject.toml", "-o", lock, folder=folder)
    print(f"  {suite.name}: {direct_releases(lock)}", flush=True)
    install = [*pip, "install", "--quiet", "--python", environment]
    run(*install, "--requirement", lock, wheel, folder=folder)
    constraints = folder / f"{suite.name}-constraints.txt"
    pinned = [line for line in lock.read_text().splitlines() if not line.startswith(suite.replaceable)]
    constraints.write_text("\n".join(pinned))
    run(*install, "--constraint", constraints, *suite.tools, folder=folder)
    run(*pip, "check", "--quiet", "--python", environment, folder=folder)
    tests = [f"tests/{test}" for test in suite.tests]
    run(environment / "bin/python", "-m", "pytest", *PYTEST_OPTIONS, *tests, folder=folder)
    print(f"  {suite.name}: passed", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("wheel", type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--only", nargs="+", choices=PYTHONS, metavar="PYTHON")
    parser.add_argument("--ends", nargs="+", choices=list(RESOLUTIONS), default=list(RESOLUTIONS))
    options = parser.parse_args()
    results: list[tuple[str, str, str]] = []  # version, end, result
    for version in options.only or PYTHONS:
        python = find_python(version)
        for end in options.ends:
            if python is None:
                results.append((version, end, "SKIPPED: not installed"))
                continue
            print(f"Python {version}, {end} releases", flush=True)
            try:
                check(python, options.wheel, end, ROOT / ".make/ranges" / f"{version}-{end}")
                results.append((version, end, "passed"))
            except CommandError as error:
                results.append((version, end, f"FAILED: {error}"))
    print()
    for version, end, result in results:
        print(f"Python {version}  {end}  {result}")
    must_exist = bool(options.only) and os.environ.get("CI") == "true"
    failures = ("FAILED", "SKIPPED") if must_exist else ("FAILED",)
    return int(any(result.startswith(failures) for _, _, result in results))


if __name__ == "__main__":
    sys.exit(main())
