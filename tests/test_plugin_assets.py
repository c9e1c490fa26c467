"""How the page's files are served: under addresses that change with the content, encoded as the client accepts."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest
from werkzeug.test import Client

from tb_xla_insights.page.packed import read_sources
from tb_xla_insights.plugin.assets import Assets
from tb_xla_insights.plugin.respond import application

YEAR = "private, max-age=31536000"
ENTRY = "import './lib/other.js';\nexport function render() {}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "frontend"
    (folder / "lib").mkdir(parents=True)
    (folder / "index.js").write_text(ENTRY)
    (folder / "lib/other.js").write_text("export const other = 1;\n")
    (folder / "lib/types.d.ts").write_text("export {};\n")
    (folder / "index.css").write_text("a { b: c }\n")
    (tmp_path / "secret.js").write_text("secret")
    return folder


def pack(folder: Path, script: bytes = b"packed") -> None:
    """Packs the page as npm does. Brotli files are served unread, so their content is arbitrary."""
    packed = folder / "packed"
    packed.mkdir(exist_ok=True)
    (packed / "index.js.br").write_bytes(b"br of " + script)
    (packed / "index.js.gzip").write_bytes(gzip.compress(script))
    (packed / "index.js.map.gzip").write_bytes(gzip.compress(b"{}"))
    digest = hashlib.sha256()
    for name, content in read_sources(folder).items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    (packed / "sources.sha256").write_text(digest.hexdigest())


def client(assets: Assets) -> Client:
    return Client(application(assets.serve))


def address_of(entry: str, path: str) -> str:
    """The address of a file under the digest of the entry."""
    return "/".join([*entry.split("/")[:3], path])


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("path", "media_type", "content"),
    [
        ("index.js", "text/javascript", ENTRY),
        ("lib/other.js", "text/javascript", "export const other = 1;\n"),
        ("index.css", "text/css", "a { b: c }\n"),
    ],
)
def test_files_are_served_with_their_type_and_cached(
    folder: Path, path: str, media_type: str, content: str, is_packed: bool
) -> None:
    if is_packed:
        pack(folder)
    assets = Assets(folder)
    address = address_of(assets.entry_url(), path)
    answer = client(assets).get(address, headers={"Accept-Encoding": "gzip, br"})
    assert answer.status_code == 200
    assert gzip.decompress(answer.data).decode() == content
    assert answer.headers["Content-Type"] == f"{media_type}; charset=utf-8"
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["Cache-Control"] == YEAR
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    plain = client(assets).get(address)
    assert plain.text == content
    assert "Content-Encoding" not in plain.headers


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
def test_a_packed_page_is_sent_in_an_encoding_that_the_client_accepts(
    folder: Path, accepted: str, encoding: str | None
) -> None:
    pack(folder)
    assets = Assets(folder)
    answer = client(assets).get(assets.entry_url(), headers={"Accept-Encoding": accepted})
    data = gzip.decompress(answer.data) if encoding == "gzip" else answer.data
    assert data == (b"br of packed" if encoding == "br" else b"packed")
    assert answer.headers.get("Content-Encoding") == encoding
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["Cache-Control"] == YEAR
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_source_maps_are_served_next_to_their_scripts(folder: Path) -> None:
    pack(folder)
    assets = Assets(folder)
    answer = client(assets).get(f"{assets.entry_url()}.map", headers={"Accept-Encoding": "gzip, br"})
    assert gzip.decompress(answer.data) == b"{}"
    assert answer.headers["Content-Type"].startswith("application/json")


def test_lock_links_of_editors_are_ignored(folder: Path) -> None:
    entry = Assets(folder).entry_url()
    (folder / ".#index.js").symlink_to("somebody@somewhere.1:2")
    assert Assets(folder).entry_url() == entry


def test_after_an_edit_the_sources_are_served_instead_of_old_bundles(folder: Path) -> None:
    assets = Assets(folder)
    plain = assets.entry_url()
    pack(folder)
    packed = assets.entry_url()
    (folder / "lib/other.js").write_text("export const edited = 1;\n")
    edited = assets.entry_url()
    assert "edited" in client(assets).get(address_of(edited, "lib/other.js")).text
    pack(folder, b"packed again")
    repacked = assets.entry_url()
    assert client(assets).get(repacked).text == "packed again"
    paths = [entry.split("/", 3)[3] for entry in (plain, packed, edited, repacked)]
    assert paths == ["index.js", "packed/index.js", "index.js", "packed/index.js"]
    assert len({entry.split("/")[2] for entry in (plain, packed, edited, repacked)}) == 4


@pytest.mark.parametrize(
    "path",
    [
        "../secret.js",
        "%2e%2e/secret.js",
        "lib/../../secret.js",
        "gone.js",
        "lib",
        "lib/types.d.ts",
        "packed/sources.sha256",
        "packed/index.js.br",
        "",
        "/etc/passwd",
    ],
)
def test_no_other_files_are_served(folder: Path, path: str) -> None:
    pack(folder)
    assets = Assets(folder)
    answer = client(assets).get(address_of(assets.entry_url(), path))
    assert answer.status_code == 404
    assert list(answer.get_json(force=True)) == ["error"]


def test_scripts_of_another_version_are_refused(folder: Path) -> None:
    """The packed page calls the shared functions by short names, which differ between versions."""
    assets = Assets(folder)
    first = assets.entry_url()
    assert assets.entry_url() == first == Assets(folder).entry_url()
    (folder / "lib/other.js").write_text("export const other = 2;\n")
    assert assets.entry_url() != first
    answer = client(assets).get(address_of(first, "lib/other.js"))
    assert answer.status_code == 404
    assert "reload the page" in answer.get_json(force=True)["error"]


def test_an_address_from_before_a_restart_is_served(folder: Path) -> None:
    entry = Assets(folder).entry_url()
    assert client(Assets(folder)).get(entry).text == ENTRY


def test_an_installation_without_the_page_is_reported(tmp_path: Path) -> None:
    assets = Assets(tmp_path / "missing")
    answer = client(assets).get(assets.entry_url())
    assert answer.status_code == 404
    assert "reinstall" in answer.get_json(force=True)["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_other_methods_are_refused(folder: Path, method: str) -> None:
    assets = Assets(folder)
    answer = client(assets).open(assets.entry_url(), method=method)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
