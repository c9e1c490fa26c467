"""The sessions of the golden gate: the recorded ones, random mixtures of their hosts, and random hosts.

Of most random sessions only the report is compared: they are for the rules by which rows of several hosts are merged.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from shutil import copyfile

from captures import space_of
from golden.outputs import REPORT_ONLY
from test_report_random import any_gpu_hosts, any_hosts

ROOT = Path(__file__).parents[2]
MIXTURES, RANDOM_SESSIONS, MERGED_SESSIONS = 10, 10, 30
MAX_HOSTS = 6
START_S = 1_700_000_000
"""When random hosts were recorded, and files written, in epoch seconds."""


def write_sessions(logdir: Path) -> None:
    """Writes all sessions below a logdir, in folders with short fixed names: the width of texts depends on them."""
    recorded = sorted(
        {path.parent for top in ("demo_logs", "tests/recorded") for path in (ROOT / top).rglob("*.xplane.pb")}
    )
    for folder in recorded:
        name = str(folder.relative_to(ROOT)).partition("/plugins/")[0].replace("/", "-")
        _copy(logdir, name, {path.name: path for path in folder.iterdir()})
    hosts = [path for folder in recorded for path in sorted(folder.glob("*.xplane.pb"))]
    pick = Random(1)
    for number in range(MIXTURES):
        chosen = pick.sample(hosts, pick.randint(2, MAX_HOSTS))
        _copy(logdir, f"mixture{number}", {f"h{index}.xplane.pb": path for index, path in enumerate(chosen)})
    for seed in range(RANDOM_SESSIONS + MERGED_SESSIONS):
        name = f"{'random' if seed < RANDOM_SESSIONS else REPORT_ONLY}{seed}"
        _write_random_hosts(logdir / name / "plugins/profile/s", Random(seed))
    for path in logdir.rglob("*"):
        os.utime(path, (START_S, START_S))


def _copy(logdir: Path, name: str, files: dict[str, Path]) -> None:
    """Copies the files of a session, and the text files beside the logdirs that they are from."""
    run = logdir / name
    folder = run / "plugins/profile/s"
    folder.mkdir(parents=True)
    for file_name, path in files.items():
        copyfile(path, folder / file_name)
    for text in {
        text.name: text for path in files.values() for text in path.parents[3].glob("*.txt")
    }.values():
        copyfile(text, run / text.name)


def _write_random_hosts(folder: Path, pick: Random) -> None:
    """Two to four hosts that have programs, ops and annotations in common, so that rows of several hosts are merged;
    mixtures of recorded hosts hardly have any."""
    make = pick.choice((any_hosts, any_gpu_hosts))
    for number in range(pick.choice((2, 3, 4))):
        start_ns = START_S * 10**9 + 10_000 * number
        environment = {"profile_start_time": start_ns}
        space_of(*make(pick)[0], environment=environment).write(folder / f"w-{number}.xplane.pb")
