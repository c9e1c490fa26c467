"""A session of 24 hosts that is read slowly: the page after the first hosts, after most, and after all of them.

The pod is synthetic. One host loads 38 ms longer than the others in every step, and its capture arrives last; the store
refuses the capture of another one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from browser.conftest import serving
from browser.driver import Xi
from playwright.sync_api import Page, expect
from synthetic import pod
from synthetic.pod_schedule import Delay, Pod
from webstore import Answer, Request, WebStore, web_store

MS = 10**9
HOSTS, FIRST_HOSTS, LATE, REFUSED = 24, 8, 14, 18
SESSION = "/logs/run/plugins/profile/pod"
TIMEOUT_MS = 240_000
"""How long the browser waits for hosts to be read."""


@dataclass
class Gate:
    """Holds back captures: that of the late host until `late` is set, those after the first hosts until `rest` is."""

    address: str = ""
    rest: threading.Event = field(default_factory=threading.Event)
    late: threading.Event = field(default_factory=threading.Event)

    def hold_back(self, store: WebStore) -> None:
        """Adds the captures to the store, with faults that hold back all but those of the first hosts."""
        training = Pod(hosts=HOSTS, cores=2, steps=4, ops=1, delays=(Delay(LATE, "input", 38 * MS),))
        for host, space in enumerate(pod.files(training)):
            path = f"{SESSION}/{pod.name_of(host)}.xplane.pb"
            store.files[path] = space.to_bytes()
            if host >= FIRST_HOSTS:
                store.faults[path] = self._fault(host)

    def _fault(self, host: int) -> Callable[[Answer, Request], bool]:
        release = self.late if host == LATE else self.rest

        def fault(answer: Answer, request: Request) -> bool:
            if request.method == "HEAD":  # the store answers with the sizes at once
                return False
            release.wait()
            return host == REFUSED and answer.refuse(403)

        return fault

    def open(self) -> None:
        self.rest.set()
        self.late.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """The gate, with the address of a TensorBoard over the store."""
    gate = Gate()
    with web_store() as store:
        gate.hold_back(store)
        try:
            with serving(f"{store.address}/logs") as gate.address:
                yield gate
        finally:
            gate.open()


def test_the_page_after_the_first_hosts_after_most_and_after_all(
    page: Page, gate: Gate, origins: list[str]
) -> None:
    origins.append(gate.address)
    xi = Xi(page, gate.address)
    note, verdict = page.get_by_test_id("diagnostic-partial"), page.get_by_test_id("verdict")
    hosts_verdict = page.get_by_test_id("hosts-verdict")
    xi.open("run/pod", wait=False, v="overview")
    page.wait_for_selector("main[data-state=partial]", timeout=TIMEOUT_MS)

    # After the first eight: it is unknown that they wait for another host, and what that costs.
    expect(note).to_contain_text(
        re.compile(r"8 of 24\shosts read; the slowest may be among the rest\. 4\d of 1\d\d\skB"),
        timeout=TIMEOUT_MS,
    )
    expect(verdict).to_contain_text("So far the 16 TPU cores of 8 hosts work ", timeout=TIMEOUT_MS)
    for finding in ("straggler", "device_waits", "device_bound"):
        expect(page.get_by_test_id(f"finding-{finding}")).to_have_count(0)
    expect(page.get_by_test_id("finding-gain")).to_have_count(0)
    expect(page.get_by_test_id("tab-gaps")).to_contain_text("≥")
    sums = page.get_by_test_id("idle-table").locator("tfoot .sum")
    assert "≥" in sums.evaluate("element => getComputedStyle(element, '::before').content")
    page.get_by_test_id("tab-hosts").click()
    expect(hosts_verdict).to_contain_text("8 of 24 hosts read; the slowest may be among the rest.")
    expect(hosts_verdict).to_contain_text("No host stands out")

    # After all but the late one and the refused one.
    gate.rest.set()
    expect(hosts_verdict).to_contain_text(
        "22 of 24 hosts read; the slowest may be among the rest.", timeout=TIMEOUT_MS
    )
    expect(hosts_verdict).to_contain_text("No host stands out")
    expect(page.get_by_test_id("kpi-fixed")).to_have_count(0)
    expect(page.get_by_test_id("diagnostic-skipped_host")).to_contain_text(
        f"{pod.name_of(REFUSED)}.xplane.pb"
    )

    gate.late.set()
    page.wait_for_selector("main:not([data-reading])", timeout=TIMEOUT_MS)
    page.wait_for_selector("main[data-state=partial]")
    expect(note.locator("p")).to_have_text("23 of 24 hosts read.")
    expect(hosts_verdict).to_contain_text(f"{pod.name_of(LATE)} arrives last in ")
    page.get_by_test_id("tab-overview").click()
    expect(verdict).to_contain_text(f"mostly they wait for {pod.name_of(LATE)}.")
    expect(verdict).to_contain_text(f"Fix first: the late arrival of {pod.name_of(LATE)} (next_batch, input)")
    expect(page.get_by_test_id("finding-straggler").get_by_test_id("finding-gain")).to_be_visible()
