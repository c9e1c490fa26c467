"""The page's files: linked into one script and one style sheet, and those packed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tb_xla_insights.errors import InputError
from tb_xla_insights.page.folder import page_folder
from tb_xla_insights.page.link import script, sheet
from tb_xla_insights.page.pack import pack, packed


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
        "export const { render } = (() => {\n"
        "let one, K, f, render;\n"
        "{\none = 1;\nK = class {}\n}\n"
        "{\nconst own = 3;\nf = async function() {\nreturn one + own;\n};\n}\n"
        "{\nconst own = 2;\nrender = () => f(one, K, own);\n}\n"
        "return { render };\n})();\n"
    )


def test_what_only_tests_import_stays_in_its_module(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        index="import { f } from './a.js';\nexport const render = f;\n",
        a="export const own = () => f();\nexport function f() { return {}; }\nexport function g({ a }) {\n  f();\n}\n",
    )
    assert (
        "{\nconst own = () => f();\nf = function() { return {}; };\nfunction g({ a }) {\nf();\n}\n}\n"
        in script(entry)
    )


def test_comments_types_and_indentation_stay_at_home(tmp_path: Path) -> None:
    entry = write(
        tmp_path,
        index="/** A\n * b: `c\n * import('./d').E */\n  // f\nlet x = 1; // g\n\n"
        "  let y = /** @type {import('./h').I} */ ('/* j */  k'); /* l */\n/* m */ x\n",
    )
    body = "let x = 1; // g\nlet y = ('/* j */  k'); /* l */\n/* m */ x\n"
    assert f"{{\n{body}}}\n" in script(entry)


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
    reached = linked.count("\n{\n")
    assert reached == len(list(page.rglob("*.js")))  # no module that nothing imports


def test_packed_the_script_exports_and_finds_its_place_as_before(tmp_path: Path) -> None:
    brotli = pytest.importorskip("brotli")
    pytest.importorskip("minify")
    entry = write(
        tmp_path,
        index="import { shout } from './a.js';\n"
        "export function render() {\n  const place = import.meta.url;\n  return shout(place, `µ\\n${place}`);\n}\n",
        a="export function shout(first, second) {\n  return first + second;\n}\n",
    )
    (tmp_path / "index.css").write_text("a { color: #ff0000; }\n")
    pack(tmp_path)
    files = packed(tmp_path, "index.js", script(entry))
    text = brotli.decompress(files["br"]).decode()
    assert gzip.decompress(files["gzip"]).decode() == text
    assert text.startswith("export const{render}=")
    assert "import.meta.url" in text
    assert "µ" in text
    assert "shout" not in text  # what is shared between modules gets a short name too
    style = packed(tmp_path, "index.css", sheet(tmp_path / "index.css"))
    assert brotli.decompress(style["br"]) == b"a{color:red}"
    assert packed(tmp_path, "index.js", script(entry) + " ") == {}
