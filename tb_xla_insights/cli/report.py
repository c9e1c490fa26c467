"""`xla-insights report PATH`: why the device is idle, what to change, and everything else that is known."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.analysis.thresholds import SEVERITIES
from tb_xla_insights.cli import common
from tb_xla_insights.cli.report_text import print_report

FINDINGS = 1
"""The exit code that `--fail-on` asks for."""


def add_to(commands: Any) -> None:
    parser = commands.add_parser("report", help="what is known about a session", description=__doc__)
    common.add_path(parser)
    parser.add_argument(
        "--all-gaps", action="store_true", help="every gap from 10 µs up, not the 1,000 longest"
    )
    parser.add_argument(
        "--fail-on",
        choices=SEVERITIES,
        metavar="LEVEL",
        help="exit with 1 where a finding is as severe as this or more: info, warning or critical",
    )
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    session = common.read(options)
    document = session.report(all_gaps=options.all_gaps)
    if options.json:
        common.warn(session)
        common.print_json(document)
    else:
        _print(common.console(), document)
    if options.fail_on is None:
        return 0
    loud = SEVERITIES[SEVERITIES.index(options.fail_on) :]
    return FINDINGS if any(finding["severity"] in loud for finding in document["findings"]) else 0


_print = print_report
