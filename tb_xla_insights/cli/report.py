"""`xla-insights report PATH`: why the device is idle, what to change, and all figures behind it."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

from tb_xla_insights.analysis.thresholds import SEVERITIES
from tb_xla_insights.cli import arguments, printing, reading
from tb_xla_insights.report.duty import DUTY

FINDINGS = 1
"""The exit code if `--fail-on` applies."""


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    arguments.add_session(parser)
    arguments.add_json(parser)
    parser.add_argument("--full", action="store_true", help="all tables, in place of one screen")
    parser.add_argument(
        "--all-gaps", action="store_true", help="every gap from 10 µs on, not only the 1,000 longest"
    )
    parser.add_argument(
        "--duty",
        choices=DUTY,
        default="ops",
        metavar="DEFINITION",
        help="what busy means in the text: ops, modules (program runs), or capture (ops of the whole capture); "
        "--json has all three",
    )
    parser.add_argument(
        "--fail-on",
        choices=SEVERITIES,
        metavar="LEVEL",
        help="exit with 1 if a finding has at least this severity: info, warning or critical",
    )
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write the report as an HTML page that needs no server"
    )
    parser.add_argument(
        "--samples-per-step",
        metavar="N",
        type=arguments.parse_samples,
        help="samples per step, of all devices together, for the throughput in samples per second (default: the "
        "recorded number)",
    )
    parser.add_argument(
        "--peaks",
        metavar="FLOPS,BYTES",
        type=arguments.parse_peaks,
        help="peak FLOP/s and bytes/s of one device, such as 918e12,1638e9 (default: the capture's, or those of known "
        "devices)",
    )
    parser.set_defaults(run=run, parser=parser)


def run(options: Any) -> int:
    # np.unique imports numpy.ma at its first call.
    session = reading.read_session(
        options,
        meanwhile=("tb_xla_insights.report.document", "numpy.ma", "orjson"),
        outputs=[options.html] if options.html else (),
    )
    with reading.show_progress(session):
        document = session.document(options.all_gaps, options.samples_per_step, options.peaks)
    with printing.ignore_closed_pipe():
        if options.json or options.html is not None:
            reading.print_warnings(session)
        if options.json:
            printing.print_json(document)
        elif options.html is None:
            _print_text(document, options)
    if options.html is not None:
        with suppress(BrokenPipeError):  # the reader of a pipe, such as `head`, has closed it
            _write_page(document, options.html)
    if options.fail_on is None:
        return 0
    severities = SEVERITIES[SEVERITIES.index(options.fail_on) :]
    failing = [finding for finding in document["findings"] if finding["severity"] in severities]
    for finding in failing:
        printing.print_note(f"finding ({finding['severity']}): {finding['title']}")
    return FINDINGS if failing else 0


def _print_text(document: Any, options: Any) -> None:
    if options.full:
        from tb_xla_insights.cli.report_text import print_report

        print_report(printing.console(), document, options.duty)
    else:
        from tb_xla_insights.cli.screen import print_screen

        print_screen(printing.console(), document, options.duty)


def _write_page(document: Any, path: Path) -> None:
    from tb_xla_insights.files.replace import replace_atomically, report_write_errors
    from tb_xla_insights.html.page import report_html

    page = report_html(document)
    with (
        report_write_errors(path, "give a file that can be written with --html"),
        replace_atomically(path) as temporary_path,
    ):
        temporary_path.write_text(page, encoding="utf-8", errors="backslashreplace")
    printing.print_note(f"{path}: the report as a page")
