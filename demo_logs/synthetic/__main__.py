"""Writes every synthetic session into the logdir around this package: `python -m synthetic`, from `demo_logs`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from synthetic import case_study, dynamo_issue, pod, transformer
from synthetic.writer import Space

LOGDIR = Path(__file__).resolve().parents[1]


def sessions() -> dict[Path, Callable[[], Space]]:
    """Every synthetic session, by its path below the logdir."""
    builders: dict[Path, Callable[[], Space]] = {case_study.path(): case_study.build}
    builders[transformer.path()] = transformer.build
    builders |= {pod.path(host): partial(pod.build, host) for host in range(pod.DEMO.hosts)}
    return builders | {
        dynamo_issue.path(mode): partial(dynamo_issue.build, mode) for mode in dynamo_issue.MODES
    }


def main() -> None:
    for path, build in sessions().items():
        file = build().write(LOGDIR / path)
        print(f"{path}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
