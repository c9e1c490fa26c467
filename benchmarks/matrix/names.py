#!/usr/bin/env python3
"""Compare the catalogue's names of TorchTPU with the strings in the libraries of its wheel.

    python benchmarks/matrix/names.py torch_tpu-0.2.0-….whl

Prints the names that no library has, and fails if there are any.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from zipfile import ZipFile

SOURCE = "TorchTPU"


def catalogue_names() -> list[str]:
    groups = json.loads(files("tb_xla_insights.catalog").joinpath("host_events.json").read_text())["groups"]
    return [
        name
        for group in groups
        if group["source"] == SOURCE
        for name in (*group.get("names", ()), *group.get("prefixes", ()))
    ]


def missing_names(wheel: str) -> list[str]:
    """The names that are in none of the wheel's libraries."""
    missing = catalogue_names()
    with ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.endswith(".so"):
                library = archive.read(member)
                missing = [name for name in missing if name.encode() not in library]
    return missing


def main() -> None:
    names, missing = catalogue_names(), missing_names(sys.argv[1])
    print(f"{len(names) - len(missing)} of {len(names)} names of {SOURCE} are in its libraries.")
    if missing:
        sys.exit(f"Not there: {', '.join(missing)}")


if __name__ == "__main__":
    main()
