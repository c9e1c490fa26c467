"""TensorBoard with this checkout's plugin, whether or not it is installed. Usage: serve.py LOGDIR [FLAG…]"""

from __future__ import annotations

import os
import sys
import threading

from tensorboard import default, program

from tb_xla_insights.plugin import XlaInsights


def end_with_input() -> None:
    """Ends this process once whoever started it is gone, however that ended."""
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Serves on a free loopback port; TensorBoard prints the address on stderr."""
    threading.Thread(target=end_with_input, daemon=True).start()
    plugins = [p for p in default.get_plugins() if getattr(p, "__module__", "") != XlaInsights.__module__]
    server = program.TensorBoard(plugins=[*plugins, XlaInsights])
    server.configure(["serve", "--logdir", sys.argv[1], "--host", "127.0.0.1", "--port", "0", *sys.argv[2:]])
    server.main()


if __name__ == "__main__":
    main()
