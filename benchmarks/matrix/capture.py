#!/usr/bin/env python3
"""Record every program with every version of JAX, TensorFlow and PyTorch/XLA, each with what it knows of itself.

    sudo python benchmarks/matrix/capture.py OUT [--environments DIR] [--only ENVIRONMENT…] [--programs NAME…]

Captures lie in OUT/ENVIRONMENT/PROGRAM, those with Python's calls in OUT/ENVIRONMENT/PROGRAM-traced; those that are
there already are kept. Environments, a file of `requirements` each, are made below DIR where they are not yet. As root,
programs get the host name `demo-host`, so that files do not tell the machine's, and go before other processes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHAT_IF = HERE.parent / "what_if"
sys.path.append(str(WHAT_IF))

from neutral import as_demo_host, environment_of  # noqa: E402

BUILD = HERE.parents[1] / "build"
TIMEOUT_S = 300
PLAIN, TRACED = "plain", "traced"

JAX = (
    "steady", "unannotated", "block", "float_loss", "read_and_work", "new_shapes", "new_lambda", "slow_loader",
    "slow_loader_bare", "slow_thread", "prefetch", "op_by_op", "scan", "donation", "shard_map", "pmap",
    "pure_callback", "io_callback", "evaluation", "python_between",
)  # fmt: skip
FRAMEWORKS = {
    "jax": JAX,
    "tensorflow": ("steady", "slow_input", "fit", "fit_slow_input", "compiled", "compiled_new_shapes"),
    "torch_xla": (
        "steady", "read_in_forward", "read_after_step", "slow_loader", "prefetch", "new_shapes", "cpu_fallback",
        "sync_per_update", "graph_break",
    ),
}  # fmt: skip
OF_MANY_DEVICES = ("shard_map", "pmap")
WITH_PYTHON = (
    "steady", "new_shapes", "slow_loader_bare", "op_by_op", "pure_callback", "python_between", "fit_slow_input",
)  # fmt: skip
"""Recorded with Python's calls too. PyTorch/XLA's profiler records none."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment with one version of a framework, as its file of requirements is called: `jax0.9.2`.
    That file's first line names the Python: `# python 3.11`."""

    requirements: Path

    @property
    def name(self) -> str:
        return self.requirements.stem

    @property
    def framework(self) -> str:
        return self.name.rstrip(".0123456789")

    def python_in(self, environments: Path) -> Path:
        """Its interpreter. The environment is made where it is not there, or other than required."""
        place = environments / self.name
        python, installed = place / "bin/python", place / "requirements.txt"
        if not installed.exists() or installed.read_text() != self.requirements.read_text():
            shutil.rmtree(place, ignore_errors=True)
            subprocess.run([self._base(), "-m", "venv", place], check=True)
            pip = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", self.requirements]
            subprocess.run(pip, check=True)
            shutil.copy(self.requirements, installed)
        return python

    def _base(self) -> str:
        """An interpreter of the wanted version: on the path, or one of pyenv's."""
        version = self.requirements.read_text().split("\n")[0].removeprefix("# python ")
        of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        found = [*sorted(of_pyenv.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}")]
        if found[0] is None:
            sys.exit(f"{self.name} needs Python {version}: put python{version} on the PATH")
        return str(found[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=lambda text: Path(text).resolve())
    parser.add_argument("--environments", type=Path, default=BUILD / "environments", metavar="DIR")
    parser.add_argument(
        "--only", nargs="*", metavar="ENVIRONMENT", help="as the files of requirements are called"
    )
    parser.add_argument("--programs", nargs="*", metavar="NAME")
    options = parser.parse_args()
    programs = options.out / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    for file in (*HERE.glob("t*.py"), WHAT_IF / "quiet.py", WHAT_IF / "programs_torch.py"):
        shutil.copy(file, programs)
    files = {file.stem: file for file in sorted(HERE.glob("requirements/*.txt"))}
    failed = 0
    for name in options.only or files:
        environment = Environment(files[name])
        python = environment.python_in(options.environments.absolute())
        for program in FRAMEWORKS[environment.framework]:
            if options.programs and program not in options.programs:
                continue
            tracers = (PLAIN, TRACED) if program in WITH_PYTHON else (PLAIN,)
            for tracer in tracers if environment.framework != "torch_xla" else (PLAIN,):
                failed += not capture(options.out, environment, python, program, tracer)
    sys.exit(f"{failed} captures failed" if failed else 0)


def capture(out: Path, environment: Environment, python: Path, program: str, tracer: str) -> bool:
    """Whether the capture is there now."""
    place = Path(environment.name) / (program if tracer == PLAIN else f"{program}-{tracer}")
    truth = out / place / "truth.json"
    if truth.exists():
        return True
    shutil.rmtree(out / place, ignore_errors=True)
    (out / place).mkdir(parents=True)
    variables = environment_of(out)
    if program in OF_MANY_DEVICES:
        variables["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    command = [python, f"programs/train_{environment.framework}.py", program, tracer, place]
    with (out / place / "output.txt").open("w") as output:
        ended = "failed"
        try:
            run = subprocess.run(
                as_demo_host([str(part) for part in command]),
                cwd=out,
                env=variables,
                stdout=output,
                stderr=output,
                timeout=TIMEOUT_S,
                start_new_session=True,
            )
            ended = f"failed ({run.returncode})"
        except subprocess.TimeoutExpired:
            ended = f"not done after {TIMEOUT_S} s"
    if truth.exists():
        told = json.loads(truth.read_text())
        (out / place / "output.txt").unlink()
        ended = f"{told['wall_ms']:.0f} ms{', disturbed' if told['disturbed'] else ''}"
    print(f"{place}  {ended}", flush=True)
    return truth.exists()


if __name__ == "__main__":
    main()
