"""Collects the pages of the documentation's site: `python docs/collect.py FOLDER`, as `make docs` does.

The site has the README, all files that it links to directly or indirectly, and a style sheet, each under its path in
the repository, so that links work in both. MkDocs cannot read the repository itself, which has pages outside the folder
`docs`. Only the site has the demo sessions as static copies of the page.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMOS = {
    "case-study": "synthetic_case_study_8_tpu_cores",
    "pod": "synthetic_pod_16_hosts",
    "busy-device": "synthetic_transformer_2_tpu_cores",
    "slow-loader": "torch_xla_slow_input",
}
"""The run of the demo logdir in each static copy, by the name of its file below `docs/demos`."""

_LINK = re.compile(r'\]\(([^)#:]+)(?:#[^)]*)?\)|(?:src|srcset)="([^":]+)"')


def linked_files(start: Path) -> Iterator[Path]:
    """Yields a page and all files that it links to, directly or indirectly, each once."""
    pending, visited = [start], {start}
    while pending:
        path = pending.pop()
        yield path
        if path.suffix == ".md":
            targets = {
                (path.parent / (page or picture)).resolve()
                for page, picture in _LINK.findall(path.read_text())
            }
            pending.extend(sorted(path for path in targets - visited if path.parent.name != "demos"))
            visited |= targets


def collect(folder: Path) -> None:
    """Writes the site's files into a folder and removes its previous content. Raises CalledProcessError if a static
    copy cannot be written."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in (*linked_files(ROOT / "README.md"), ROOT / "docs/site.css"):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    demos = folder / "docs/demos"
    demos.mkdir()
    for name, run in DEMOS.items():
        command = [sys.executable, "-m", "tb_xla_insights", "report", str(ROOT / "demo_logs" / run)]
        subprocess.run([*command, "--html", str(demos / f"{name}.html")], check=True)


if __name__ == "__main__":
    collect(Path(sys.argv[1]))
