"""The golden gate: what the working tree answers, and what a commit answers, about the same sessions, byte by byte.

    python tests/golden/gate.py [BASE]          BASE: a commit; without it, the last one
    python tests/golden/gate.py BASE --only pod   only sessions whose name contains the text

The answers of a commit are kept in build/golden/COMMIT. Prints each output that differs, with the first difference.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "demo_logs"), str(ROOT)]

from golden.sessions import write_sessions  # noqa: E402

BUILD = ROOT / "build/golden"
LOGDIR = Path(tempfile.gettempdir(), "xla-insights-golden")
"""The same path for all runs: texts contain it, and are as wide as it."""
PROCESSES = 2
MAX_LINES = 60


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", default="HEAD")
    parser.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args()
    commit = _git("rev-parse", "--verify", f"{options.base}^{{commit}}")
    shutil.rmtree(LOGDIR, ignore_errors=True)
    write_sessions(LOGDIR)
    try:
        base = BUILD / commit
        if not base.exists():
            _write_outputs(_checkout(commit), base)
        start = time.monotonic()
        new = BUILD / "working_tree"
        shutil.rmtree(new, ignore_errors=True)
        _write_outputs(ROOT, new, options.only)
        return _compare(base, new, options.only, time.monotonic() - start)
    finally:
        shutil.rmtree(LOGDIR)


def _git(*arguments: str) -> str:
    return subprocess.run(
        ("git", *arguments), cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def _checkout(commit: str) -> Path:
    """The package of a commit with its kernels: this checkout's, if they have the same sources."""
    folder = BUILD / "base"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.Popen(("git", "archive", commit), cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(("tar", "-x", "-C", folder), stdin=archive.stdout, check=True)
    sources = ["*kernels.py", "*.pxd", "setup.py"]
    if subprocess.run(("git", "diff", "--quiet", commit, "--", *sources), cwd=ROOT).returncode == 0:
        for kernel in ROOT.glob("tb_xla_insights/**/*.so"):
            shutil.copy(kernel, folder / kernel.relative_to(ROOT))
    else:
        subprocess.run(
            (sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"), cwd=folder, check=True
        )
    return folder


def _write_outputs(checkout: Path, out: Path, only: str = "") -> None:
    """Writes all outputs of a checkout into a new folder, which exists only if all were written."""
    names = sorted(path.name for path in LOGDIR.iterdir() if only in path.name)
    unfinished = out.with_name(f"{out.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    script = [
        sys.executable,
        str(Path(__file__).with_name("outputs.py")),
        str(checkout),
        str(LOGDIR),
        str(unfinished),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    processes = [
        subprocess.Popen([*script, *names[first::PROCESSES]], cwd=checkout, env=environment)
        for first in range(min(PROCESSES, len(names)))
    ]
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"The outputs of {checkout} could not be written.")
    unfinished.rename(out)


def _compare(base: Path, new: Path, only: str, seconds: float) -> int:
    names = [_names(folder, only) for folder in (base, new)]
    different = [
        f"{name}: {_first_difference(*((folder / name).read_bytes() for folder in (base, new)))}"
        for name in sorted(names[0] & names[1])
        if (base / name).read_bytes() != (new / name).read_bytes()
    ]
    different += [f"{name}: only in the base" for name in sorted(names[0] - names[1])]
    different += [f"{name}: new" for name in sorted(names[1] - names[0])]
    print(*different[:MAX_LINES], sep="\n")
    if len(different) > MAX_LINES:
        print(f"and {len(different) - MAX_LINES} more")
    print(f"{len(names[1])} outputs in {seconds:.0f} s, {len(different)} differ")
    return int(bool(different))


def _names(folder: Path, only: str) -> set[str]:
    return {
        str(path.relative_to(folder))
        for session in folder.iterdir()
        if only in session.name
        for path in session.iterdir()
    }


def _first_difference(old: bytes, new: bytes) -> str:
    with contextlib.suppress(ValueError):
        return _difference_of(*(json.loads(max(data.split(b"\n"), key=len)) for data in (old, new)))
    lines = zip(*(data.decode(errors="replace").splitlines() for data in (old, new)), strict=False)
    return next((f"{a!r} -> {b!r}" for a, b in lines if a != b), "the length")


def _difference_of(old: Any, new: Any, path: str = "") -> str:
    """The path of the first value that differs in two JSON documents, and both values."""
    if isinstance(old, dict) and isinstance(new, dict) and list(old) == list(new):
        keys: list[Any] = list(old)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        keys = [*range(len(old))]
    elif old == new:
        return "the order of keys, or the text around the document"
    else:
        return f"{path}: {str(old)[:160]} -> {str(new)[:160]}"
    return next(
        (_difference_of(old[key], new[key], f"{path}.{key}") for key in keys if old[key] != new[key]), "order"
    )


if __name__ == "__main__":
    sys.exit(main())
