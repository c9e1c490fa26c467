"""WSGI applications of the plugin: gzipped JSON responses, errors of one line, and the checks of GETs and POSTs."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tensorboard.backend import http_util
from werkzeug import wrappers

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.texts import TextError, parse_json
from tb_xla_insights.logdir.store import FilesChangedError, StillReadingError, UnknownSessionError
from tb_xla_insights.plugin.abandoned import is_abandoned
from tb_xla_insights.plugin.allowed_hosts import AllowedHosts
from tb_xla_insights.plugin.bodies import TooLargeError, close_after, may_have_more, read_body
from tb_xla_insights.plugin.origin import refusal
from tb_xla_insights.routes.arguments import Arguments, Handler
from tb_xla_insights.text.json_text import json_bytes

_log = logging.getLogger(__name__)
_JSON = "application/json"
# At level 6 a view is a fifth smaller than at TensorBoard's 3, and still compressed in a few milliseconds.
_GZIP_LEVEL = 6
_MAX_MESSAGE_LENGTH = 5_000
"""Characters, more than any path has; a message may quote a far longer request."""

Application = Callable[..., Iterable[bytes]]


def application(serve: Callable[[wrappers.Request], wrappers.Response]) -> Application:
    """The WSGI application that answers GET and HEAD with `serve` and other methods with 405."""
    return _application(("GET", "HEAD"), "this address is read-only", serve)


def get(route: str, handler: Handler, hosts: AllowedHosts) -> Application:
    """The WSGI application that answers GETs with the document of `handler`."""

    def serve(request: wrappers.Request) -> wrappers.Response:
        if reason := hosts.refusal(request):
            return error_response(request, 403, reason)
        if is_abandoned(request):
            return error_response(request, 499, "the client has closed the connection")
        return _answer(request, route, lambda: handler(Arguments(route, request.args)))

    return application(serve)


def post(route: str, handler: Handler, hosts: AllowedHosts, refusal_of_all: str | None = None) -> Application:
    """The WSGI application that answers POSTs of the page, whose body is a JSON object of strings and integers.

    `refusal_of_all` is the reason if all requests are refused.
    """

    def serve(request: wrappers.Request) -> wrappers.Response:
        if reason := refusal_of_all or hosts.refusal(request) or refusal(request, hosts):
            return error_response(request, 403, reason)
        return _answer(request, route, lambda: handler(Arguments(route, _document(request, route))))

    return _application(("POST",), "this address takes POST only", serve)


def _application(
    methods: Sequence[str], explanation: str, serve: Callable[[wrappers.Request], wrappers.Response]
) -> Application:
    """The WSGI application that answers these methods with `serve`, and others with 405 and `explanation`."""

    @wrappers.Request.application
    def wrapped(request: wrappers.Request) -> wrappers.Response:
        if request.method in methods:
            response = serve(request)
        else:
            message = f"{request.method[:40]} is not allowed; {explanation}"
            response = error_response(request, 405, message, [("Allow", ", ".join(methods))])
        return close_after(request, response) if may_have_more(request) else response

    return wrapped


def _document(request: wrappers.Request, route: str) -> dict[str, str]:
    document: Any = None
    content = read_body(request)
    if request.mimetype == _JSON and content is not None:
        with suppress(TextError):
            document = parse_json(content or b"{}")
    if not isinstance(document, dict) or not all(isinstance(value, str | int) for value in document.values()):
        raise InputError(f"{route}: the body must be a JSON object of strings and integers")
    return {name: str(value) for name, value in document.items()}


def _answer(
    request: wrappers.Request, route: str, document: Callable[[], Mapping[str, Any]]
) -> wrappers.Response:
    try:
        return json_response(request, document())
    except UnknownSessionError as error:
        return error_response(request, 404, str(error))
    except FilesChangedError as error:
        return error_response(request, 409, str(error))
    except StillReadingError as error:
        return error_response(request, 503, str(error), [("Retry-After", "1")])
    except TooLargeError as error:
        return error_response(request, 413, str(error))
    except InputError as error:
        return error_response(request, 400, str(error))
    except Exception as error:  # one line for the page, the traceback for the log
        _log.exception("%s failed", route)
        fault = type(error).__name__
        return error_response(
            request, 500, f"{route}: {fault}, a bug in the plugin; see TensorBoard's output"
        )


def not_found(request: wrappers.Request) -> wrappers.Response:
    """The response for every address that is not a route."""
    address = request.path.rpartition("/xla_insights/")[2] or "/"
    return error_response(request, 404, f"{address}: no such address; docs/routes.md lists them")


def error_response(
    request: wrappers.Request, code: int, message: str, headers: list[tuple[str, str]] | None = None
) -> wrappers.Response:
    """An error response, `{"error": "one line"}`."""
    line = " ".join(message.split())
    text = line if len(line) <= _MAX_MESSAGE_LENGTH else f"{line[:_MAX_MESSAGE_LENGTH]}…"
    return json_response(request, {"error": text}, code, headers)


def json_response(
    request: wrappers.Request,
    document: Mapping[str, Any],
    code: int = 200,
    headers: list[tuple[str, str]] | None = None,
) -> wrappers.Response:
    """A document as JSON, gzipped if the client accepts it."""
    content = json_bytes(document)
    if request.accept_encodings["gzip"] <= 0:
        return bytes_response(request, content, _JSON, code=code, headers=headers)
    packed = gzip.compress(content, _GZIP_LEVEL, mtime=0)
    return bytes_response(request, packed, _JSON, code=code, headers=headers, content_encoding="gzip")


def bytes_response(
    request: wrappers.Request, content: bytes, mimetype: str, **options: Any
) -> wrappers.Response:
    """A response by TensorBoard's `Respond`: with `nosniff`, and unpacked for clients that do not accept gzip. Pages of
    other origins may not embed it, and opened as a page it can load and run nothing."""
    response: wrappers.Response = http_util.Respond(request, content, mimetype, **options)
    response.headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    if mimetype == _JSON and not options.get("expires"):
        response.headers["Cache-Control"] = "no-store"  # names of the user's code must not be cached on disk
    return response
