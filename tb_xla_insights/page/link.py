"""One script and one style sheet out of the page's files: through an SSH tunnel each further file costs a round trip.

The page is written in a subset of ES modules that can be linked line by line, without a parser:

- imports are `import { a, b } from './other.js';` at the top, under the names they are exported with; exports are
  `export` before `function`, `async function`, `class` or `const NAME`, and no two modules export the same name;
- nothing is exported again, nor imported for its effects only, nor later with `import()`, nor in a circle;
- `import.meta` stands only in the entry: elsewhere it would tell the place of the linked script;
- a template literal ends on the line it begins on, and no text contains `/**`: comments and indentation are taken out;
- an exported function ends on the line it begins on, or with the next `}` that begins a line, and is not called above
  it while its module is run.

Each module becomes a block, after those it imports from, that sets what others import from it, in the scope of all:

    let f, g;
    {
    f = function() { return other(); };
    g = 1;
    }

The whole is a function's scope, so that a minifier may rename in all of it, and exports what the entry does. What is
exported for tests only stays in its block.
A style sheet takes in others by `@import './other.css';`, one per line.
What is outside of the subset is an `InputError` that names the file and the line.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tb_xla_insights.errors import InputError

_IMPORT = re.compile(r"^import \{(\s*\w+(?:,\s*\w+)*,?\s*)\} from '(\.[^']*)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function|class|const) (\w+))", re.MULTILINE)
_FUNCTION = re.compile(r"((?:async )?function) (\w+)((?:[^\n]*\}|.*?\n\})$)", re.MULTILINE | re.DOTALL)
_OTHER = re.compile(r"(class|const) (\w+)(?: =)?")
_STRANGE = re.compile(r"^(?:import|export)\b|\bimport\(")
_COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/[ \t]*|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_TYPE = re.compile(r"/\*\*.*?\*/ ?")
_EDGE = re.compile(r"^\s+|[ \t]+$", re.MULTILINE)
_TAKE_IN = re.compile(r"^@import '(\.[^']*)';\n", re.MULTILINE)
_LOOSE = re.compile(r"\s*([{};,])\s*|(?<=:) ")


def script(entry: Path) -> str:
    """The module `entry` and all it imports from, as one module with the exports of the entry."""
    return _Modules(Path(os.path.abspath(entry))).linked()


def sheet(path: Path) -> str:
    """The style sheet and those it takes in, without comments and needless spaces."""
    text = _TAKE_IN.sub(lambda found: sheet(path.parent / found[1]), _read(path))
    return _LOOSE.sub(r"\1", _COMMENT.sub("", text))


class _Modules:
    """Modules in an order in which each comes after those it imports from."""

    def __init__(self, entry: Path) -> None:
        self._sources: dict[Path, str] = {}
        self._entry = entry
        self._imported: set[str] = set()
        self._exports: dict[Path, list[str]] = {}
        self._homes: dict[str, Path] = {}
        self._open: list[Path] = []
        self._add(entry)
        self._imported.update(self._exports[entry])

    def linked(self) -> str:
        names = f"{{ {', '.join(self._exports[self._entry])} }}"
        shared = ", ".join(
            name for names in self._exports.values() for name in names if name in self._imported
        )
        blocks = "".join(f"{{\n{self._body(source)}}}\n" for source in self._sources.values())
        shared = f"let {shared};\n" if shared else ""
        return f"export const {names} = (() => {{\n{shared}{blocks}return {names};\n}})();\n"

    def _body(self, source: str) -> str:
        """A module without imports, comments and indentation, that sets what others import."""
        plain = _TYPE.sub("", _COMMENT.sub("", _IMPORT.sub("", source)))
        parts, end = [], 0
        for found in _EXPORT.finditer(plain):
            parts.append(plain[end : found.start()])
            end = found.end()
            if found[1] not in self._imported:
                continue
            if function := _FUNCTION.match(plain, end):
                parts.append(f"{function[2]} = {function[1]}{function[3]};")
                end = function.end()
            elif other := _OTHER.match(plain, end):
                parts.append(f"{other[2]} ={' class' if other[1] == 'class' else ''}")
                end = other.end()
        return _EDGE.sub("", "".join([*parts, plain[end:]]))

    def _add(self, path: Path) -> None:
        if path in self._open:
            circle = " -> ".join(map(self._place, [*self._open[self._open.index(path) :], path]))
            raise InputError(f"{circle}: modules import each other in a circle; move what they share")
        if path in self._exports:
            return
        self._open.append(path)
        source = _read(path)
        self._check(path, source)
        for names, address in _IMPORT.findall(source):
            self._import(path, re.findall(r"\w+", names), Path(os.path.normpath(path.parent / address)))
        self._exports[path] = exports = _EXPORT.findall(source)
        for name in exports:
            if (home := self._homes.setdefault(name, path)) != path:
                raise InputError(f"{self._place(path)}: {self._place(home)} exports {name} too; rename one")
        self._sources[path] = source
        self._open.pop()

    def _import(self, path: Path, names: list[str], other: Path) -> None:
        self._add(other)
        for name in names:
            if name not in self._exports[other]:
                raise InputError(f"{self._place(path)}: {self._place(other)} does not export {name}")
        self._imported.update(names)

    def _check(self, path: Path, source: str) -> None:
        plain = source
        for pattern in (_IMPORT, _EXPORT, _COMMENT, _TYPE):
            plain = pattern.sub(lambda found: "\n" * found[0].count("\n"), plain)
        for number, line in enumerate(plain.splitlines(), 1):
            place = f"{self._place(path)}:{number}"
            if _STRANGE.search(line) or ("import.meta" in line and path != self._entry):
                raise InputError(f"{place}: this kind of import or export is not linked; see page/link.py")
            if line.count("`") % 2:
                raise InputError(f"{place}: a template literal must end on the line it begins on")

    def _place(self, path: Path) -> str:
        return os.path.relpath(path, self._entry.parent).replace(os.sep, "/")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as failure:
        raise InputError(
            f"{path}: {failure.strerror}; mend the import, or reinstall tb-xla-insights"
        ) from failure
