"""How the plugin answers: packed JSON, failures as one line of it; reads, and what the page alone may ask for."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from tensorboard.backend import http_util
from werkzeug import wrappers
from werkzeug.exceptions import HTTPException

from tb_xla_insights.errors import InputError
from tb_xla_insights.json_text import json_bytes
from tb_xla_insights.logdir.store import ReadAgainError, StillReadingError, UnknownSessionError
from tb_xla_insights.plugin.arguments import Arguments
from tb_xla_insights.plugin.origin import refusal

_log = logging.getLogger(__name__)
_JSON = "application/json"
# At 6 a view is a fifth smaller than at TensorBoard's 3, and still packed in a few milliseconds.
_LEVEL = 6
_LONGEST_BODY = 1 << 16

Handler = Callable[[Arguments], dict[str, Any]]
Application = Callable[..., Iterable[bytes]]


def application(serve: Callable[[wrappers.Request], wrappers.Response]) -> Application:
    """The WSGI application that answers reads with `serve` and everything else with 405."""

    @wrappers.Request.application
    def wrapped(request: wrappers.Request) -> wrappers.Response:
        if request.method in ("GET", "HEAD"):
            return serve(request)
        message = f"{request.method} is not allowed; this address is only read"
        return error(request, 405, message, [("Allow", "GET, HEAD")])

    return wrapped


def get(route: str, handler: Handler) -> Application:
    """The WSGI application that answers GETs with what `handler` makes of their arguments."""
    return application(
        lambda request: _answer(request, route, lambda: handler(Arguments(route, request.args)))
    )


def post(route: str, handler: Handler, loopback: bool, off: str | None) -> Application:
    """The WSGI application that answers the page's own POSTs, whose body is a JSON object of texts and numbers.

    `loopback` as in `origin.refusal`; `off` says why nobody may, where nobody may.
    """

    @wrappers.Request.application
    def wrapped(request: wrappers.Request) -> wrappers.Response:
        if request.method != "POST":
            message = f"{request.method} is not allowed; this address acts, and takes POST"
            return error(request, 405, message, [("Allow", "POST")])
        if refused := off or refusal(request, loopback):
            return error(request, 403, refused)
        return _answer(request, route, lambda: handler(Arguments(route, _body(request, route))))

    return wrapped


def _body(request: wrappers.Request, route: str) -> dict[str, str]:
    document: Any = None
    if request.mimetype == _JSON and 0 <= (request.content_length or 0) <= _LONGEST_BODY:
        with suppress(ValueError, RecursionError, OSError, HTTPException):  # a body may also end too early
            document = json.loads(request.get_data() or b"{}")
    if not isinstance(document, dict) or not all(isinstance(it, str | int) for it in document.values()):
        raise InputError(f"{route}: the body must be a JSON object of texts and whole numbers")
    return {name: str(value) for name, value in document.items()}


def _answer(
    request: wrappers.Request, route: str, document: Callable[[], dict[str, Any]]
) -> wrappers.Response:
    try:
        return respond(request, document())
    except UnknownSessionError as failure:
        return error(request, 404, str(failure))
    except ReadAgainError as failure:
        return error(request, 409, str(failure))
    except StillReadingError as failure:
        return error(request, 503, str(failure), [("Retry-After", "1")])
    except InputError as failure:
        return error(request, 400, str(failure))
    except Exception as failure:  # told in one line to the page, in full to the log
        _log.exception("%s failed", route)
        kind = type(failure).__name__
        return error(request, 500, f"{route}: {kind}, a fault of the plugin; see TensorBoard's output")


def not_found(request: wrappers.Request) -> wrappers.Response:
    """For every address that is no route."""
    address = request.path.rpartition("/xla_insights/")[2]
    return error(request, 404, f"{address}: no such address; docs/routes.md lists them")


def error(
    request: wrappers.Request, code: int, message: str, headers: list[tuple[str, str]] | None = None
) -> wrappers.Response:
    """A failure as `{"error": "one line"}`."""
    return respond(request, {"error": " ".join(message.split())}, code, headers)


def respond(
    request: wrappers.Request,
    document: dict[str, Any],
    code: int = 200,
    headers: list[tuple[str, str]] | None = None,
) -> wrappers.Response:
    """A document as JSON, gzipped where the client takes that."""
    body = json_bytes(document)
    if request.accept_encodings["gzip"] <= 0:
        return raw(request, body, _JSON, code=code, headers=headers)
    packed = gzip.compress(body, _LEVEL, mtime=0)
    return raw(request, packed, _JSON, code=code, headers=headers, content_encoding="gzip")


def raw(request: wrappers.Request, content: bytes, kind: str, **more: Any) -> wrappers.Response:
    """TensorBoard's own response: with `nosniff`, and unpacked for clients that do not take gzip."""
    response: wrappers.Response = http_util.Respond(request, content, kind, **more)
    return response
