"""The addresses of profiler servers, and the files that are named after them."""

from __future__ import annotations

import pytest

from tb_xla_insights.capture.addresses import host_name, parse_addresses
from tb_xla_insights.errors import InputError


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("localhost:3294", ("localhost:3294",)),
        (" 10.0.0.2:8466, [::1]:9012,10.0.0.2:8466,", ("10.0.0.2:8466", "[::1]:9012")),
        ("t1v-n-8c41-w-0.c_x:1", ("t1v-n-8c41-w-0.c_x:1",)),
        ("a:1\n", ("a:1",)),
    ],
)
def test_addresses(text: str, addresses: tuple[str, ...]) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize(
    "text",
    ["", " , ", "localhost", "9012", ":9012", "localhost:", "localhost:0", "localhost:65536", "::1:9012",
     "http://localhost:9012", "unix:/a/socket", "a b:1", "localhost:9012/x", "-a:1", "é:1"],
)  # fmt: skip
def test_malformed_addresses(text: str) -> None:
    with pytest.raises(InputError, match="HOST:PORT"):
        parse_addresses(text)


def test_the_file_is_named_after_the_address() -> None:
    assert host_name("localhost:9012") == "localhost_9012"
    assert host_name("[::1]:9012") == "__1_9012"
