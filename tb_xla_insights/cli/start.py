"""Where the process of `xla-insights` begins: Ctrl-C while modules are imported is no traceback."""

from __future__ import annotations

from tb_xla_insights.cli.signals import end_at_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def command() -> NoReturn:
    end_at_once()
    from tb_xla_insights.cli.main import command

    command()
