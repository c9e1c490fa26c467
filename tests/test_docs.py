"""The documentation names every command, option, flag, route, class, extra and make target, and no other commands,
flags and routes. Its links have targets, and the README's commands and code run."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, cast

import pytest
from synthetic.__main__ import LOGDIR

from docs.collect import DEMOS
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.cli.main import main, parser
from tb_xla_insights.plugin import XlaInsights
from tb_xla_insights.plugin.capture import Captures
from tb_xla_insights.routes.handlers import Handlers

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *ROOT.glob("*/README.md"),
    )
}
README = PAGES["README.md"]
COMMAND_LINE = PAGES["docs/command-line.md"] + PAGES["docs/capture.md"]


def commands() -> dict[str, argparse.ArgumentParser]:
    [choices] = [action.choices for action in parser()._actions if isinstance(action.choices, dict)]
    return cast("dict[str, argparse.ArgumentParser]", choices)


def code_lines(text: str) -> list[str]:
    """The lines of code in a text, with the demo logdir in place of the reader's."""
    demo = {"LOGDIR": LOGDIR, "OTHER": LOGDIR / "synthetic_dynamo_issue_lazy"}
    code = "\n".join(re.findall(r"^    (.*)$", text, re.MULTILINE))
    return re.sub("|".join(demo), lambda match: str(demo[match[0]]), code).splitlines()


def anchors(text: str) -> set[str]:
    """The anchors of a page that links may name: its headings in GitHub's notation."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_exactly_the_existing_routes_are_listed() -> None:
    listed = dict(re.findall(r"^\| `data/(\w+)` \| (POST)?", PAGES["docs/routes.md"], re.MULTILINE))
    routes, captures = Handlers(cast(Any, None), cast(Any, None)), Captures(cast(Any, None), None)
    gets, posts = routes.gets() | captures.gets(), routes.posts() | captures.posts()
    assert listed == dict.fromkeys(gets, "") | dict.fromkeys(posts, "POST")


def test_every_command_and_option_is_listed() -> None:
    listed = set(re.findall(r"^    xla-insights (\w+)", COMMAND_LINE, re.MULTILINE))
    assert listed == set(commands())
    for name, command in commands().items():
        help_text = command.format_help()
        for option in command._option_string_actions:
            if option.startswith("--") and option != "--help":
                assert option in COMMAND_LINE, f"{name} {option}"
                assert option in help_text


def test_every_flag_of_tensorboard_is_listed() -> None:
    flags = argparse.ArgumentParser(add_help=False)
    XlaInsights().define_flags(flags)
    listed = set(re.findall(r"^\| `(--xla_insights\w+)", PAGES["docs/routes.md"], re.MULTILINE))
    assert listed == set(flags._option_string_actions)
    assert all(flag in flags.format_help() for flag in listed)


def test_every_class_is_named() -> None:
    for name in CLASSES:
        assert f"`{name}`" in PAGES["docs/definitions.md"]


def test_every_extra_is_listed() -> None:
    declared = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]\n")[2]
    names = re.findall(r"^(\w+) = \[", declared.partition("\n[")[0], re.MULTILINE)
    assert names
    for name in names:
        assert f"`{name}`" in PAGES["docs/install.md"]


[TARGETS] = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("target", TARGETS.split())
def test_every_make_target_is_named(target: str) -> None:
    assert re.search(rf"`{target}`|make {target}\b", README + PAGES["docs/development.md"])


STATIC_COPIES = {ROOT / f"docs/demos/{name}.html" for name in DEMOS}
"""Files that only the site has."""


@pytest.mark.parametrize("page", PAGES)
def test_links_inside_the_project_have_a_target(page: str) -> None:
    folder = (ROOT / page).parent
    for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", PAGES[page]):
        target = (folder / link).resolve() if link else ROOT / page
        assert target.exists() or target in STATIC_COPIES, link
        if anchor:
            assert anchor in anchors(target.read_text()), f"{link}#{anchor}"


def test_every_page_of_the_documentation_is_reached_from_the_readme() -> None:
    linked = set(re.findall(r"\]\((docs/[\w/-]+\.md)", README))
    assert linked == {page for page in PAGES if page.startswith("docs/")}


def test_the_demos_of_the_site_are_listed() -> None:
    assert set(re.findall(r"\]\(demos/([\w-]+)\.html\)", PAGES["docs/demos.md"])) == set(DEMOS)


def test_the_report_in_the_readme_is_that_of_the_case_study(capsys: pytest.CaptureFixture[str]) -> None:
    [text] = re.findall(r"^```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert main(["report", str(LOGDIR / "synthetic_case_study_8_tpu_cores")]) == 0
    assert plain(capsys.readouterr().out).startswith(plain(text))


def plain(text: str) -> str:
    """The words of a text: neither the width nor the kind of spaces counts."""
    return " ".join(text.split())


def test_the_python_of_all_calls_runs() -> None:
    section = PAGES["docs/guides/notebooks-and-python.md"].split("\n## All calls\n")[1].split("\n## ")[0]
    lines = [line for line in code_lines(section) if "session.show()" not in line]
    assert len(lines) > 8
    exec("\n".join(lines))
