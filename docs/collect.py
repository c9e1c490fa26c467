"""Collects the pages of the documentation's site: `python docs/collect.py FOLDER`, as `make docs` does.

The site has the README, all that it leads to, and its style, each file at its place in the project: a link that works
there works in the site as well. MkDocs does not read the project itself, since that has pages above its folder of
documents.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r'\]\(([^)#:]+)(?:#[^)]*)?\)|(?:src|srcset)="([^":]+)"')


def linked(start: Path) -> Iterator[Path]:
    """A page, and the files that links lead to from there, each once."""
    waiting, seen = [start], {start}
    while waiting:
        path = waiting.pop()
        yield path
        if path.suffix == ".md":
            targets = {
                (path.parent / (page or picture)).resolve()
                for page, picture in _LINK.findall(path.read_text())
            }
            waiting.extend(sorted(targets - seen))
            seen |= targets


def collect(folder: Path) -> None:
    """Writes the site's files into a folder, in place of what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in (*linked(ROOT / "README.md"), ROOT / "docs/site.css"):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


if __name__ == "__main__":
    collect(Path(sys.argv[1]))
