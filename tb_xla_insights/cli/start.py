"""Where the process of `xla-insights` begins: Ctrl-C while modules are imported is no traceback."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def command() -> NoReturn:
    try:
        from tb_xla_insights.cli.signals import end_at_once

        end_at_once()
    except KeyboardInterrupt:  # the signal came before
        try:
            os.write(2, b"xla-insights: stopped\n")
        finally:
            os._exit(130)
    from tb_xla_insights.cli.main import command

    command()
