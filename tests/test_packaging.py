"""The installed package: the wheel's content, its commands, and a TensorBoard that discovers the plugin."""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import serving

import tb_xla_insights
from tb_xla_insights.page.folder import page_folder
from tb_xla_insights.page.packed import is_packed, read_sources

ROOT = Path(__file__).parents[1]
DATE = 1_700_000_000
"""The date of the sources in the environment: 2023-11-14 22:13:20 UTC."""

MAX_FIRST_LOAD_BYTES = 60_000
"""The limit of the first view's files with Brotli, so that they arrive within a few round trips."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package's sources, and of the files with which npm packs the page."""
    pytest.importorskip("setuptools", minversion="77", reason="building a wheel needs setuptools 77")
    source = tmp_path_factory.mktemp("source")
    for name in ("tb_xla_insights", "frontend"):
        for path in (ROOT / name).rglob("*"):
            is_source = path.is_file() and not {"__pycache__", "node_modules", "packed"} & set(path.parts)
            if is_source and path.suffix not in (".so", ".pyd"):
                copy = source / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)
    root_files = ("setup.py", "pyproject.toml", "MANIFEST.in", "CHANGELOG.md", "README.md", "LICENSE")
    for name in (*root_files, "pack.js", "package.json"):
        shutil.copy2(ROOT / name, source / name)
    copy_kernels(source)
    assert (ROOT / "node_modules/rolldown").is_dir(), "the page cannot be packed: run npm ci"
    (source / "node_modules").symlink_to(ROOT / "node_modules")
    return source


def copy_kernels(source: Path) -> None:
    """Copies the kernels that this checkout has compiled to where the build leaves its own, with their dates, so that
    it compiles those again whose sources have changed since. One is always compiled."""
    library = source / f".make/lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    generated = Path(".make/kernels")
    for module in (ROOT / "tb_xla_insights").rglob("*.*"):
        path = module.relative_to(ROOT)
        code = generated / path.parent / f"{path.name.partition('.')[0]}.c"
        if module.suffix in (".so", ".pyd") and (ROOT / code).is_file():
            copies = {code: source / code}
            if path.parent.name != "replay":
                copies[path] = library / path
            for original, copy in copies.items():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / original, copy)


def run(source: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in the folder of the sources; its two streams are one."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"SOURCE_DATE_EPOCH": str(DATE)} | environment,
        umask=0o002,
    )


def run_setup(source: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs one command of the build."""
    return run(source, "setup.py", *arguments, **environment)


def run_pip(source: Path, target: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Builds the project's wheel without network."""
    options = ("-v", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(target))
    return run(source, "-m", "pip", "wheel", *options, ".", **environment)


def build_wheel(source: Path, target: Path, **environment: str) -> zipfile.ZipFile:
    """The project's wheel."""
    process = run_pip(source, target, **environment)
    assert process.returncode == 0, process.stdout
    [path] = target.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, with kernels compiled without optimization, which would take half a minute and change no file name."""
    folder = tmp_path_factory.mktemp("wheel")
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC")
    if not (compiler and shutil.which(shlex.split(compiler)[0])):
        return build_wheel(source, folder)
    unoptimized = folder / "cc"
    unoptimized.write_text(f'#!/bin/sh\nexec {compiler} "$@" -O0\n')
    unoptimized.chmod(0o755)
    return build_wheel(source, folder, CC=str(unoptimized))


def page_of(wheel: zipfile.ZipFile) -> dict[str, int]:
    """The page's files in a wheel with their sizes in bytes."""
    static = "tb_xla_insights/static/"
    return {
        entry.filename.removeprefix(static): entry.file_size
        for entry in wheel.infolist()
        if entry.filename.startswith(static)
    }


def test_the_wheel_carries_the_page_once_and_packed(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    page = page_of(wheel)
    sources = set(read_sources(ROOT / "frontend"))
    assert "index.js" in sources
    assert {name for name in page if not name.startswith("packed/")} == sources
    packed = {name.removeprefix("packed/") for name in page if name.startswith("packed/")}
    scripts = {name.removesuffix(".br") for name in packed if name.endswith(".js.br")}
    views = {path.parent.name for path in (ROOT / "frontend").glob("*/view.js")} - {"overview"}
    assert scripts >= {"index.js", *(f"{view}.js" for view in views)}
    maps = {f"{name}.map.gzip" for name in scripts}
    files = {f"{name}.{encoding}" for name in {*scripts, "index.css"} for encoding in ("br", "gzip")}
    assert packed == files | maps | {"sources.sha256", "static.html"}
    assert not [name for name in wheel.namelist() if name.startswith(("frontend/", "tests/", "demo_logs/"))]
    wheel.extractall(tmp_path)
    assert is_packed(tmp_path / "tb_xla_insights/static")


def test_the_first_load_transfers_few_bytes(wheel: zipfile.ZipFile) -> None:
    """`tests/browser/test_packed.py` checks that the first view requests no other files."""
    page = page_of(wheel)
    first = page["packed/index.js.br"] + page["packed/index.css.br"]
    assert first <= MAX_FIRST_LOAD_BYTES, f"{first} bytes"


def test_source_maps_name_the_packed_modules(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """All but those of the static copy, whose document has no map."""
    wheel.extractall(tmp_path)
    packed = tmp_path / "tb_xla_insights/static/packed"
    maps = [json.loads(gzip.decompress(path.read_bytes())) for path in packed.glob("*.map.gzip")]
    modules = [(packed / path).resolve() for source_map in maps for path in source_map["sources"]]
    page = [path for path in packed.parent.resolve().rglob("*.js") if path.parent.name != "static-copy"]
    assert sorted(modules) == sorted(page)
    for path in packed.glob("*.js.gzip"):
        last = gzip.decompress(path.read_bytes()).decode().strip().splitlines()[-1]
        assert last == f"//# sourceMappingURL={path.stem}.map"


def test_a_source_distribution_carries_the_page_packed(source: Path, tmp_path: Path) -> None:
    process = run_setup(source, "--quiet", "sdist", "--dist-dir", str(tmp_path))
    assert process.returncode == 0, process.stdout
    [path] = tmp_path.glob("*.tar.gz")
    assert path.read_bytes()[4:8] == DATE.to_bytes(4, "little")  # the date in gzip's header
    with tarfile.open(path) as archive:
        entries = archive.getmembers()
        archive.extractall(tmp_path, filter="data")
    assert {entry.mtime for entry in entries} == {DATE}
    assert {(entry.uid, entry.gid, entry.uname, entry.gname) for entry in entries} == {(0, 0, "", "")}
    assert {entry.mode for entry in entries} == {0o644, 0o755}
    assert [entry.name for entry in entries if "/tests/" in entry.name] == []
    [unpacked] = (path for path in tmp_path.iterdir() if path.is_dir())
    assert is_packed(unpacked / "frontend")


def test_if_npm_fails_the_page_is_not_packed_and_the_build_warns(source: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "npm").write_text("#!/bin/sh\nexit 9\n")
    (hidden / "npm").chmod(0o755)
    shutil.rmtree(source / "frontend/packed", ignore_errors=True)
    command = ("build_py", "--build-lib", str(tmp_path / "lib"))
    process = run_setup(source, *command, PATH=f"{hidden}{os.pathsep}{os.environ['PATH']}")
    assert process.returncode == 0, process.stdout
    static = tmp_path / "lib/tb_xla_insights/static"
    page = {path.relative_to(static).as_posix() for path in static.rglob("*") if path.is_file()}
    assert page == set(read_sources(ROOT / "frontend"))
    [line] = [line for line in process.stdout.splitlines() if "the page is not packed" in line]
    assert "returned non-zero exit status 9" in line


def test_the_wheel_carries_every_module_and_data_file(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    package = ROOT / "tb_xla_insights"
    for path in package.rglob("*"):
        if path.suffix in (".py", ".pyi", ".json", ".proto", ".typed") and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT).as_posix() in names


def test_the_wheel_carries_the_kernels_for_every_python_from_3_11_on(wheel: zipfile.ZipFile) -> None:
    assert "-cp311-abi3-" in str(wheel.filename)
    compiled = {name.partition(".")[0] for name in wheel.namelist() if name.endswith((".so", ".pyd"))}
    sources = (ROOT / "tb_xla_insights").rglob("kernels.py")
    kernels = {path.relative_to(ROOT).with_suffix("").as_posix() for path in sources}
    assert compiled == {"tb_xla_insights/_array_views", *kernels}
    assert not [name for name in wheel.namelist() if name.endswith(".c")]


def test_the_wheel_does_not_depend_on_the_machine(wheel: zipfile.ZipFile, source: Path) -> None:
    assert {entry.date_time for entry in wheel.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    written = [
        entry for entry in wheel.infolist() if not entry.filename.endswith("/RECORD")
    ]  # setuptools adds RECORD last
    assert {entry.external_attr >> 16 & 0o777 for entry in written} <= {0o644, 0o755}
    assert not [name for name in wheel.namelist() if str(source).encode() in wheel.read(name)]


def test_the_changelog_begins_with_the_version() -> None:
    [version] = re.findall(r"^## (\S+),", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[:1]
    assert version == tb_xla_insights.__version__


@pytest.mark.skipif(sys.platform == "win32", reason="setuptools finds Microsoft's compiler by itself")
@pytest.mark.skipif(find_spec("ziglang") is not None, reason="Zig compiles if nothing else does")
def test_without_a_compiler_the_build_names_the_remedy_in_one_line(source: Path, tmp_path: Path) -> None:
    process = run_pip(source, tmp_path, CC="no-such-compiler")
    assert process.returncode
    error = "The kernels need a C compiler, and no-such-compiler is missing: install gcc or clang, or ziglang with pip"
    assert [line for line in process.stdout.splitlines() if line.strip() == error]


def test_the_wheel_names_its_licence_commands_and_plugin(wheel: zipfile.ZipFile) -> None:
    [info] = [name for name in wheel.namelist() if name.endswith("dist-info/entry_points.txt")]
    folder = info.rpartition("/")[0]
    entries = wheel.read(info).decode()
    assert "xla-insights = tb_xla_insights.cli.start:command" in entries
    assert re.search(r"\[tensorboard_plugins\]\s+xla_insights = tb_xla_insights\.plugin:XlaInsights", entries)
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert "Name: tb-xla-insights" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Dist: tensorboard>=2.21" in metadata
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


def test_the_page_is_found() -> None:
    assert (page_folder() / "index.js").is_file()


@pytest.fixture
def installed() -> None:
    try:
        importlib.metadata.distribution("tb-xla-insights")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the project is not installed; make test installs it")


@pytest.fixture
def address(logdir: Path) -> Iterator[str]:
    """The address of a TensorBoard process, started as a user starts it."""
    command = [
        sys.executable,
        "-m",
        "tensorboard.main",
        "--logdir",
        str(logdir),
        "--port",
        "0",
        "--host",
        "127.0.0.1",
    ]
    with serving(command) as address:
        yield address


@pytest.mark.usefixtures("installed")
def test_tensorboard_finds_the_plugin_by_itself(address: str) -> None:
    def get(path: str) -> bytes:
        with urllib.request.urlopen(f"{address}{path}", timeout=60) as answer:
            return bytes(answer.read())

    base = "/data/plugin/xla_insights/"
    assert len(json.loads(get(f"{base}data/sessions"))["sessions"]) == 2
    tab = json.loads(get("/data/plugins_listing"))["xla_insights"]
    assert (tab["enabled"], tab["tab_name"]) == (True, "XLA Insights")
    entry = re.search(
        r'import\("\./(static/[0-9a-f]+/(?:packed/)?index\.js)"\)',
        get("/data/plugin_entry.html?name=xla_insights").decode(),
    )
    assert entry is not None
    assert b"render" in get(base + entry[1])


@pytest.mark.usefixtures("installed")
def test_the_command_is_installed() -> None:
    scripts = importlib.metadata.entry_points(group="console_scripts", name="xla-insights")
    assert [script.value for script in scripts] == ["tb_xla_insights.cli.start:command"]


def test_the_tests_that_check_ranges_of_dependencies_exist(tmp_path: Path) -> None:
    """Those that need no extras can also be imported where only their files and the package are."""
    ranges = runpy.run_path(str(ROOT / ".ci/ranges.py"))
    for name in (*ranges["TEST_FILES"], "tb_xla_insights"):
        (tmp_path / name).symlink_to(ROOT / name)
    tests = [f"tests/{test}" for test in ranges["TESTS"]]
    # Tests that do not run need no rewritten assertions.
    options = ["--collect-only", "--assert=plain", *ranges["PYTEST_OPTIONS"]]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    collection = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert collection.returncode == 0, collection.stdout
    for test in (*ranges["TESTS"], *ranges["TESTS_OF_EXTRAS"]):
        file, _, name = test.partition("::")
        text = (ROOT / "tests" / file).read_text()
        assert not name or re.search(rf"^(def|class) {name}\b", text, re.MULTILINE), test
