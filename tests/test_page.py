"""The page's files: the imports of its modules, and a packed page that is valid only with the sources it was packed
from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb_xla_insights.page.folder import page_folder
from tb_xla_insights.page.packed import is_packed, read_packed, read_sources, source_paths

STATIC_IMPORT = re.compile(r"^import (?:[^']* from )?'(\.[^']+)';|^\} from '(\.[^']+)';", re.MULTILINE)
DYNAMIC_IMPORT = re.compile(r"\bawait import\('(\.[^']+)'\)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("index.js", "lib/dom.js", "index.css"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"/* {name} */\n")
    (tmp_path / "lib/.#dom.js").write_text("an editor's own")
    (tmp_path / "lib/types.d.ts").write_text("export {};\n")
    return tmp_path


def write_packed(folder: Path, digest: str) -> None:
    packed = folder / "packed"
    packed.mkdir(exist_ok=True)
    for name in ("index.js.br", "index.js.gzip", "index.js.map.gzip"):
        (packed / name).write_bytes(name.encode())
    (packed / "sources.sha256").write_text(digest)


# sha256 over "PATH NUL LENGTH NUL CONTENT" of index.css, index.js and lib/dom.js
DIGEST = "53430579068ec02f3f1a6d1b8ce6136ac270249299f97ac2c31ef58a1799d3db"


def test_sources_are_scripts_and_style_sheets_in_one_order(folder: Path) -> None:
    write_packed(folder, "")
    assert list(source_paths(folder)) == ["index.css", "index.js", "lib/dom.js"]
    assert read_sources(folder)["lib/dom.js"] == b"/* lib/dom.js */\n"


def test_the_packed_page_is_valid_only_for_its_source_files(folder: Path) -> None:
    write_packed(folder, DIGEST)
    assert read_packed(folder, read_sources(folder)) == {
        "packed/index.js": {"br": b"index.js.br", "gzip": b"index.js.gzip"},
        "packed/index.js.map": {"gzip": b"index.js.map.gzip"},
    }
    assert is_packed(folder)
    (folder / "lib/dom.js").write_text("/* edited */\n")
    assert read_packed(folder, read_sources(folder)) == {}


def test_a_folder_without_a_packed_page_is_not_packed(folder: Path, tmp_path: Path) -> None:
    assert not is_packed(folder)
    assert not is_packed(tmp_path / "missing")


def imported(path: Path, pattern: re.Pattern[str]) -> set[Path]:
    matches = pattern.finditer(path.read_text())
    return {(path.parent / next(filter(None, match.groups()))).resolve() for match in matches}


def module_closure(entry: Path) -> set[Path]:
    """A module and all its static imports, direct and indirect."""
    visited: set[Path] = set()
    waiting = [entry.resolve()]
    while waiting:
        path = waiting.pop()
        if path not in visited:
            visited.add(path)
            waiting += imported(path, STATIC_IMPORT)
    return visited


def test_every_module_is_imported_with_the_first_load_a_view_or_the_static_copy() -> None:
    page = page_folder().resolve()
    first_modules = module_closure(page / "index.js")
    views = imported(page / "frame/views.js", DYNAMIC_IMPORT)
    assert {path.parent.name for path in views} >= {"timeline", "compare"}
    assert not views & first_modules  # they would be in the first load
    static_copy = module_closure(page / "static-copy/main.js")
    assert static_copy.union(first_modules, *map(module_closure, views)) == set(page.rglob("*.js"))
