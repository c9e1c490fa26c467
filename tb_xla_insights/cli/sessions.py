"""`xla-insights sessions LOGDIR`: lists sessions and hosts, newest first."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tb_xla_insights.cli import arguments, elements, printing
from tb_xla_insights.tables.sidecars import SESSIONS
from tb_xla_insights.text import units

if TYPE_CHECKING:
    from tb_xla_insights.logdir.files import FileInfo


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("logdir", metavar="LOGDIR", help="a logdir; local or a URL")
    arguments.add_json(parser, "one JSON document")
    parser.set_defaults(run=run, parser=parser)


def run(options: Any) -> int:
    """Raises InputError if there is no session."""
    from tb_xla_insights.logdir.sessions import sessions_at

    listing = sessions_at(options.logdir)
    if listing.note:
        printing.print_note(listing.note)
    if options.json:
        printing.print_json(
            {
                "logdir": options.logdir,
                "sessions": [_session_document(session) for session in listing.sessions],
                "note": listing.note,
            }
        )
        return 0
    rows = [
        {
            "name": session.name if index == 0 else "",
            "host": host.name,
            "bytes": host.file.bytes if _has_size(host.file) else "",
            "modified": units.utc_text(host.file.modified_ns),
        }
        for session in listing.sessions
        for index, host in enumerate(session.hosts)
    ]
    printing.console().print(elements.table(SESSIONS, rows))
    return 0


def _session_document(session: Any) -> dict[str, Any]:
    return {
        "name": session.name,
        "path": session.path,
        "modified_unix_ns": str(session.modified_unix_ns),
        "hosts": [
            {
                "name": host.name,
                "file": host.file.path,
                "bytes": host.file.bytes if _has_size(host.file) else None,
            }
            for host in session.hosts
        ],
    }


def _has_size(file: FileInfo) -> bool:
    """Whether the listing has the file's size; listings of web servers do not."""
    from tb_xla_insights.files.open import is_url

    return file.bytes > 0 or not is_url(file.path)
