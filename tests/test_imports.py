"""The order of layers in which modules may import each other, and imports that must stay light."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "tb_xla_insights"
# A module imports its own layer and those before it.
LAYERS = [
    "system text version",
    "errors",
    "files require_kernels",
    "arrays page",
    "xplane",
    "catalog",
    "columns",
    "schema",
    "tables",
    "trace",
    "analysis",
    "device_work",
    "pod",
    "report",
    "sections",
    "html",
    "compare",
    "timeline",
    "tasks",
    "logdir",
    "capture",
    "routes",
    "static_copy",
    "table",
    "session record",
    "export",
]
# Folders of `analysis`, in the same order; the modules above them are used by all.
ANALYSES = [
    "time",
    "host",
    "launches",
    "idle",
    "propagation",
    "window",
    "delays",
    "iterations",
    "engines",
    "compiles",
    "steps",
    "replay",
    "completeness",
    "findings",
]
# Both import all layers, but not each other.
FACES = ["plugin", "cli"]
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.name.endswith("_pb2.py"))


def layer_of(part: str) -> int:
    for index, names in enumerate(LAYERS):
        if part in names.split():
            return index
    assert part in FACES, f"{part} has no position in the order of layers"
    return len(LAYERS)


@cache
def modules_imported(path: Path) -> set[tuple[str, ...]]:
    """What a file imports of the package, at its top or inside a function: the parts of each name."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return {tuple(name.split(".")[1:]) for name in names if name.startswith("tb_xla_insights.")}


def parts_imported(path: Path) -> set[str]:
    """The parts of the package that a file imports."""
    return {module[0] for module in modules_imported(path)}


def test_imports_run_one_way() -> None:
    for path in MODULES:
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part not in ("__init__", "__main__"):
            for imported in parts_imported(path) - {part}:
                assert layer_of(imported) < layer_of(part), f"{path}: {part} must not import {imported}"


def test_imports_between_analyses_run_one_way() -> None:
    folders = {path.parent.name for path in (PACKAGE / "analysis").glob("*/__init__.py")}
    assert folders == set(ANALYSES)
    for path in (PACKAGE / "analysis").rglob("*.py"):
        position = ANALYSES.index(path.parent.name) if path.parent.name in folders else -1
        for module in modules_imported(path):
            if module[0] == "analysis" and module[1] in folders:
                assert ANALYSES.index(module[1]) <= position, f"{path} must not import {'.'.join(module)}"


def test_no_imports_form_a_circle() -> None:
    modules = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in MODULES}
    graph = {}
    for module, path in modules.items():
        # `from a.b import c` imports a.b.c if that is a module, else a.b.
        imported = {name if name in modules else name[:-1] for name in modules_imported(path)}
        graph[module] = {name if name in modules else (*name, "__init__") for name in imported}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("module", ["tb_xla_insights", "tb_xla_insights.plugin", "tb_xla_insights.cli.main"])
def test_an_import_is_light(module: str) -> None:
    heavy = ["cython", "Cython", "grpc", "fsspec", "pandas", "rich", "google.protobuf"]
    check = f"import sys; before = set(sys.modules); import {module}; print(*(set(sys.modules) - before))"
    # Modules that TensorBoard itself imports do not count.
    program = f"import tensorboard.plugins.base_plugin\n{check}"
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert set(heavy) & set(process.stdout.split()) == set()


@pytest.mark.parametrize("command", ["report", "window", "compare", "export"])
def test_a_command_imports_its_analyses_while_it_reads(command: str) -> None:
    program = f"import sys, tb_xla_insights.cli.{command}; print('numpy' in sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert process.stdout == "False\n"


def test_the_public_names_can_be_imported() -> None:
    import tb_xla_insights as xi

    for name in xi.__all__:
        assert hasattr(xi, name)
    assert dir(xi) == sorted(xi.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = xi.nothing


def test_a_checkout_without_kernels_names_the_build_command(tmp_path: Path) -> None:
    unbuilt = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=unbuilt)
    command = [sys.executable, "-m", "tb_xla_insights", "report", "x.xplane.pb"]
    process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    line = f"{tmp_path / PACKAGE.name}: the kernels are not compiled; run pip install -e . in {tmp_path}"
    assert (process.returncode, process.stderr) == (3, f"xla-insights: {line}\n")
    modules = ["analysis.idle.busy", "timeline.kernels", "trace.build", "xplane.read_xspace"]
    program = f"""
import importlib
from tb_xla_insights.errors import InputError
for module in {modules}:
    try:
        importlib.import_module("tb_xla_insights." + module)
    except InputError as error:
        print(error)
"""
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert process.stdout == f"{line}\n" * len(modules)


def test_concurrent_requests_import_no_modules() -> None:
    """Modules of the package that functions import are loaded before the first answer, as two threads could import one
    at the same time. Only `tasks` and `capture` import on demand; nothing that they import there imports them in
    turn."""
    modules: set[str] = set()
    for part in (
        "plugin",
        "routes",
        "logdir",
        "analysis",
        "device_work",
        "pod",
        "report",
        "compare",
        "timeline",
        "trace",
        "xplane",
        "files",
    ):
        for path in (PACKAGE / part).rglob("*.py"):
            for function in ast.walk(ast.parse(path.read_text())):
                if isinstance(function, ast.FunctionDef):
                    modules |= {
                        node.module or "" for node in ast.walk(function) if isinstance(node, ast.ImportFrom)
                    }
    # The reader of Riegeli files, which few logdirs have, imports no module that imports it.
    later = ("tb_xla_insights.capture", "tb_xla_insights.xplane.riegeli")
    expected = {
        name for name in modules if name.startswith("tb_xla_insights.") and not name.startswith(later)
    }
    check = (
        "import sys, tb_xla_insights.plugin.plugin, tb_xla_insights.plugin.imports as i; i.import_modules(); "
    )
    completed = subprocess.run(
        [sys.executable, "-c", f"{check}print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert expected
    assert expected <= set(completed.stdout.split())


def test_a_class_has_a_name_of_its_own() -> None:
    """What the analysis computes and its row in the documents may share one, since the row is in `schema`."""
    modules_of: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules_of.setdefault(node.name, []).append(path.relative_to(PACKAGE).parts[0])
    shared = {
        name: folders
        for name, folders in modules_of.items()
        if len(folders) > 1 and (len(folders) > 2 or "schema" not in folders)
    }
    assert shared == {}
