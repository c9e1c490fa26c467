"""One-line messages, with a remedy, for errors of any file system."""

from __future__ import annotations

_REFUSED_STATUS = (401, 403)
_MISSING_STATUS = (404, 410)


def reason(error: Exception, *, listing: bool = False) -> str:
    """A one-line message for an error of the operating system or of a file system, about a file or, with `listing`,
    about a directory."""
    text = " ".join(_text(_underlying(error)).split())
    if is_missing(error):
        return f"no such file{' or directory' if listing else ''}; check the path"
    if isinstance(error, PermissionError) and error.strerror == "Permission denied":
        return f"permission denied; make {'it' if listing else 'the file'} readable for this user"
    if is_refusal(error):
        return f"access refused ({text}); check the credentials and what they may read"
    if listing:
        return f"cannot be read ({text}); check the path and the access to it"
    return f"cannot be read ({text}); try again or copy the file to a local disk"


def is_missing(error: Exception) -> bool:
    """Whether the error means that the file does not exist."""
    error = _underlying(error)
    return isinstance(error, FileNotFoundError) or _status(error) in _MISSING_STATUS


def is_refusal(error: Exception) -> bool:
    """Whether the error means that access was refused, or that the store does not know the user."""
    error = _underlying(error)
    return (
        isinstance(error, PermissionError)
        or _status(error) in _REFUSED_STATUS
        or "Credentials" in type(error).__name__
        or str(error).startswith("Forbidden")  # gcsfs
    )


def _status(error: Exception) -> object:
    return getattr(error, "status", None) or getattr(error, "code", None)


def _underlying(error: Exception) -> Exception:
    """The actual error: fsspec's HTTP file system raises FileNotFoundError for every failure, with the actual error as
    its cause."""
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception):
        module = type(cause).__module__.partition(".")[0]
        if module == "aiohttp" or isinstance(cause, OSError | ValueError):
            return cause
    return error


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if status and isinstance(message, str):  # aiohttp's text repeats the URL
        return f"{status} {message}"
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
