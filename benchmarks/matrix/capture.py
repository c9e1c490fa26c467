#!/usr/bin/env python3
"""Record every program with every version of JAX, TensorFlow and PyTorch/XLA, each with its own measurements.

    sudo python benchmarks/matrix/capture.py OUT [--environments DIR] [--only ENVIRONMENT…] [--programs NAME…]

Captures are in OUT/ENVIRONMENT/PROGRAM, those with Python's calls in OUT/ENVIRONMENT/PROGRAM-traced; existing ones are
kept. Missing environments, one per file of `requirements`, are created below DIR. As root, programs get the host name
`demo-host`, so that files do not contain the machine's, and a higher priority than other processes.
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

from neutral import environment_of, run_as_demo_host  # noqa: E402

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
PROGRAMS_ON_MANY_DEVICES = ("shard_map", "pmap")
TRACED_PROGRAMS = (
    "steady", "new_shapes", "slow_loader_bare", "op_by_op", "pure_callback", "python_between", "fit_slow_input",
)  # fmt: skip
"""Programs that are recorded with Python's calls too. PyTorch/XLA's profiler records none."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment with one version of a framework, named after its requirements file (`jax0.9.2`). The first
    line of that file names the Python version: `# python 3.11`."""

    requirements: Path

    @property
    def name(self) -> str:
        return self.requirements.stem

    @property
    def framework(self) -> str:
        return self.name.rstrip(".0123456789")

    def python_in(self, environments: Path) -> Path:
        """The environment's interpreter. Creates the environment if it is missing or outdated."""
        folder = environments / self.name
        python, installed = folder / "bin/python", folder / "requirements.txt"
        if not installed.exists() or installed.read_text() != self.requirements.read_text():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([self._base_python(), "-m", "venv", folder], check=True)
            pip = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", self.requirements]
            subprocess.run(pip, check=True)
            shutil.copy(self.requirements, installed)
        return python

    def _base_python(self) -> str:
        """An interpreter of the required version: one of pyenv's, or on the PATH."""
        version = self.requirements.read_text().split("\n")[0].removeprefix("# python ")
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        candidates = [*sorted(pyenv.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}")]
        if candidates[0] is None:
            sys.exit(f"{self.name} needs Python {version}: put python{version} on the PATH")
        return str(candidates[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=lambda text: Path(text).resolve())
    parser.add_argument("--environments", type=Path, default=BUILD / "environments", metavar="DIR")
    parser.add_argument("--only", nargs="*", metavar="ENVIRONMENT", help="names of the requirements files")
    parser.add_argument("--programs", nargs="*", metavar="NAME")
    options = parser.parse_args()
    programs = options.out / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    for file in (
        *HERE.glob("train_*.py"),
        HERE / "truth.py",
        WHAT_IF / "quiet.py",
        WHAT_IF / "programs_torch.py",
    ):
        shutil.copy(file, programs)
    files = {file.stem: file for file in sorted(HERE.glob("requirements/*.txt"))}
    failed = 0
    for name in options.only or files:
        environment = Environment(files[name])
        python = environment.python_in(options.environments.absolute())
        for program in FRAMEWORKS[environment.framework]:
            if options.programs and program not in options.programs:
                continue
            is_traced = environment.framework != "torch_xla" and program in TRACED_PROGRAMS
            for tracer in (PLAIN, TRACED) if is_traced else (PLAIN,):
                failed += not capture(options.out, environment, python, program, tracer)
    sys.exit(f"{failed} captures failed" if failed else 0)


def capture(out: Path, environment: Environment, python: Path, program: str, tracer: str) -> bool:
    """Records one program, unless its capture exists. Returns whether the capture exists now."""
    folder = Path(environment.name) / (program if tracer == PLAIN else f"{program}-{tracer}")
    truth = out / folder / "truth.json"
    if truth.exists():
        return True
    shutil.rmtree(out / folder, ignore_errors=True)
    (out / folder).mkdir(parents=True)
    variables = environment_of(out)
    if program in PROGRAMS_ON_MANY_DEVICES:
        variables["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    command = [python, f"programs/train_{environment.framework}.py", program, tracer, folder]
    output = out / folder / "output.txt"
    result = run_as_demo_host([str(argument) for argument in command], out, variables, output, TIMEOUT_S)
    if truth.exists():
        measured = json.loads(truth.read_text())
        output.unlink()
        result = f"{measured['wall_ms']:.0f} ms{', disturbed' if measured['disturbed'] else ''}"
    print(f"{folder}  {result}", flush=True)
    return truth.exists()


if __name__ == "__main__":
    main()
