"""Prints the given port, or a free one if that is in use: free_port.py PORT"""

import socket
import sys

preferred = int(sys.argv[1])
for port in (preferred, 0):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(probe.getsockname()[1])
        break
