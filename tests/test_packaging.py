"""What is installed: the wheel's content, its commands, and a TensorBoard that finds the plugin by itself."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import serving

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The project's wheel, built from a copy of what git tracks, without asking the network for anything."""
    pytest.importorskip("setuptools", minversion="77", reason="building a wheel needs setuptools 77")
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("tb_xla_insights", "frontend"):
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and not {"__pycache__", "node_modules"} & set(path.parts):
                copy = source / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    build = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(target),
    ]
    subprocess.run([sys.executable, "-m", "pip", *build, str(source)], check=True)
    [path] = target.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_carries_the_page_once(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    page = ROOT / "frontend"
    wanted = {
        path.relative_to(page).as_posix()
        for path in page.rglob("*")
        if path.suffix in (".js", ".css", ".svg") and ".test." not in path.name
    }
    assert "index.js" in wanted
    packed = {name.removeprefix("tb_xla_insights/static/") for name in names if "/static/" in name}
    assert packed == wanted
    assert not [name for name in names if name.startswith(("frontend/", "tests/", "demo_logs/"))]


def test_the_wheel_carries_every_module_and_data_file(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    package = ROOT / "tb_xla_insights"
    for path in package.rglob("*"):
        if path.suffix in (".py", ".pyi", ".json", ".proto", ".typed") and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT).as_posix() in names


def test_the_wheel_names_its_licence_commands_and_plugin(wheel: zipfile.ZipFile) -> None:
    [info] = [name for name in wheel.namelist() if name.endswith("dist-info/entry_points.txt")]
    folder = info.rpartition("/")[0]
    entries = wheel.read(info).decode()
    assert "xla-insights = tb_xla_insights.cli.main:command" in entries
    assert re.search(r"\[tensorboard_plugins\]\s+xla_insights = tb_xla_insights\.plugin:XlaInsights", entries)
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert "Name: tb-xla-insights" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Dist: tensorboard>=2.21" in metadata
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


def test_the_page_is_found_beside_a_checkout_and_inside_a_wheel() -> None:
    from tb_xla_insights.page import page_folder

    assert (page_folder() / "index.js").is_file()


@pytest.fixture
def installed() -> None:
    try:
        importlib.metadata.distribution("tb-xla-insights")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the project is not installed; make test installs it")


@pytest.fixture
def address(logdir: Path) -> Iterator[str]:
    """A TensorBoard process of its own, started as a user starts it."""
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
        r'import\("\./(static/[0-9a-f]+/index\.js)"\)',
        get("/data/plugin_entry.html?name=xla_insights").decode(),
    )
    assert entry is not None
    assert b"render" in get(base + entry[1])


@pytest.mark.usefixtures("installed")
def test_the_command_is_installed() -> None:
    scripts = importlib.metadata.entry_points(group="console_scripts", name="xla-insights")
    assert [script.value for script in scripts] == ["tb_xla_insights.cli.main:command"]
