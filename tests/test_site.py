"""The site of the documentation has every page, builds strictly, and asks no other server for anything."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.collect import ROOT, collect, linked_files

NAVIGATION = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]


def test_every_page_is_in_the_navigation() -> None:
    pages = {str(path.relative_to(ROOT)) for path in linked_files(ROOT / "README.md") if path.suffix == ".md"}
    assert sorted(re.findall(r": (\S+\.md)$", NAVIGATION, re.MULTILINE)) == sorted(pages)


def test_the_site_builds_and_is_complete(tmp_path: Path) -> None:
    if importlib.util.find_spec("material") is None:
        pytest.skip("THE SITE IS NOT BUILT: mkdocs is missing; pip install --group docs")
    collect(tmp_path / "build/site-source")
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text())
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=tmp_path,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    pages = [path.read_text() for path in (tmp_path / "build/site").rglob("*.html")]
    assert len(pages) > 25
    for page in pages:
        addresses = re.findall(
            r'<(?:script|img|source|iframe)[^>]+src(?:set)?="([^"]+)"|<link[^>]+href="([^"]+)"', page
        )
        assert not [request for request in addresses if re.match(r"(https?:)?//", "".join(request))]
