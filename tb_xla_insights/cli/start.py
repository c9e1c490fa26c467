"""The entry point of `xla-insights`, which handles Ctrl-C before any other module is imported."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def command() -> NoReturn:
    try:
        from tb_xla_insights.cli.signals import exit_on_signal

        exit_on_signal()
    except KeyboardInterrupt:  # the signal arrived before the handlers were set
        try:
            os.write(2, b"xla-insights: stopped\n")
        finally:
            os._exit(130)
    from tb_xla_insights.cli import main

    main.command()
