"""Tests a wheel with the oldest and the newest releases of all it depends on, of those that pyproject.toml admits and
that the registry has for a Python, with each supported Python that is on the PATH or in pyenv: `make ranges`

    python .ci/ranges.py WHEEL [--only 3.11 3.14] [--ends oldest newest]

Run by a Python that has uv, as .ci/tools.txt names it. A Python that is not there is skipped, and that is said; under
CI=true one that is asked for by --only must be there.
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
"""Of what the project itself depends on. What that in turn brings is always the newest, as it is for users."""

TOOLS = ("hypothesis", "pytest")
TOOLS_OF_EXTRAS = ("gcp-storage-emulator", "ipykernel", "moto[server]", "nbclient")
_LIFTED = {"extras": ("typing-extensions==", "werkzeug==")}
"""Releases that the tools may replace, as no recent moto takes the oldest; the tests without extras cover those."""

# A few for each library, as every Python runs them twice.
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
BESIDE_TESTS = ("tests", "demo_logs", "docs", "examples", "README.md", "pyproject.toml")
WARNINGS = "filterwarnings=error:::tb_xla_insights"
"""Those that the project causes. Releases of different years warn of each other."""


class CommandError(Exception):
    """A command failed; its output is printed."""


def run(*command: object, cwd: Path) -> None:
    texts = [str(part) for part in command]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    # What is tested is installed, whatever lies around.
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        texts, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        print(done.stdout, flush=True)
        raise CommandError(" ".join(texts))


def interpreter(version: str) -> str | None:
    """One that starts: pyenv puts names of all its versions on the PATH, of which few may be chosen."""
    of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (shutil.which(f"python{version}"), *sorted(of_pyenv.glob(f"{version}.*/bin/python"))):
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return str(path)
    return None


def releases(lock: Path) -> str:
    """Of what the project itself depends on, in a line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    direct = [*project["dependencies"], *(line for name in extras if name != "test" for line in extras[name])]
    names = {text.split(">")[0].split("[")[0].split(";")[0].strip() for text in direct}
    return " ".join(line for line in lock.read_text().split("\n") if line.split("==")[0] in names)


def check(python: str, wheel: Path, end: str, place: Path) -> None:
    """Raises CommandError where what the releases at one end of the ranges give cannot be installed or fails a test."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in BESIDE_TESTS:
        (place / name).symlink_to(ROOT / name)
    uv, environment = [sys.executable, "-m", "uv"], place / "environment"
    run(*uv, "venv", "--quiet", "--python", python, environment, cwd=place)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [f"--extra={name}" for name in project["optional-dependencies"] if name != "test"]
    for name, chosen, tools, tests in (
        ("core", [], TOOLS, TESTS),
        ("extras", extras, TOOLS_OF_EXTRAS, TESTS_OF_EXTRAS),
    ):
        lock = place / f"{name}.txt"
        options = ["--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:", "--python", python]
        resolution = f"--resolution={ENDS[end]}"
        run(*uv, "pip", "compile", *options, resolution, *chosen, "pyproject.toml", "-o", lock, cwd=place)
        print(f"  {name}: {releases(lock)}", flush=True)
        install = [*uv, "pip", "install", "--quiet", "--python", environment]
        run(*install, "--requirement", lock, wheel, cwd=place)
        constraints = place / f"{name}-constraints.txt"
        fixed = [line for line in lock.read_text().splitlines() if not line.startswith(_LIFTED.get(name, ()))]
        constraints.write_text("\n".join(fixed))
        run(*install, "--constraint", constraints, *tools, cwd=place)
        run(*uv, "pip", "check", "--quiet", "--python", environment, cwd=place)
        pytest = [environment / "bin/python", "-m", "pytest", "-q", "--maxfail=5", "-p", "no:cacheprovider"]
        paths = ["-o", "pythonpath=demo_logs tests", "-o", WARNINGS]
        run(*pytest, *paths, *(f"tests/{test}" for test in tests), cwd=place)
        print(f"  {name}: passed", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("wheel", type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--only", nargs="+", choices=PYTHONS, metavar="PYTHON")
    parser.add_argument("--ends", nargs="+", choices=list(ENDS), default=list(ENDS))
    options = parser.parse_args()
    results: list[tuple[str, str, str]] = []
    for version in options.only or PYTHONS:
        python = interpreter(version)
        for end in options.ends:
            if python is None:
                results.append((version, end, "SKIPPED: not installed"))
                continue
            print(f"Python {version}, {end} releases", flush=True)
            try:
                check(python, options.wheel, end, ROOT / ".make/ranges" / f"{version}-{end}")
                results.append((version, end, "passed"))
            except CommandError as failure:
                results.append((version, end, f"FAILED: {failure}"))
    print()
    for version, end, result in results:
        print(f"Python {version}  {end}  {result}")
    required = bool(options.only) and os.environ.get("CI") == "true"
    bad = ("FAILED", "SKIPPED") if required else ("FAILED",)
    return int(any(result.startswith(bad) for _, _, result in results))


if __name__ == "__main__":
    sys.exit(main())
