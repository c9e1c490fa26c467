"""Values for hostile requests: texts that are hard to parse, print, open or compare."""

from __future__ import annotations

METHODS = (
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "FOO", "M" * 3000,
    "_x", "PROPFIND", "GET\x0b", "ГЕТ",
)  # fmt: skip

FOREIGN_HOSTS = (
    "rebound.example", "rebound.example:6006", "localhost.rebound.example", "127.0.0.1.rebound.example",
    "notlocalhost", "rebound.example.", "localhost,rebound.example", "localhost@rebound.example",
    "rebound.example@localhost", "rebound.example#localhost", "rebound.example/localhost",
    "rebound.example\\localhost", "localhost:6006:x", "[::1", "[::1]x", "local host", '"localhost"',
    "2130706433", "0x7f.1", "127.1", "ⅼocalhost", "localhost%00", "localhost;x", "x" * 5000 + ".example", "*",
    "..", "%6cocalhost", "localhost\x01", "rebound.localhost.example", "?", "_",
)  # fmt: skip
"""Values of the Host header that no TensorBoard accepts."""

ALLOWED_HOSTS = (
    "localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:6006", "a.localhost", "10.9.8.7:80", "localhost.",
)  # fmt: skip
"""Values of the Host header that every TensorBoard accepts."""

ORIGINS = (
    "http://rebound.example", "null", "http://localhost:1", "https://localhost:1", "file://", "http://[", "",
    "http://", "localhost", "http://localhost@rebound.example", "javascript:alert(1)",
    "http://localhost http://rebound.example", "http://a\tb",
)  # fmt: skip
"""Values of the Origin header that are not the page's."""

FETCH_SITES = (
    "cross-site", "same-site", "none ", "SAME-ORIGIN", "same-origin, cross-site", "x", "\x7f",
)  # fmt: skip
"""Values of the Sec-Fetch-Site header that are not the page's."""

VALUES = (
    "", "0", "-0", "-1", "+1", "1.5", "1e9", "NaN", "Infinity", "0x10", "1_000", "٣", "９", "9" * 16, "9" * 17,
    "9" * 5000, "-" + "9" * 400, "null", "None", "true", "[]", "{}", "\x00", "a\x00b", "\n",
    "a\r\nX-Injected: 1", "\u202e", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "ı", "ß",
    "é", "e\u0301", "../../../../etc/passwd", "..\\..\\", "/etc/passwd", "file:///etc/passwd", "~root", "$HOME",
    "%2e%2e%2f", "<script>alert(1)</script>", "' OR 1=1 --", "${7*7}", "{{7*7}}", "`id`", "; id", "| id",
    "(a+)+$", ".*", "[", "(", "\\", "*", ",", ",,,", "h0.", "h.", "h-1.t0", "h99999999999999999999.t0",
    "h0.t99999999999999999999", "9.99999", "0.0", "0.-1", "0." + "9" * 300, "all", "slowest,median,all",
    "0-999999", "5-1", "0-15,0-15", "x" * 40_000, "a," * 8_000, "h0.t0," * 3_000, "%s%n%d", "\\u0000", "١٢٣",
)  # fmt: skip
"""Values of arguments."""

QUERY_TEXTS = (
    "%", "%z", "%00", "%0a", "%0d%0aX-Injected:%201", "%ff", "%c0%af", "%ed%a0%80", "%u0041", "%25%32%65", "+",
    "%2B", "%F5%80%80%80", "%e2%80", ";", "a;b=c", "#", "?", "=", "==", "&", "&&&", "%26", "%3D", "[]", "[0]",
    "'", '"', "<", "\\", "^", "|", "`", "{", "}", "~" * 100,
)  # fmt: skip
"""Texts that are put into a query without encoding."""

PATHS = (
    "..", "../..", "../" * 12 + "etc/passwd", "%2e%2e/%2e%2e", "..%2f" * 12 + "etc/passwd", "..\\" * 8,
    "%252e%252e%252f", "....//" * 6, "/etc/passwd", "//etc/passwd", "C:\\windows", "index.js%00.css",
    "index.js/", "index.js//", "./index.js", "lib/../index.js", "packed/../../plugin/plugin.py",
    "sources.sha256", ".git/config", "index.js;x", "index.js.map", "index.js~", "*", "%2a", "%", "%ff", "é",
    "\u202e", "x" * 30_000, "a/" * 3_000, " ", "%20", "", "/", "//", "///", "con", "nul", "index.js?x=1",
    "index.js#x", "?", "INDEX.JS",
)  # fmt: skip
"""Ends of paths in URLs."""

BODIES = (
    b"", b"{", b"}", b"[]", b"null", b"1", b'"x"', b"{}{}", b"[" * 30_000, b'{"a":' * 10_000,
    b'{"session":' + b"[" * 10_000, b'{"session":{}}', b'{"session":null}', b'{"session":1e999}',
    b'{"session":NaN}', b'{"session":1.5}', b'{"session":true}', b'{"session":-0}',
    b'{"session":' + b"9" * 5_000 + b"}", b'{"session":"\\ud800"}', b'{"session":"\\u0000"}',
    b'{"session":"x","session":"y"}', b'{"":""}', b'{"__proto__":"x"}', b'{"__class__":"x","self":"y"}',
    b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b"\xff", b"\x00", b'{"session":"\xc0\xaf"}', b"a=b&c=d",
    b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--x--", b'{"addresses":"unix:/etc/passwd"}',
    b'{"addresses":"http://localhost:1"}', b'{"addresses":"localhost:1\\r\\nx"}',
    b'{"addresses":"' + b"a:1," * 2_000 + b'"}', b'{"addresses":"localhost:99999"}',
    b'{"addresses":"a:1","duration_ms":99999999999}', b'{"addresses":"a:1","retries":-1}',
    b'{"addresses":"[::1%25lo]:1"}', b'{"addresses":"localhost:1","duration_ms":"1\\n"}',
    b"{" + b" " * 60_000 + b"}", b"{" + b" " * 100_000 + b"}", b'{"' + b"k" * 50_000 + b'":1}',
    b"{" + b",".join(b'"%d":%d' % (i, i) for i in range(5_000)) + b"}", b'{"session":"' + b"x" * 60_000 + b'"}',
    b'{"session":"../../etc"}',
)  # fmt: skip

CONTENT_TYPES = (
    "application/json", "application/json; charset=utf-7", "application/json; charset=nothing",
    "APPLICATION/JSON", "text/plain", "text/json", "", "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x", "multipart/form-data", "application/json, text/html", "a/b" * 3_000,
    "\xff",
)  # fmt: skip
