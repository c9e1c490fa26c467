"""The host names under which data is served: those that no other site can make resolve to this machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from test_plugin import BASE, PAGE_HEADERS, data, document, post, tensorboard
from werkzeug.test import Client, EnvironBuilder
from werkzeug.wrappers import Request

from tb_xla_insights.errors import InputError
from tb_xla_insights.plugin.allowed_hosts import AllowedHosts, parse_names

FOREIGN = "rebound.example:6006"
MACHINE_NAME = socket.gethostname()


@pytest.fixture
def client(logdir: Path) -> Client:
    return tensorboard("--logdir", str(logdir))


def refusal(names: AllowedHosts, host: str, **headers: str) -> str | None:
    fields = [("Host", host), *((name.replace("_", "-"), value) for name, value in headers.items())]
    return names.refusal(Request(EnvironBuilder(headers=fields).get_environ()))


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:6006", "LocalHost.:6006", "a.b.localhost:6006", "127.0.0.1:6006", "10.1.2.3",
     "[::1]:6006", "[fe80::1%25eth0]:6006", f"{MACHINE_NAME}:6006", MACHINE_NAME.upper()],
)  # fmt: skip
def test_addresses_and_names_of_this_machine(host: str) -> None:
    assert refusal(AllowedHosts(), host) is None


@pytest.mark.parametrize(
    "host",
    [FOREIGN, "localhost.rebound.example", "notlocalhost:6006", f"{MACHINE_NAME}.rebound.example", "gpu-box:6006",
     "box.local", "127.0.0.1.rebound.example", "2130706433", "xn--bcher-kva.example", "1.2.3.4.5"],
)  # fmt: skip
def test_names_that_another_site_could_make_resolve_here(host: str) -> None:
    name = host.partition(":")[0].lower()
    assert (refusal(AllowedHosts(), host) or "").endswith(f"start it with --xla_insights_hosts={name}")


@pytest.mark.parametrize(
    "host",
    ["[::1", "a b", "a,b", "a@localhost", "localhost@a", "localhost:x", "localhost/", "[::1]x", "a:1:2"],
)
def test_malformed_host_headers(host: str) -> None:
    assert refusal(AllowedHosts(["*"]), host, Sec_Fetch_Site="same-origin") == f"{host} is not a host name"


def test_unregistrable_names_are_accepted_if_the_network_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tb_xla_insights.plugin.allowed_hosts._printed_name", lambda: "gpu-7.lab.example")
    for names in (AllowedHosts(bind_all=True), AllowedHosts(host="10.0.0.7")):
        for host in (
            "gpu-box:6006",
            "box.local",
            "vm.c.project.internal",
            "nas.home.arpa",
            "GPU-7.lab.example.",
        ):
            assert refusal(names, host) is None
        for host in (FOREIGN, "gpu-8.lab.example", "local.rebound.example"):
            assert refusal(names, host) is not None


def test_the_name_that_tensorboard_listens_at() -> None:
    assert refusal(AllowedHosts(host="gpu-7.lab.example"), "gpu-7.lab.example:80") is None


def test_names_of_proxies() -> None:
    names = AllowedHosts(parse_names(" lab.example, .corp.example,"))
    for host in ("lab.example:8888", "LAB.example", "a.corp.example", "a.b.corp.example:1"):
        assert refusal(names, host) is None
    for host in ("a.lab.example", "corp.example", "acorp.example"):
        assert refusal(names, host) is not None
    assert refusal(AllowedHosts(parse_names("*")), FOREIGN) is None
    assert AllowedHosts(parse_names("FE80::1,10.0.0.7")).is_listed("fe80::1")


def test_any_name_is_accepted_over_https() -> None:
    names = AllowedHosts()
    for headers in (
        {"Sec_Fetch_Site": "same-origin"},  # browsers send it only to https and to their own machine
        {"Sec_Fetch_Site": "none"},
        {"Origin": "https://lab.example"},
    ):
        assert refusal(names, "lab.example", **headers) is None
    for headers in (
        {"Sec_Fetch_Site": "cross-site"},
        {"Origin": "http://lab.example", "Referer": "https://lab.example"},
        {"Origin": "https://["},
        # A window that an https page leads on to an http address sends these.
        {"Referer": "https://lab.example/tb/"},
        {"Referer": "https://lab.example:6006/tb/"},
        {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "localhost"},  # scripts can set these
    ):
        assert refusal(names, "lab.example", **headers) is not None


@pytest.mark.parametrize(
    "text",
    ["http://lab.example", "lab.example:8888", "cafe:8888", "10.0.0.7:8888", "a b", "..", "bücher.example", "*.a"],
)  # fmt: skip
def test_malformed_lists_of_names(text: str, logdir: Path) -> None:
    with pytest.raises(InputError, match=r"is not a host name; write it as lab\.example, without a port$"):
        parse_names(text)
    with pytest.raises(ValueError, match="is not a host name"):
        tensorboard("--logdir", str(logdir), f"--xla_insights_hosts={text}")


def test_no_data_under_another_name(client: Client) -> None:
    for route in ("sessions", "session", "overview", "capture_progress"):
        answer = client.get(f"{BASE}/data/{route}", headers={"Host": FOREIGN})
        assert answer.status_code == 403
        assert "--xla_insights_hosts=rebound.example" in document(answer)["error"]
    headers = {**PAGE_HEADERS, "Host": FOREIGN, "Origin": f"http://{FOREIGN}"}
    assert post(client, "stop", headers, session="s").status_code == 403


def test_the_page_is_served_under_any_name_to_show_the_error(client: Client) -> None:
    shell = client.get("/data/plugin_entry.html", query_string={"name": "xla_insights"})
    [path] = [part for part in shell.text.split('"') if part.endswith("/index.js")]
    assert client.get(f"{BASE}/{path.removeprefix('./')}", headers={"Host": FOREIGN}).status_code == 200


def test_the_flag_reaches_the_routes(logdir: Path) -> None:
    client = tensorboard("--logdir", str(logdir), "--xla_insights_hosts=rebound.example")
    assert client.get(f"{BASE}/data/sessions", headers={"Host": FOREIGN}).status_code == 200
    assert data(client, "sessions")["sessions"]
