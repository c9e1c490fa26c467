"""The README names what there is, and nothing that is not."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, cast

import pytest

from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.cli.main import parser
from tb_xla_insights.plugin import XlaInsights
from tb_xla_insights.plugin.capture import Captures
from tb_xla_insights.plugin.routes import Routes

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def commands() -> dict[str, argparse.ArgumentParser]:
    [choices] = [action.choices for action in parser()._actions if isinstance(action.choices, dict)]
    return cast("dict[str, argparse.ArgumentParser]", choices)


def test_every_route_is_listed_and_every_listed_route_is_there() -> None:
    listed = set(re.findall(r"^\| `data/(\w+)`", README, re.MULTILINE))
    routes, captures = Routes(cast(Any, None), cast(Any, None)), Captures(cast(Any, None), None)
    assert listed == set(routes.handlers()) | set(captures.gets()) | set(captures.posts())


def test_every_command_and_option_is_listed() -> None:
    listed = set(re.findall(r"^    xla-insights (\w+)", README, re.MULTILINE))
    assert listed == set(commands())
    for name, command in commands().items():
        for option in command._option_string_actions:
            if option.startswith("--") and option != "--help":
                assert option in README, f"{name} {option}"


def test_every_flag_of_tensorboard_is_listed() -> None:
    flags = argparse.ArgumentParser(add_help=False)
    XlaInsights().define_flags(flags)
    listed = set(re.findall(r"^\| `(--xla_insights\w+)", README, re.MULTILINE))
    assert listed == set(flags._option_string_actions)


def test_every_class_is_named() -> None:
    for name in CLASSES:
        assert f"`{name}`" in README


def test_every_extra_is_listed() -> None:
    declared = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]\n")[2]
    names = re.findall(r"^(\w+) = \[", declared.partition("\n[")[0], re.MULTILINE)
    assert names
    for name in names:
        assert f"`{name}`" in README


@pytest.mark.parametrize("target", ["demo", "test", "lint", "types", "unit", "page", "browser"])
def test_every_make_target_is_named(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert re.search(rf"`{target}`|make {target}\b", README)


def test_links_inside_the_project_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link
