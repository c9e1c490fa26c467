"""Options that several commands have, and the parsers of their values."""

from __future__ import annotations

import argparse

from tb_xla_insights.errors import InputError
from tb_xla_insights.text import units


def add_session(parser: argparse.ArgumentParser) -> None:
    """Adds PATH, `--session`, `--catalog` and `--scheduler`."""
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="+",
        help="a .xplane.pb file, a session directory or a logdir; local or a URL; several are read as one session",
    )
    parser.add_argument(
        "--session", metavar="NAME", help="the session, if PATH is a logdir (default: the newest)"
    )
    parser.add_argument("--catalog", metavar="FILE", help="a JSON file with further host event names")
    add_scheduler(parser)


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler",
        type=_scheduler,
        metavar="ADDRESS",
        help="a Dask scheduler, such as tcp://HOST:8786, whose workers read the hosts (default: local processes)",
    )


def _scheduler(text: str) -> str:
    from tb_xla_insights.tasks.address import scheduler_address

    try:
        return scheduler_address(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_json(parser: argparse.ArgumentParser, text: str = "one JSON document, times in picoseconds") -> None:
    parser.add_argument("--json", action="store_true", help=text)


def parse_samples(text: str) -> float:
    """Parses the value of `--samples-per-step`."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= units.MAX_SAMPLES_PER_STEP:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a number of samples; give a number above 0 and up to {units.MAX_SAMPLES_PER_STEP:g}"
        )
    return int(value) if value == int(value) else value


def parse_peaks(text: str) -> tuple[float, float]:
    """Parses the value of `--peaks`."""
    try:
        return units.parse_peaks(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not FLOP/s,bytes/s; give {units.PEAKS_RANGE_TEXT}, such as 918e12,1638e9"
        ) from error
