"""`xla-insights compare A B`: compares two sessions; `--pairs` prints the speed-up table of many pairs from a file."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.cli import arguments, printing, reading
from tb_xla_insights.text import units

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.compare.pairs import SessionSteps


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    for name in "AB":
        parser.add_argument(
            name.lower(),
            metavar=name,
            nargs="?",
            help="a session: a .xplane.pb file, a session directory or a logdir",
        )
        parser.add_argument(
            f"--session-{name.lower()}",
            metavar="NAME",
            help=f"the session, if {name} is a logdir (default: the newest)",
        )
    parser.add_argument(
        "--pairs", metavar="FILE", help="a CSV file of pairs; docs/command-line.md describes its format"
    )
    parser.add_argument(
        "--samples-per-step",
        metavar="N[,M]",
        type=_samples_pair,
        default=(None, None),
        help="samples per step, of all devices together: N in A and M in B, or N in both (default: the recorded "
        "numbers)",
    )
    parser.add_argument(
        "--fail-on",
        metavar="worse[=PERCENT]",
        type=_worse_share,
        help="exit with 1 if B is worse than A: if its steps (its time per sample, if steps differ in size) are "
        "longer, beyond chance, by more than PERCENT of A's (default: 3 %%, up to which they count as equal)",
    )
    parser.add_argument("--catalog", metavar="FILE", help="a JSON file with further host event names")
    arguments.add_scheduler(parser)
    arguments.add_json(parser)
    parser.set_defaults(run=run, parser=parser)


def _samples_pair(text: str) -> tuple[float, float]:
    first, comma, second = text.partition(",")
    return arguments.parse_samples(first), arguments.parse_samples(second if comma else first)


def _worse_share(text: str) -> float:
    """The share of a step in `worse=PERCENT`."""
    word, equals, percent = text.partition("=")
    try:
        share = float(percent.removesuffix("%")) / 100 if equals else INFO_SHARE
    except ValueError:
        share = -1
    if word != "worse" or not 0 <= share < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: give worse, or worse=PERCENT with a number of at least 0")
    return share


def run(options: Any) -> int:
    if (options.a is None) != (options.b is None) or not (options.a or options.pairs):
        options.parser.error("give two sessions A and B, or --pairs FILE, or both")
    if not options.a and (option := _option_of_sessions(options)):
        options.parser.error(f"{option} needs two sessions: give A and B")
    from tb_xla_insights.catalog import load_catalog

    document: dict[str, Any] = {}
    catalog = load_catalog(options.catalog)
    if options.a:
        a = _read(options, options.a, options.session_a, catalog)
        b = _read(options, options.b, options.session_b, catalog)
        with reading.show_progress(a, b):
            document |= a.compare(b, options.samples_per_step)
        reading.print_warnings(a, "A")
        reading.print_warnings(b, "B")
    if options.pairs:
        from tb_xla_insights.compare.pairs import read_pairs

        document["pairs"] = read_pairs(options.pairs, lambda path: _read_steps(options, path, catalog))
    with printing.ignore_closed_pipe():
        if options.json:
            printing.print_json(document)
        else:
            from tb_xla_insights.cli.compare_text import print_comparison

            print_comparison(printing.console(), document)
    return int(options.fail_on is not None and _is_worse(document, options.fail_on))


def _option_of_sessions(options: Any) -> str | None:
    """An option that applies to the sessions A and B only, if one is given."""
    is_given = {
        "--fail-on": options.fail_on is not None,
        "--samples-per-step": options.samples_per_step != (None, None),
        "--session-a": options.session_a is not None,
        "--session-b": options.session_b is not None,
    }
    return next((option for option, value in is_given.items() if value), None)


def _is_worse(document: dict[str, Any], share: float) -> bool:
    """Whether B's steps are longer by more than the share; prints to stderr that they are, or why that cannot be
    judged."""
    from tb_xla_insights.compare.sentences import step_increase, unjudged_reason

    if reason := unjudged_reason(document):
        printing.print_note(f"warning: --fail-on worse has nothing to judge: {reason}")
        return False
    increase = step_increase(document)
    if increase <= share:
        return False
    subjects = {
        "samples_median": "its time per sample is",
        "run_median": f"its runs of {document['verdict']['program']} are",
    }
    subject = subjects.get(document["chance"]["measure"], "its steps are")
    printing.print_note(f"B is worse than A: {subject} {units.share(increase)} longer, beyond chance")
    return True


def _read(options: Any, path: str, name: str | None, catalog: Catalog) -> Any:
    session = argparse.Namespace(path=[path], session=name, scheduler=options.scheduler)
    return reading.read_session(session, catalog=catalog)


def _read_steps(options: Any, path: str, catalog: Catalog) -> SessionSteps:
    from tb_xla_insights.compare.pairs import report_steps, session_steps

    session = _read(options, path, None, catalog)
    if not session.hosts.is_streamed:
        reading.print_warnings(session, path)
        return session_steps(session.trace)
    with reading.show_progress(session):
        report = session.report()
    reading.print_warnings(session, path)
    return report_steps(session.hosts.files.path, report["steps"], report["recorded"])
