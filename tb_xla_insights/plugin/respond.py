"""How the plugin answers: packed JSON, failures as one line of it; reads, and what the page alone may ask for."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tensorboard.backend import http_util
from werkzeug import wrappers

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.texts import TextError, parsed_json
from tb_xla_insights.json_text import json_bytes
from tb_xla_insights.logdir.store import FilesChangedError, StillReadingError, UnknownSessionError
from tb_xla_insights.plugin.allowed_hosts import Names
from tb_xla_insights.plugin.arguments import Arguments
from tb_xla_insights.plugin.bodies import TooLargeError, body, closing, may_go_on
from tb_xla_insights.plugin.origin import refusal

_log = logging.getLogger(__name__)
_JSON = "application/json"
# At 6 a view is a fifth smaller than at TensorBoard's 3, and still packed in a few milliseconds.
_LEVEL = 6
_LONGEST_LINE = 5_000
"""Letters, more than a path has: what was asked for may be far longer."""

Handler = Callable[[Arguments], Mapping[str, Any]]
Application = Callable[..., Iterable[bytes]]


def application(serve: Callable[[wrappers.Request], wrappers.Response]) -> Application:
    """The WSGI application that answers reads with `serve` and everything else with 405."""
    return _application(("GET", "HEAD"), "this address is only read", serve)


def get(route: str, handler: Handler, names: Names) -> Application:
    """The WSGI application that answers GETs with what `handler` makes of their arguments."""

    def serve(request: wrappers.Request) -> wrappers.Response:
        if refused := names.refusal(request):
            return error(request, 403, refused)
        return _answer(request, route, lambda: handler(Arguments(route, request.args)))

    return application(serve)


def post(route: str, handler: Handler, names: Names, off: str | None = None) -> Application:
    """The WSGI application that answers the page's own POSTs, whose body is a JSON object of texts and numbers.

    `off` says why nobody may, where nobody may.
    """

    def serve(request: wrappers.Request) -> wrappers.Response:
        if refused := off or names.refusal(request) or refusal(request, names):
            return error(request, 403, refused)
        return _answer(request, route, lambda: handler(Arguments(route, _document(request, route))))

    return _application(("POST",), "this address acts, and takes POST", serve)


def _application(
    methods: Sequence[str], why: str, serve: Callable[[wrappers.Request], wrappers.Response]
) -> Application:
    """The WSGI application that answers these methods with `serve`, and others with 405 and `why`."""

    @wrappers.Request.application
    def wrapped(request: wrappers.Request) -> wrappers.Response:
        if request.method in methods:
            response = serve(request)
        else:
            message = f"{request.method[:40]} is not allowed; {why}"
            response = error(request, 405, message, [("Allow", ", ".join(methods))])
        return closing(request, response) if may_go_on(request) else response

    return wrapped


def _document(request: wrappers.Request, route: str) -> dict[str, str]:
    document: Any = None
    content = body(request)
    if request.mimetype == _JSON and content is not None:
        with suppress(TextError):
            document = parsed_json(content or b"{}")
    if not isinstance(document, dict) or not all(isinstance(it, str | int) for it in document.values()):
        raise InputError(f"{route}: the body must be a JSON object of texts and whole numbers")
    return {name: str(value) for name, value in document.items()}


def _answer(
    request: wrappers.Request, route: str, document: Callable[[], Mapping[str, Any]]
) -> wrappers.Response:
    try:
        return respond(request, document())
    except UnknownSessionError as failure:
        return error(request, 404, str(failure))
    except FilesChangedError as failure:
        return error(request, 409, str(failure))
    except StillReadingError as failure:
        return error(request, 503, str(failure), [("Retry-After", "1")])
    except TooLargeError as failure:
        return error(request, 413, str(failure))
    except InputError as failure:
        return error(request, 400, str(failure))
    except Exception as failure:  # told in one line to the page, in full to the log
        _log.exception("%s failed", route)
        kind = type(failure).__name__
        return error(request, 500, f"{route}: {kind}, a fault of the plugin; see TensorBoard's output")


def not_found(request: wrappers.Request) -> wrappers.Response:
    """For every address that is no route."""
    address = request.path.rpartition("/xla_insights/")[2] or "/"
    return error(request, 404, f"{address}: no such address; docs/routes.md lists them")


def error(
    request: wrappers.Request, code: int, message: str, headers: list[tuple[str, str]] | None = None
) -> wrappers.Response:
    """A failure as `{"error": "one line"}`."""
    line = " ".join(message.split())
    shown = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
    return respond(request, {"error": shown}, code, headers)


def respond(
    request: wrappers.Request,
    document: Mapping[str, Any],
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
    """TensorBoard's own response: with `nosniff`, and unpacked for clients that do not take gzip. No page of another
    origin may draw it in, and whoever opens it as a page gets one that does nothing."""
    response: wrappers.Response = http_util.Respond(request, content, kind, **more)
    response.headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    if kind == _JSON and not more.get("expires"):
        response.headers["Cache-Control"] = "no-store"  # names of one's own code are nothing for a disk
    return response
