"""The page's files and their addresses."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from werkzeug.test import Client

from tb_xla_insights.plugin.assets import Assets
from tb_xla_insights.plugin.respond import application

YEAR = "private, max-age=31536000"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "frontend"
    (folder / "lib").mkdir(parents=True)
    (folder / "index.js").write_text("import './lib/x.js'; // é")
    (folder / "lib/x.js").write_text("x")
    (folder / "lib/x.test.js").write_text("test")
    (folder / "lib/types.d.ts").write_text("types")
    (folder / "styles.css").write_text("a{}")
    (tmp_path / "secret.js").write_text("secret")
    return folder


def client(assets: Assets) -> Client:
    return Client(application(assets.serve))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("index.js", "text/javascript"), ("lib/x.js", "text/javascript"), ("styles.css", "text/css")],
)
def test_a_file_comes_packed_typed_and_for_keeps(folder: Path, name: str, kind: str) -> None:
    assets = Assets(folder)
    address = f"/static/{assets.digest()}/{name}"
    answer = client(assets).get(address, headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200
    assert gzip.decompress(answer.data) == (folder / name).read_bytes()
    assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Cache-Control"] == YEAR
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_comments_on_lines_of_their_own_stay_at_home(folder: Path) -> None:
    (folder / "lib/x.js").write_text(
        "/** A\n * b. */\n  // c\nlet x = 1; // d\nlet y = '/* e */'; /* f */\n/* g */ x\n"
    )
    assets = Assets(folder)
    answer = client(assets).get(f"/static/{assets.digest()}/lib/x.js")
    assert answer.text == "let x = 1; // d\nlet y = '/* e */'; /* f */\n/* g */ x\n"


def test_who_cannot_unpack_gets_it_plain(folder: Path) -> None:
    assets = Assets(folder)
    answer = client(assets).get(f"/static/{assets.digest()}/lib/x.js")
    assert answer.data == b"x"
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(
    "name",
    [
        "../secret.js",
        "%2e%2e/secret.js",
        "lib/../../secret.js",
        "lib/x.test.js",
        "lib/types.d.ts",
        "lib",
        "",
        "/etc/passwd",
    ],
)
def test_only_the_page_s_own_files_are_served(folder: Path, name: str) -> None:
    assets = Assets(folder)
    answer = client(assets).get(f"/static/{assets.digest()}/{name}")
    assert answer.status_code == 404
    assert list(answer.get_json(force=True)) == ["error"]


def test_the_address_changes_with_any_content(folder: Path) -> None:
    assets = Assets(folder)
    first = assets.digest()
    assert assets.digest() == first == Assets(folder).digest()
    (folder / "lib/x.js").write_text("other")
    second = assets.digest()
    assert second != first
    old = client(assets).get(f"/static/{first}/lib/x.js")
    assert old.data == b"other"  # an open page goes on working, but keeps nothing under a stale address
    assert old.headers["Cache-Control"] != YEAR


def test_an_installation_without_the_page_says_so(tmp_path: Path) -> None:
    assets = Assets(tmp_path / "missing")
    answer = client(assets).get(f"/static/{assets.digest()}/index.js")
    assert answer.status_code == 404
    assert "reinstall" in answer.get_json(force=True)["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_is_written(folder: Path, method: str) -> None:
    assets = Assets(folder)
    answer = client(assets).open(f"/static/{assets.digest()}/index.js", method=method)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
