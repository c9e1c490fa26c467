"""What went wrong with a file, in one line that says what to do, whatever file system raised it."""

from __future__ import annotations

_REFUSED = (401, 403)
_GONE = (404, 410)


def reason(error: Exception, *, listing: bool = False) -> str:
    """One line for what an operating or file system said of a file, or of a directory that was to be listed."""
    text = " ".join(_text(_hidden(error)).split())
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
    """Whether it says that there is no such file."""
    error = _hidden(error)
    return isinstance(error, FileNotFoundError) or _status(error) in _GONE


def is_refusal(error: Exception) -> bool:
    """Whether it says that this user may not, or that the store does not know this user."""
    error = _hidden(error)
    return (
        isinstance(error, PermissionError)
        or _status(error) in _REFUSED
        or "Credentials" in type(error).__name__
        or str(error).startswith("Forbidden")  # gcsfs
    )


def _status(error: Exception) -> object:
    return getattr(error, "status", None) or getattr(error, "code", None)


def _hidden(error: Exception) -> Exception:
    """fsspec's HTTP file system calls every failure a missing file, and has what it was as the cause."""
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
