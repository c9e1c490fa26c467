"""Tests a wheel with the oldest and with the newest releases of all dependencies that pyproject.toml permits and the
registry has for a Python, with each supported Python that is on the PATH or in pyenv: `make ranges`

    python .ci/ranges.py WHEEL [--only 3.11 3.14] [--ends oldest newest]

Needs uv (see .ci/tools.txt) in the Python that runs it. A Python that is not installed is skipped, with a message; with
CI=true, a Python named by --only must be installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ENDS = {"oldest": "lowest-direct", "newest": "highest"}
"""The ends of the ranges, with uv's resolution for each: it applies to the project's direct dependencies. Indirect ones
are always the newest, as they are for users."""

TOOLS = ("hypothesis", "pytest")
TOOLS_OF_EXTRAS = ("gcp-storage-emulator", "ipykernel", "moto[server]", "nbclient")
_UNPINNED = {"extras": ("typing-extensions==", "werkzeug==")}
"""Releases that the tools may replace, because no recent moto accepts the oldest; the tests without extras cover
them."""

# A few tests for each library, since every Python runs them twice.
TESTS = (
    "test_docs.py::test_every_command_and_option_is_listed",  # argparse
    "test_xplane_read.py",  # NumPy and the kernels
    "test_hlo.py",  # protobuf
    "test_json_text.py",  # orjson
    "test_cli_text.py",  # rich
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
    "test_cli_export.py::test_tables_as_parquet",  # pyarrow
    "test_cli_export.py::test_numbers_beyond_64_bits_are_floats_in_parquet",
    "test_notebook.py::TestTheExample",
)
TEST_FILES = ("tests", "demo_logs", "docs", "examples", "README.md", "pyproject.toml")
"""The tests and the files that they read."""
WARNINGS = "filterwarnings=error:::tb_xla_insights"
"""Only warnings that the project causes are errors: releases of different years warn about each other."""


class CommandError(Exception):
    """A command failed; its output is printed."""


def run(*command: object, cwd: Path) -> None:
    """Runs a command with the installed package only. Raises CommandError if it fails."""
    words = [str(word) for word in command]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)  # it could lead to another copy of the package
    process = subprocess.run(
        words, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if process.returncode:
        print(process.stdout, flush=True)
        raise CommandError(" ".join(words))


def find_python(version: str) -> str | None:
    """The path of an interpreter of this version that starts: pyenv puts shims of all its versions on the PATH, also of
    those that are not active."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (shutil.which(f"python{version}"), *sorted(versions.glob(f"{version}.*/bin/python"))):
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return str(path)
    return None


def direct_releases(lock: Path) -> str:
    """The releases of the project's direct dependencies in a lock file, in one line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    direct = [*project["dependencies"], *(line for name in extras if name != "test" for line in extras[name])]
    names = {text.split(">")[0].split("[")[0].split(";")[0].strip() for text in direct}
    return " ".join(line for line in lock.read_text().split("\n") if line.split("==")[0] in names)


def check_wheel(python: str, wheel: Path, end: str, folder: Path) -> None:
    """Installs the wheel with the releases at one end of the ranges, in a new folder, and runs the tests there. Raises
    CommandError if that fails."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in TEST_FILES:
        (folder / name).symlink_to(ROOT / name)
    uv, environment = [sys.executable, "-m", "uv"], folder / "environment"
    run(*uv, "venv", "--quiet", "--python", python, environment, cwd=folder)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [f"--extra={name}" for name in project["optional-dependencies"] if name != "test"]
    for name, selected_extras, tools, tests in (
        ("core", [], TOOLS, TESTS),
        ("extras", extras, TOOLS_OF_EXTRAS, TESTS_OF_EXTRAS),
    ):
        lock = folder / f"{name}.txt"
        options = ["--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:", "--python", python]
        options += [f"--resolution={ENDS[end]}", *selected_extras]
        run(*uv, "pip", "compile", *options, "pyproject.toml", "-o", lock, cwd=folder)
        print(f"  {name}: {direct_releases(lock)}", flush=True)
        install = [*uv, "pip", "install", "--quiet", "--python", environment]
        run(*install, "--requirement", lock, wheel, cwd=folder)
        unpinned = _UNPINNED.get(name, ())
        pins = [line for line in lock.read_text().splitlines() if not line.startswith(unpinned)]
        constraints = folder / f"{name}-constraints.txt"
        constraints.write_text("\n".join(pins))
        run(*install, "--constraint", constraints, *tools, cwd=folder)
        run(*uv, "pip", "check", "--quiet", "--python", environment, cwd=folder)
        pytest = [environment / "bin/python", "-m", "pytest", "-q", "--maxfail=5", "-p", "no:cacheprovider"]
        settings = ["-o", "pythonpath=demo_logs tests", "-o", WARNINGS]
        run(*pytest, *settings, *(f"tests/{test}" for test in tests), cwd=folder)
        print(f"  {name}: passed", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("wheel", type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--only", nargs="+", choices=PYTHONS, metavar="PYTHON")
    parser.add_argument("--ends", nargs="+", choices=list(ENDS), default=list(ENDS))
    options = parser.parse_args()
    results: list[tuple[str, str, str]] = []
    for version in options.only or PYTHONS:
        python = find_python(version)
        for end in options.ends:
            if python is None:
                results.append((version, end, "SKIPPED: not installed"))
                continue
            print(f"Python {version}, {end} releases", flush=True)
            try:
                check_wheel(python, options.wheel, end, ROOT / ".make/ranges" / f"{version}-{end}")
                results.append((version, end, "passed"))
            except CommandError as error:
                results.append((version, end, f"FAILED: {error}"))
    print()
    for version, end, result in results:
        print(f"Python {version}  {end}  {result}")
    is_required = bool(options.only) and os.environ.get("CI") == "true"
    failures = ("FAILED", "SKIPPED") if is_required else ("FAILED",)
    return int(any(result.startswith(failures) for _, _, result in results))


if __name__ == "__main__":
    sys.exit(main())
