"""Local paths and URLs as the system and web servers understand them."""

from __future__ import annotations

import os
from urllib.parse import unquote

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import is_url


def absolute(path: str) -> str:
    """The path from the root, with `..` resolved as the system does: after the links before it. Raises InputError for a
    relative path if the working directory was removed."""
    if is_url(path):
        return path
    names = path.split("/")
    end = len(names) - names[::-1].index("..") if ".." in names else 0
    try:
        head = os.path.realpath("/".join(names[:end])) if end else ""
        return os.path.abspath(os.path.join(head, *names[end:]) if end else path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: the working directory was removed; give an absolute path") from error


def decoded(path: str) -> str:
    """The path from which names are formed: a web address without its query, such as a signature, and decoded."""
    return unquote(path.partition("?")[0]) if is_web_address(path) else path


def is_web_address(path: str) -> bool:
    return path.startswith(("http://", "https://"))
