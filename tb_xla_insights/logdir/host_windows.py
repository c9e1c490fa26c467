"""One window of a session, read host by host."""

from __future__ import annotations

from functools import partial
from typing import Any

from tb_xla_insights.analysis.window.excerpt import Excerpt, excerpt
from tb_xla_insights.analysis.window.window_document import HostWindow, host_window
from tb_xla_insights.errors import NoDeviceError
from tb_xla_insights.logdir.session_hosts import SessionHosts
from tb_xla_insights.tasks import HostCapture
from tb_xla_insights.trace.model import Trace

_MAX_START_SPREAD_PS = 10**12
"""Hosts of one session usually start within this time, a second; hosts that start later are read twice."""


def read_host_windows(
    hosts: SessionHosts, start_ps: int, end_ps: int, device: str | None
) -> list[HostWindow]:
    """Reads the window [start_ps, end_ps) of each host that has the device (None: of all hosts), in the session's
    order. Raises NoDeviceError if no host has the device.

    The hosts' shifts on the session's time base are known only when all are read, so each task returns the events that
    may be in the window. Hosts that start later than `_MAX_START_SPREAD_PS` are read again.
    """
    options: dict[str, Any] = {"start_ps": start_ps, "end_ps": end_ps, "device": device}
    windows: dict[int, HostWindow] = {}
    all_devices: list[str] = []
    hosts_to_reread: list[HostCapture] = []
    with hosts.map_with_shifts(partial(unshifted_window_task, **options)) as results:
        for (devices, unshifted), host in results:
            all_devices += devices
            if device is not None and device not in devices:
                continue
            if host.shift_ps > _MAX_START_SPREAD_PS:
                hosts_to_reread.append(host)
                continue
            if not isinstance(unshifted, HostWindow):
                unshifted = host_window(unshifted, start_ps - host.shift_ps, end_ps - host.shift_ps)
            windows[host.number] = unshifted.in_session(host.number, host.shift_ps)
    if device is not None and device not in all_devices:
        raise NoDeviceError(hosts.files.path, device, all_devices)
    if hosts_to_reread:
        for result in hosts.reread(partial(window_task, **options), hosts_to_reread):
            windows[result.host.number] = result.value.in_session(result.host.number, 0)
    return [windows[number] for number in sorted(windows)]


def unshifted_window_task(
    trace: Trace, _: HostCapture, start_ps: int, end_ps: int, device: str | None
) -> tuple[list[str], Excerpt | HostWindow]:
    """The ids of a host's devices, and the events that may be in the window if the host starts at most
    `_MAX_START_SPREAD_PS` after the first host; its window instead, if all its events are in the window whenever it
    starts."""
    events = excerpt(trace, start_ps - _MAX_START_SPREAD_PS, end_ps, device)
    first_ps, last_ps = trace.span_ps
    is_inside = start_ps <= first_ps and last_ps <= end_ps - _MAX_START_SPREAD_PS
    unshifted = host_window(events, start_ps, end_ps) if is_inside else events.without_unused_strings()
    return [trace_device.id for trace_device in trace.devices], unshifted


def window_task(trace: Trace, _: HostCapture, start_ps: int, end_ps: int, device: str | None) -> HostWindow:
    """The window of a host whose trace is on the session's time base."""
    return host_window(excerpt(trace, start_ps, end_ps, device), start_ps, end_ps)
