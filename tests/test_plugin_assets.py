"""The page's files: linked into one script and one style sheet, under addresses that change with their content."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from werkzeug.test import Client

from tb_xla_insights.errors import InputError
from tb_xla_insights.page import page_folder
from tb_xla_insights.plugin.assets import Assets
from tb_xla_insights.plugin.link import script, sheet
from tb_xla_insights.plugin.respond import application

YEAR = "private, max-age=31536000"
SCRIPT = "export const { render } = (() => {\nfunction render() {}\nreturn { render };\n})();\n"


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


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return folder / "index.js"


def test_a_module_is_a_scope_after_those_it_imports_from(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        index="import { f } from './b.js';\nimport {\n  one,\n  K,\n} from './a.js';\n\n"
        "const own = 2;\nexport const render = () => f(one, K, own);\n",
        b="import { one } from './a.js';\nconst own = 3;\nexport async function f() {\n  return one + own;\n}\n",
        a="export const one = 1;\nexport class K {}\n",
    )
    assert script(entry) == (
        "const { one, K } = (() => {\nconst one = 1;\nclass K {}\nreturn { one, K };\n})();\n"
        "const { f } = (() => {\nconst own = 3;\nasync function f() {\nreturn one + own;\n}\nreturn { f };\n})();\n"
        "export const { render } = (() => {\nconst own = 2;\nconst render = () => f(one, K, own);\n"
        "return { render };\n})();\n"
    )


def test_comments_types_and_indentation_stay_at_home(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        index="/** A\n * b: `c\n * import('./d').E */\n  // f\nlet x = 1; // g\n\n"
        "  let y = /** @type {import('./h').I} */ ('/* j */  k'); /* l */\n/* m */ x\n",
    )
    body = "let x = 1; // g\nlet y = ('/* j */  k'); /* l */\n/* m */ x\n"
    assert script(entry) == f"export const {{  }} = (() => {{\n{body}return {{  }};\n}})();\n"


@pytest.mark.parametrize(
    "line",
    [
        "import x from './a.js';",
        "import * as x from './a.js';",
        "import { a as x } from './a.js';",
        "import './a.js';",
        "import { a } from 'package';",
        "export default 1;",
        "export { a };",
        "export * from './a.js';",
        "export let x = 1;",
        "export const { x } = y;",
        "const x = () => import('./a.js');",
        "const x = `a",
        "const x = import.meta.url;",
    ],
)
def test_what_cannot_be_linked_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    entry = write(
        tmp_path, index="import { b } from './b.js';\n", a="export const a = 1;\n",
        b=f"import {{ a }} from './a.js';\n/**\n * x\n */\nexport const b = a;\n{line}\n",
    )  # fmt: skip
    with pytest.raises(InputError, match=r"^b\.js:6: "):
        script(entry)


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({"a": "import { b } from './b.js';\n", "b": "import { a } from './a.js';\n"}, "a.js -> b.js -> a.js: "),
        ({"a": "export const x = 1;\n"}, "index.js: a.js does not export a"),
        ({"a": "import { a } from './b.js';\nexport const a = 1;\n", "b": "export const a = 1;\n"},
         "a.js: b.js exports a too"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_told(tmp_path: Path, modules: dict[str, str], message: str) -> None:
    entry = write(tmp_path, index="import { a } from './a.js';\n", **modules)
    with pytest.raises(InputError) as told:
        script(entry)
    assert str(told.value).startswith(message)


def test_the_page_is_written_in_what_can_be_linked() -> None:
    page = page_folder()
    linked = script(page / "index.js")
    assert linked.splitlines()[-2:] == ["return { render };", "})();"]
    assert "@import" not in sheet(page / "index.css")
    reached = linked.count("\n})();\n")
    assert reached == len(list(page.rglob("*.js")))  # no module that nothing imports
