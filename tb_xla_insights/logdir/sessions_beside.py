"""Finds sessions beside one that were recorded at the same time, as ranks and hosts leave them that profile
themselves."""

from __future__ import annotations

import os
from datetime import datetime

from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.files.open import is_url
from tb_xla_insights.files.paths import absolute
from tb_xla_insights.logdir import paths
from tb_xla_insights.logdir.files import captures_in
from tb_xla_insights.logdir.sessions import SessionFiles, stamp_of
from tb_xla_insights.text.units import brief_time

_STAMP_FORMAT = "%Y_%m_%d_%H_%M_%S"
_MAX_NAMED_SESSIONS = 3


def sessions_beside(session: SessionFiles, duration_ps: int) -> list[Diagnostic]:
    """A diagnostic that names the other sessions of a local session's folder whose times, as their names tell them, are
    less than this capture's duration apart; none without any, and for sessions that are read together with it.

    Only names are compared, as reading the others would double the time: whether they run the same programs is told
    once they are read as one."""
    if is_url(session.path):
        return []
    directories = {paths.parent(absolute(host.file.path)) for host in session.hosts}
    own = paths.parent(absolute(session.hosts[0].file.path))
    if not paths.is_session_directory(own) or (own_time := _time_of(own)) is None:
        return []
    folder = paths.parent(own)
    try:
        names = sorted(os.listdir(folder))
    except OSError:  # sessions may be readable by name only
        return []
    beside = [
        name
        for name in names
        if (time := _time_of(name)) is not None
        and abs((time - own_time).total_seconds()) * 10**12 < duration_ps
        and f"{folder}/{name}" not in directories
        and _has_captures(f"{folder}/{name}")
    ]
    if not beside:
        return []
    more = f" and {len(beside) - _MAX_NAMED_SESSIONS} more" if len(beside) > _MAX_NAMED_SESSIONS else ""
    named = f"{', '.join(beside[:_MAX_NAMED_SESSIONS])}{more}"
    subject = f"Session {named} is" if len(beside) == 1 else f"Sessions {named} are"
    message = (
        f"{subject} named within the {brief_time(duration_ps)} of this one: if other hosts or ranks of this run were "
        "recorded there, xla-insights report reads all of them as one session, given their directories."
    )
    return [Diagnostic("sessions_beside", "info", message)]


def _time_of(name: str) -> datetime | None:
    """The time in a session's name, to the second, in the local time of the machine that wrote it."""
    stamp = stamp_of(name)
    try:
        return datetime.strptime(stamp, _STAMP_FORMAT) if stamp else None
    except ValueError:
        return None


def _has_captures(directory: str) -> bool:
    try:
        return bool(captures_in(directory))
    except InputError:
        return False
