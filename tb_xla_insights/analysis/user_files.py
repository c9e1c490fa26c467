"""Which files are the user's own."""

from __future__ import annotations

import re

_LIBRARY = re.compile(
    r"(site|dist)-packages[/\\]|/lib/python|\\(python[\d.]*|\w*conda\d*|envs\\[^\\]+)\\lib\\", re.IGNORECASE
)
"""Files of installed packages and of the standard library."""

_NOTEBOOK_CELL = "<ipython-input-"


def is_user_file(path: str) -> bool:
    """Returns whether a path is a file or a notebook's cell (not `<string>`) outside of installed packages and the
    standard library. Of a path without folders, only the form can tell."""
    is_code = path.startswith(_NOTEBOOK_CELL) or (bool(path) and not path.startswith("<"))
    return is_code and not _LIBRARY.search(path)
