"""`xla-insights report PATH`: why the device is idle, what to change, and all figures behind it."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.thresholds import SEVERITIES
from tb_xla_insights.cli import arguments, printing, reading
from tb_xla_insights.report.duty import DUTY
from tb_xla_insights.text import units

if TYPE_CHECKING:
    from tb_xla_insights.session import Session

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
        "--html",
        metavar="FILE",
        type=Path,
        help="write TensorBoard's page with this session as one file, which needs no server",
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
    page = _packed_page() if options.html is not None else None
    # np.unique imports numpy.ma at its first call.
    session = reading.read_session(
        options,
        meanwhile=("tb_xla_insights.report.document", "numpy.ma", "orjson"),
        outputs=[options.html] if options.html else (),
    )
    if page is None or options.json or options.fail_on is not None:
        with reading.show_progress(session):
            document = session.document(options.all_gaps, options.samples_per_step, options.peaks)
    with printing.ignore_closed_pipe():
        if options.json:
            reading.print_warnings(session)
            printing.print_json(document)
        elif page is None:
            _print_text(document, options)
    if page is not None:
        with reading.show_progress(session, activity="Recording what the page shows"):
            copy = _static_copy(page, session)
        if not options.json:
            reading.print_warnings(session)
        with suppress(BrokenPipeError):  # the reader of a pipe, such as `head`, has closed it
            _write(copy, options.html)
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


def _packed_page() -> bytes:
    from tb_xla_insights.static_copy.document import packed_page

    return packed_page()


def _static_copy(page: bytes, session: Session) -> bytes:
    from tb_xla_insights.static_copy.document import static_copy

    return static_copy(page, session.hosts.files, session.opened)


def _write(copy: bytes, path: Path) -> None:
    from tb_xla_insights.files.replace import replace_atomically, report_write_errors

    with (
        report_write_errors(path, "give a file that can be written with --html"),
        replace_atomically(path) as temporary_path,
    ):
        temporary_path.write_bytes(copy)
    printing.print_note(f"{path}: the page as a static copy, {units.byte_size(len(copy))}")
