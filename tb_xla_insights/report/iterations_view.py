"""The document of `data/iterations`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.host.servers import is_server
from tb_xla_insights.analysis.host.templates import annotation_names, numbers_in
from tb_xla_insights.analysis.iterations.iterations import find_iterations, iteration_name
from tb_xla_insights.analysis.iterations.parts import PARTS
from tb_xla_insights.analysis.iterations.report import part_times, slot_ranges
from tb_xla_insights.analysis.iterations.texts import main_kind, own_work_ps
from tb_xla_insights.report.iterations_text import iterations_headline, kind_name, kind_note, part_rows
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.metadata_events import count_by_metadata

if TYPE_CHECKING:
    from tb_xla_insights.schema.iterations import IterationKind
    from tb_xla_insights.schema.iterations_route import IterationColumns, IterationsAnswer, KindRow, Template

_MAX_ITERATIONS = 2_000
_MAX_TEMPLATES = 10


def iterations(session: SessionView) -> IterationsAnswer:
    """The iterations of the session's servers: by kind, and one by one those of the hosts in memory."""
    found = session.report["iterations"]
    kinds = found["kinds"] if found else []
    scheduling = found["scheduling"] if found else None
    rows: list[KindRow] = [
        {
            **row,
            "parts": part_rows(row),  # type: ignore[typeddict-item]
            "host_ps": own_work_ps(row),
            "name": name,
            "note": kind_note(row, scheduling),
        }
        for row, name in zip(kinds, _unique_names(kinds), strict=True)
    ]
    return {
        "headline": iterations_headline(session.report),
        "details": session.report["verdict"]["details"],
        "scheduling": scheduling,
        "kinds": rows,
        "main": kinds.index(main_kind(kinds)) if kinds else None,
        "count": sum(row["count"] for row in kinds),
        "iterations": _columns(session, kinds),
        "templates": _templates(session),
    }


def _unique_names(kinds: Sequence[IterationKind]) -> list[str]:
    """The kinds in words, with the annotation where other iterations of the kind have another one."""
    names = [kind_name(row) for row in kinds]
    return [
        name if names.count(name) == 1 else f"{name}, {row['template']}"
        for row, name in zip(kinds, names, strict=True)
    ]


def _columns(session: SessionView, kinds: Sequence[IterationKind]) -> IterationColumns:
    index_of_kind = {(row["kind"], row["bucket"], row["template"]): at for at, row in enumerate(kinds)}
    columns: IterationColumns = {
        "start_ps": [], "wall_ps": [], "device_ps": [], "part": [], "kind": [], "name": [],
        "host": [],
    }  # fmt: skip
    for trace in session.hosts.traces:
        if not is_server(trace) or not trace.devices:
            continue
        found = find_iterations(trace)
        shown = slice(0, _MAX_ITERATIONS - len(columns["host"]))
        columns["start_ps"] += found.start_ps[shown].tolist()
        columns["wall_ps"] += (found.end_ps - found.start_ps)[shown].tolist()
        times, cores = part_times(trace), len(trace.devices)
        exposed_ps = times.exposed_ps[shown]
        columns["device_ps"] += (times.hidden_ps[shown].sum(axis=1) // cores).tolist()
        columns["part"] += [
            PARTS[part] if row[part] else None
            for row, part in zip(exposed_ps, exposed_ps.argmax(axis=1).tolist(), strict=True)
        ]
        keys = zip(found.kind[shown], found.bucket[shown], found.template[shown], strict=True)
        columns["kind"] += [index_of_kind[key] for key in keys]
        columns["name"] += [iteration_name(trace, row) for row in found.mark[shown].tolist()]
        columns["host"] += [trace.host] * len(found.mark[shown])
    return columns


def _templates(session: SessionView) -> list[Template]:
    """The templates of annotations on the hosts in memory."""
    counts, numbers = Counter[str](), defaultdict[str, list[dict[str, int]]](list)
    for trace in session.hosts.traces:
        texts = count_by_metadata(
            trace.metadata.name[trace.metadata_index[trace.annotations]], len(trace.strings)
        )
        for text, name in annotation_names(trace).items():
            if "{}" in name:
                counts[name] += int(texts[text])
                numbers[name].append(numbers_in(trace.strings[text]))
    return [
        {"name": name, "count": count, "texts": len(numbers[name]), "slots": slot_ranges(numbers[name])}
        for name, count in counts.most_common(_MAX_TEMPLATES)
    ]
