"""How the page's files are served: under addresses that change with their content, as each client takes them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from tb_xla_insights.page.pack import pack
from tb_xla_insights.plugin.assets import Assets
from tb_xla_insights.plugin.respond import application

YEAR = "private, max-age=31536000"
SCRIPT = (
    "export const { render } = (() => {\nlet render;\n{\nrender = function() {};\n}\n"
    "return { render };\n})();\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "frontend"
    folder.mkdir()
    (folder / "index.js").write_text("export function render() {}\n")
    (folder / "other.js").write_text("export const other = 1;\n")
    (folder / "index.css").write_text("@import './more.css';\nb { c: d }\n")
    (folder / "more.css").write_text("a{}\n")
    (tmp_path / "secret.js").write_text("secret")
    return folder


@pytest.fixture
def brotli() -> Any:
    """The package, where the page can be packed."""
    pytest.importorskip("minify")
    return pytest.importorskip("brotli")


def client(assets: Assets) -> Client:
    return Client(application(assets.serve))


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [("index.js", "text/javascript", SCRIPT), ("index.css", "text/css", "a{}b{c:d}")],
)
def test_what_is_served_comes_packed_typed_and_for_keeps(
    folder: Path, name: str, kind: str, content: str
) -> None:
    assets = Assets(folder)
    address = f"/static/{assets.digest()}/{name}"
    answer = client(assets).get(address, headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200
    assert gzip.decompress(answer.data).decode() == content
    assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["Cache-Control"] == YEAR
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_link_of_an_editor_s_own_is_passed_over(folder: Path) -> None:
    digest = Assets(folder).digest()
    (folder / ".#index.js").symlink_to("somebody@somewhere.1:2")
    assert Assets(folder).digest() == digest


def test_who_cannot_unpack_gets_it_plain(folder: Path) -> None:
    assets = Assets(folder)
    answer = client(assets).get(f"/static/{assets.digest()}/index.js")
    assert answer.text == SCRIPT
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("br", "br"),
        ("*", "br"),
        ("gzip, deflate", "gzip"),
        ("gzip, br;q=0", "gzip"),
        ("identity", None),
        ("", None),
    ],
)
def test_a_packed_page_is_sent_as_the_client_takes_it(
    folder: Path, brotli: Any, accepted: str, encoding: str | None
) -> None:
    pack(folder)
    assets = Assets(folder)
    answer = client(assets).get(f"/static/{assets.digest()}/index.js", headers={"Accept-Encoding": accepted})
    unpack = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}[encoding]
    assert unpack(answer.data).startswith(b"export const{render}=")
    assert answer.headers.get("Content-Encoding") == encoding
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["Cache-Control"] == YEAR
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.usefixtures("brotli")
def test_only_what_was_packed_from_these_very_files_is_sent(folder: Path) -> None:
    assets = Assets(folder)

    def served() -> tuple[str, str | None, str]:
        digest = assets.digest()
        take = {"Accept-Encoding": "br"}
        answer = client(assets).get(f"/static/{digest}/index.js", headers=take)
        assert answer.headers["Cache-Control"] == YEAR
        plain = client(assets).get(f"/static/{digest}/index.js").text
        return digest, answer.headers.get("Content-Encoding"), plain

    linked = served()
    pack(folder)
    packed = served()
    (folder / "index.js").write_text("export function render() { edited(); }\n")
    edited = served()
    pack(folder)
    again = served()
    assert [encoding for _, encoding, _ in (linked, packed, edited, again)] == [None, "br", None, "br"]
    assert "edited()" in edited[2]
    assert "edited()" in again[2]
    assert len({digest for digest, _, _ in (linked, packed, edited, again)}) == 4
    assert len(list((folder / "packed").iterdir())) == 4  # nothing is left of what was packed before


@pytest.mark.parametrize(
    "name", ["../secret.js", "%2e%2e/secret.js", "lib/../../secret.js", "other.js", "lib", "", "/etc/passwd"]
)
def test_nothing_else_is_served(folder: Path, name: str) -> None:
    assets = Assets(folder)
    answer = client(assets).get(f"/static/{assets.digest()}/{name}")
    assert answer.status_code == 404
    assert list(answer.get_json(force=True)) == ["error"]


def test_the_address_changes_with_any_content(folder: Path) -> None:
    assets = Assets(folder)
    first = assets.digest()
    assert assets.digest() == first == Assets(folder).digest()
    (folder / "more.css").write_text("other{}\n")
    second = assets.digest()
    assert second != first
    old = client(assets).get(f"/static/{first}/index.css")
    assert old.text.startswith(
        "other"
    )  # an open page goes on working, but keeps nothing under a stale address
    assert old.headers["Cache-Control"] != YEAR


def test_an_installation_without_the_page_says_so(tmp_path: Path) -> None:
    assets = Assets(tmp_path / "missing")
    answer = client(assets).get(f"/static/{assets.digest()}/index.js")
    assert answer.status_code == 404
    assert "reinstall" in answer.get_json(force=True)["error"]


def test_a_page_that_cannot_be_linked_shows_why(folder: Path) -> None:
    (folder / "index.js").write_text("import { a } from './gone.js';\nexport function render() {}\n")
    assets = Assets(folder)
    answer = client(assets).get(f"/static/{assets.digest()}/index.js")
    assert answer.status_code == 200
    assert answer.text.startswith("export function render()")
    assert "gone.js: No such file" in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_is_written(folder: Path, method: str) -> None:
    assets = Assets(folder)
    answer = client(assets).open(f"/static/{assets.digest()}/index.js", method=method)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
