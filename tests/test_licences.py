"""The licences of all dependencies allow the use that Apache-2.0 allows, and the page has only the project's code."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

FREE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0",
    "PSF-2.0", "Zlib",
}  # fmt: skip
"""Licences that require at most a notice with copies of the code; MPL-2.0 also requires the source of changed files.
The project only installs the packages."""

OLDER_NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def licences(installed: Distribution) -> set[str]:
    """The licences by SPDX name: from the expression in newer metadata, else from classifiers, else from free text."""
    metadata = installed.metadata
    if expression := " ".join(metadata.get_all("License-Expression", [])):
        return set(re.findall(r"[\w.+-]+", expression)) - {"AND", "OR", "WITH"}
    classifiers = [text for text in metadata.get_all("Classifier", []) if text.startswith("License ::")]
    names = [text.rpartition(" :: ")[2] for text in classifiers] or metadata.get_all("License", ["none"])
    return {OLDER_NAMES.get(name, name) for name in names}


def installed_closure(requirements: list[Requirement]) -> Iterator[Distribution]:
    """The requirements and, recursively, their requirements, as far as they are installed."""
    visited: set[tuple[str, str]] = set()
    while requirements:
        requirement = requirements.pop()
        for extra in {"", *requirement.extras}:
            key = (canonicalize_name(requirement.name), extra)
            if key in visited:
                continue
            visited.add(key)
            try:
                installed = distribution(requirement.name)
            except PackageNotFoundError:
                continue
            yield installed
            required = map(Requirement, installed.requires or [])
            requirements += [
                candidate
                for candidate in required
                if not candidate.marker or candidate.marker.evaluate({"extra": extra})
            ]


@pytest.mark.parametrize(
    "extra", ["", *(name for name in PROJECT["optional-dependencies"] if name != "test")]
)
def test_licences_of_all_dependencies_are_free(extra: str) -> None:
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    packages = list(installed_closure([Requirement(line) for line in lines]))
    if not packages:
        pytest.skip(f"the extra {extra} is not installed")
    other_licences = {package.name: licences(package) - FREE for package in packages}
    assert {name: names for name, names in other_licences.items() if names} == {}


def test_the_page_contains_no_third_party_modules() -> None:
    """`pack.js` applies the same rule to the packed page."""
    for path in (ROOT / "frontend").rglob("*.js"):
        if "packed" not in path.parts:
            text = path.read_text()
            imported = re.findall(r"""^(?:import|export)\b[^;]*?from\s*['"](.+?)['"]""", text, re.MULTILINE)
            imported += re.findall(r"""\bimport\(\s*['"](.+?)['"]""", text)
            assert all(name.startswith(("../", "./")) for name in imported), path
