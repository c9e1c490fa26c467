"""TensorBoard with this checkout's plugin, whether or not it is installed. Usage: serve.py LOGDIR [FLAG…]"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from tensorboard import default, program

sys.path.insert(0, str(Path(__file__).parents[2]))

from tb_xla_insights.plugin import XlaInsights


def end_with_input() -> None:
    """Ends this process once its standard input is closed: when the process that started it has ended, in any way."""
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Serves on a free loopback port; TensorBoard prints the address on stderr."""
    threading.Thread(target=end_with_input, daemon=True).start()
    plugins = [
        plugin
        for plugin in default.get_plugins()
        if getattr(plugin, "__module__", "") != XlaInsights.__module__
    ]
    server = program.TensorBoard(plugins=[*plugins, XlaInsights])
    server.configure(["serve", "--logdir", sys.argv[1], "--host", "127.0.0.1", "--port", "0", *sys.argv[2:]])
    server.main()


if __name__ == "__main__":
    main()
