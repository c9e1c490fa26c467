"""Generates hostile requests, each as the bytes to send; random, but the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from words import (
    ALLOWED_HOSTS,
    BODIES,
    CONTENT_TYPES,
    FETCH_SITES,
    FOREIGN_HOSTS,
    METHODS,
    ORIGINS,
    PATHS,
    QUERY_TEXTS,
    VALUES,
)

BASE = "/data/plugin/xla_insights"
POSTS = ("capture", "capture_cancel", "reload", "stop")
PAGE = {
    "Host": "localhost",
    "Origin": "http://localhost",
    "X-XLA-Insights": "1",
    "Content-Type": "application/json",
}

_MAX_LINE_BYTES = 1 << 16
Arguments = list[tuple[str, str]]


@dataclass(frozen=True)
class Request:
    family: str
    data: bytes
    method: str
    reaches_plugin: bool = True
    """Whether the plugin responds; else the server may refuse the request itself."""
    is_forbidden: bool = False
    """Whether a response with status 200 is a failure."""


@dataclass
class ValidRequests:
    """Valid arguments of each GET, and names of the logdir's sessions and of some that it does not have."""

    arguments: dict[str, dict[str, str]]
    sessions: list[str]


class Attacks:
    """A generator of random requests; `next` returns one."""

    def __init__(self, valid: ValidRequests, seed: int) -> None:
        self._valid = valid
        self._random = random.Random(seed)
        self._families: list[Callable[[], Request]] = [
            self._methods,
            self._host_names,
            self._origins,
            self._arguments,
            self._arguments,
            self._arguments,
            self._encodings,
            self._paths,
            self._bodies,
            self._bodies,
            self._lengths,
            self._malformed,
            self._links,
        ]

    def next(self) -> Request:
        return self._random.choice(self._families)()

    def _route(self) -> str:
        return self._random.choice([*self._valid.arguments, *POSTS])

    def _url(self, route: str, arguments: Arguments | None = None) -> str:
        """The URL of a route, with its valid arguments unless others are given."""
        if arguments is None:
            arguments = list(self._valid.arguments.get(route, {}).items())
        return f"{BASE}/data/{route}?{urlencode(arguments, errors='surrogatepass')}"

    def _request(
        self,
        family: str,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        body: bytes = b"",
        reaches_plugin: bool = True,
        is_forbidden: bool = False,
    ) -> Request:
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        data = f"{method} {url} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "surrogatepass") + body
        # The server itself refuses longer request lines.
        fits = len(method) + len(url) < _MAX_LINE_BYTES
        return Request(family, data, method, reaches_plugin and fits, is_forbidden)

    def _methods(self) -> Request:
        method, route = self._random.choice(METHODS), self._route()
        is_valid = method.isascii() and method.isprintable()
        is_wrong = is_valid and method.upper() not in (("POST",) if route in POSTS else ("GET", "HEAD"))
        headers = [*PAGE.items(), ("Content-Length", "2")]
        return self._request(
            "methods",
            method,
            self._url(route),
            headers,
            b"{}",
            is_forbidden=is_wrong,
            reaches_plugin=is_valid,
        )

    def _host_names(self) -> Request:
        is_allowed = self._random.random() < 0.2
        host = self._random.choice(ALLOWED_HOSTS if is_allowed else FOREIGN_HOSTS)
        headers = [("Host", host)]
        if self._random.random() < 0.3:  # headers that scripts can set
            headers += [
                ("X-Forwarded-Host", "localhost"),
                ("X-Forwarded-Proto", "https"),
                ("Forwarded", "host=localhost;proto=https"),
            ]
        if self._random.random() < 0.1:
            headers += [("Host", self._random.choice(ALLOWED_HOSTS))]
        route = self._random.choice(list(self._valid.arguments))
        return self._request("Host", "GET", self._url(route), headers, is_forbidden=not is_allowed)

    def _origins(self) -> Request:
        headers = {**PAGE, "Content-Length": "2", "Origin": self._random.choice(ORIGINS)}
        kind = self._random.randrange(5)
        if kind == 0:
            headers |= {"Sec-Fetch-Site": self._random.choice(FETCH_SITES)}
        elif kind == 1:
            headers = {**headers, "Origin": "http://localhost", "X-XLA-Insights": ""}
        elif kind == 2:
            headers = {**headers, "Host": "rebound.example", "Origin": "http://rebound.example"}
        elif kind == 3:
            headers = {**headers, "X_XLA_Insights": "1", "X_XLA-Insights": "1", "Origin": "http://localhost"}
            del headers["X-XLA-Insights"]
        return self._request(
            "Origin",
            "POST",
            self._url(self._random.choice(POSTS)),
            list(headers.items()),
            b"{}",
            is_forbidden=True,
        )

    def _arguments(self) -> Request:
        route = self._random.choice(list(self._valid.arguments))
        arguments: Arguments = list(self._valid.arguments[route].items())
        for _ in range(self._random.randint(1, 3)):
            kind = self._random.randrange(6)
            value = self._random.choice(VALUES if self._random.random() < 0.9 else self._valid.sessions)
            if kind == 0 and arguments:
                arguments.pop(self._random.randrange(len(arguments)))
            elif kind == 1 and arguments:
                arguments.append((self._random.choice(arguments)[0], value))
            elif kind == 2:
                arguments.append((self._random.choice(VALUES), value))
            elif kind == 3:
                arguments += [("hosts", value)]
            elif arguments:
                index = self._random.randrange(len(arguments))
                arguments[index] = (arguments[index][0], value)
        return self._request(
            "arguments",
            self._random.choice(("GET", "GET", "HEAD")),
            self._url(route, arguments),
            [("Host", "localhost")],
        )

    def _encodings(self) -> Request:
        route = self._random.choice(list(self._valid.arguments))
        text = "&".join(
            f"{name}={self._random.choice(QUERY_TEXTS) if self._random.random() < 0.5 else quote(value)}"
            for name, value in self._valid.arguments[route].items()
        )
        url = f"{BASE}/data/{route}?{text}{self._random.choice(QUERY_TEXTS)}"
        return self._request("encodings", "GET", url, [("Host", "localhost")])

    def _paths(self) -> Request:
        path = self._random.choice(PATHS).replace(" ", "%20")
        folder = self._random.choice(
            (
                "static",
                "static/none",
                "static/0123456789abcdef",
                "static/none/packed",
                "data",
                "data/session",
                "",
                "nothing",
            )
        )
        return self._request(
            "paths",
            "GET",
            f"{BASE}/{folder}/{path}",
            [("Host", "localhost")],
            reaches_plugin=folder != "",
        )

    def _bodies(self) -> Request:
        body = self._random.choice(BODIES)
        headers = {
            **PAGE,
            "Content-Type": self._random.choice(CONTENT_TYPES)
            if self._random.random() < 0.4
            else PAGE["Content-Type"],
        }
        if self._random.random() < 0.1:
            headers["Content-Encoding"] = self._random.choice(("gzip", "br", "x"))
        route = self._random.choice(POSTS)
        if self._random.random() < 0.3:
            headers["Transfer-Encoding"] = "chunked"
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        else:
            headers["Content-Length"] = str(len(body))
        return self._request("bodies", "POST", self._url(route), list(headers.items()), body)

    def _lengths(self) -> Request:
        """Bodies whose length is announced wrongly or ambiguously."""
        framings: list[tuple[list[tuple[str, str]], bytes]] = [
            ([("Content-Length", value)], b"{}")
            for value in ("-1", "+2", "0x2", "2.0", "2,2", "", " ", "9" * 5_000, "1" + "0" * 18, "two", "２")
        ]
        framings += [
            ([("Content-Length", "2"), ("Content-Length", "400")], b"{}"),
            ([("Content-Length", "2"), ("Transfer-Encoding", "chunked")], b"2\r\n{}\r\n0\r\n\r\n"),
            ([("Content-Length", "2")], b"{}GET /data/logdir HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ([], b"{}"),
            ([("Content-Length", "100000")], b"{"),
        ]
        codings = (
            "chunked",
            "Chunked",
            "gzip, chunked",
            "chunked, identity",
            "identity",
            "xchunked",
            " chunked",
            "chunked\x0b",
            "gzip",
            "chunked;q=1",
        )
        chunked_bodies = (
            b"2\r\n{}\r\n0\r\n\r\n",
            b"-2\r\n{}\r\n",
            b"ffffffffffffffffffff\r\n{}",
            b"2;x=y\r\n{}\r\n0\r\n\r\n",
            b"2\n{}\n0\n\n",
            b"\r\n",
            b"x\r\n",
            b"+2\r\n{}\r\n0\r\n\r\n",
            b"0x2\r\n{}\r\n0\r\n\r\n",
            b"2_0\r\n{}",
            b"2\r\n{}0\r\n\r\n",
            b"0\r\nTrailer: x\r\n\r\n",
            b"1" * 300 + b"\r\n",
            b"20000\r\n" + b" " * 0x20000,
        )
        framings += [
            ([("Transfer-Encoding", coding)], self._random.choice(chunked_bodies)) for coding in codings
        ]
        headers, body = self._random.choice(framings)
        all_headers = [*PAGE.items(), *headers]
        if self._random.random() < 0.1:
            all_headers.append(("Expect", "100-continue"))
        if self._random.random() < 0.2:
            return self._request(
                "lengths",
                "GET",
                self._url(self._random.choice(list(self._valid.arguments))),
                all_headers,
                body,
            )
        return self._request("lengths", "POST", self._url(self._random.choice(POSTS)), all_headers, body)

    def _malformed(self) -> Request:
        """Malformed HTTP, which the server may refuse before the plugin sees it."""
        url = self._url("sessions").encode()
        host = b"Host: localhost\r\n\r\n"
        data = self._random.choice(
            (
                b"GET " + url + b"\r\n\r\n",
                b"GET " + url + b" HTTP/0.9\r\n" + host,
                b"GET " + url + b" HTTP/1.0\r\n\r\n",
                b"GET " + url + b" HTTP/2.0\r\n" + host,
                b"GET " + url + b" HTTP/1.1 x\r\n" + host,
                b"GET " + url + b" http/1.1\r\n" + host,
                b"GET  " + url + b"  HTTP/1.1\r\n" + host,
                b"GET\t" + url + b"\tHTTP/1.1\r\n" + host,
                b"GET http://localhost" + url + b" HTTP/1.1\r\nHost: rebound.example\r\n\r\n",
                b"GET ftp://localhost" + url + b" HTTP/1.1\r\n" + host,
                b"GET //" + url + b" HTTP/1.1\r\n" + host,
                b"GET * HTTP/1.1\r\n" + host,
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40,
                b"GET " + url + b" HTTP/1.1\n" + host,
                b"GET " + url + b" HTTP/1.1\r\n Host: localhost\r\n\r\n",
                b"GET " + url + b" HTTP/1.1\r\nHost : localhost\r\n\r\n",
                b"GET " + url + b" HTTP/1.1\r\nno colon\r\n" + host,
                b"GET " + url + b" HTTP/1.1\r\nX: a\r\n b\r\n" + host,
                b"GET " + url + b" HTTP/1.1\r\nX: \x00\r\n" + host,
                b"GET " + url + b" HTTP/1.1\r\n" + b"X: y\r\n" * 90 + host,
                b"GET " + url + b" HTTP/1.1\r\n" + b"X: y\r\n" * 200 + host,
                b"GET " + url + b" HTTP/1.1\r\nX: " + b"y" * 70_000 + b"\r\n" + host,
                b"GET " + url + b"&" + b"y" * 70_000 + b" HTTP/1.1\r\n" + host,
                b"GET "
                + url
                + b" HTTP/1.1\r\nAccept-Encoding: "
                + self._random.choice(
                    (b"gzip;q=x", b"*;q=0", b"gzip;q=0", b"identity;q=0", b"br, gzip;q=1e9", b",,,", b"\xff")
                )
                + b"\r\n"
                + host,
                b"GET "
                + url
                + b" HTTP/1.1\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\nIf-Modified-Since: x\r\n"
                + host,
                b"GET " + url + b" HTTP/1.1\r\nCookie: " + b"a=b;" * 10_000 + b"\r\n" + host,
                b"GET " + url + b" HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + host,
                b"GET " + url.replace(b"?", b"\x00?") + b" HTTP/1.1\r\n" + host,
                b"GET "
                + url
                + b" HTTP/1.1\r\nConnection: keep-alive\r\n"
                + host
                + b"GET "
                + url
                + b" HTTP/1.1\r\n"
                + host,
                b"GET " + url + b"\xff\xfe HTTP/1.1\r\n" + host,
            )
        )
        return Request("malformed", data, "GET", reaches_plugin=False)

    def _links(self) -> Request:
        """GETs of routes that once acted on GET, as sent by images of other sites and old links."""
        route, session = (
            self._random.choice(("stop", "session", "reload", "capture_cancel")),
            self._random.choice(self._valid.sessions),
        )
        url = self._url(route, [("session", session), ("reload", "1"), ("addresses", "localhost:1")])
        return self._request(
            "links",
            "GET",
            url,
            [("Host", "localhost"), ("Referer", "http://elsewhere.example/")],
            is_forbidden=route != "session",
        )


def describe(request: Request) -> str:
    """The beginning of a request, for sending it again by hand."""
    return json.dumps(request.data[:300].decode("latin-1"))
