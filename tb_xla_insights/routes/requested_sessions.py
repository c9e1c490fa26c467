"""The sessions and hosts that the arguments of a request name."""

from __future__ import annotations

from collections.abc import Sequence

from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.logdir.opened_session import Needed, OpenedSession
from tb_xla_insights.logdir.store import Load, Store
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.routes.arguments import Arguments

READ_SECONDS = 120.0
"""How long a request waits for a session that is not in memory."""


class RequestedSessions:
    """Finds the session and the hosts that a request's arguments name."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def opened(self, arguments: Arguments) -> OpenedSession:
        """The session, read first if it is not in memory."""
        return self._store.loaded(
            arguments.text("session"), READ_SECONDS, arguments.optional_text("fingerprint")
        )

    def hosts_for(
        self,
        arguments: Arguments,
        ids: Sequence[str] = (),
        devices: Sequence[str] = (),
        step: int | None = None,
        use_default: bool = False,
        strict: bool = True,
    ) -> LoadedHosts:
        """The hosts that an answer covers: those that the argument `hosts` names (see `host_choice.chosen_hosts`), and
        those of the rows or events `ids`, the `devices`, and the `step` or the default one; all hosts if all are in
        memory. `strict`: see `StreamedHosts.choose`."""
        needed = Needed(ids, devices, step, use_default)
        return self.opened(arguments).choose(arguments.names("hosts"), needed, strict)

    def partial(self, arguments: Arguments) -> tuple[Load, SessionView | None]:
        """The load of a session, and the results of the hosts read so far; None before the first host and after the
        last."""
        load = self._store.load(arguments.text("session"))
        load.check(arguments.optional_text("fingerprint"))
        return load, None if load.done else load.partial_view
