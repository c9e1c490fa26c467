"""TensorBoard with this checkout's plugin, whether or not it is installed. Usage: serve.py LOGDIR [FLAG…]"""

from __future__ import annotations

import sys

from tensorboard import default, program

from tb_xla_insights.plugin import XlaInsights


def main() -> None:
    """Serves on a free loopback port; TensorBoard prints the address on stderr."""
    plugins = [p for p in default.get_plugins() if getattr(p, "__module__", "") != XlaInsights.__module__]
    server = program.TensorBoard(plugins=[*plugins, XlaInsights])
    server.configure(["serve", "--logdir", sys.argv[1], "--host", "127.0.0.1", "--port", "0", *sys.argv[2:]])
    server.main()


if __name__ == "__main__":
    main()
