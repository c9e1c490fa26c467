"""Where the device is the bottleneck: in what its time lies, how far that is from the roofline, and what the worst of
it costs. (docs/definitions.md, "Below the roofline")"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from tb_xla_insights.analysis.findings.base import MAX_TITLE_LENGTH, join_words
from tb_xla_insights.analysis.thresholds import severity_of
from tb_xla_insights.device_work.advice import advice_for
from tb_xla_insights.device_work.roofline import Roof, most_of, share_of
from tb_xla_insights.units import brief_time, brief_times, change_text, share

Row = dict[str, Any]
R = TypeVar("R", bound=Mapping[str, Any])

FINDING = "below_roofline"

_MOST_PLACES = 3
_MOST_ADVISED = 2
_LEAST_OF_STEP = 0.1
"""Of the step; a place with less is not named after the first one."""
_NEARLY_ALL = 0.9
"""An annotation with more of the time than this says nothing of where it lies: its longest op is named."""
_REACHED = 0.8
"""From this share of the roofline on ops do what can be asked of them: hardly any gets nearer."""
_NO_WORK = ("wait", "unrecorded")
"""Classes of the host's time in which nothing says that it needs that time itself."""
_KNOWN = 0.5
"""Of a place's time, how much must be of ops with known FLOPs (or bytes) to tell how far it is from that peak."""


@dataclass(frozen=True)
class Place:
    """Ops of one annotation (the innermost), or of one category where no annotation tells them apart: its rows, which
    are all work, those with most time first.

    `time_ps` in steps (in the capture, where it has none) and `of_step`, its share of `whole`: of the steps on all
    cores, or of all work where there are no steps, or where ops run side by side and take longer together than the
    steps; `saved_ps` of it above the roof, of ops of which FLOPs and bytes are known, and `reached`, the share of those
    ops' time that the roofline would take (None: nothing is known); `flops_share`, `bytes_share` of the peaks.
    """

    path: str | None
    rows: Sequence[Row]
    time_ps: int
    of_step: float
    whole: str
    saved_ps: float
    reached: float | None
    flops_share: float | None
    bytes_share: float | None
    bound_by: str

    @property
    def name(self) -> str:
        """The annotation without what is around it; else the op, or how many of which category: `40 dot ops`."""
        if self.path:
            return self.path.rpartition("/")[2]
        first = self.rows[0]
        return str(first["op"]) if len(self.rows) == 1 else f"{len(self.rows)} {first['category']} ops"

    @property
    def share_text(self) -> str:
        """`36.4 % of the step`."""
        return f"{share(self.of_step)} of {self.whole}"

    @property
    def op_text(self) -> str:
        """Its longest op with its line: `fusion.3 at train.py:7`."""
        return _op_text(self.rows[0])

    def rate_text(self) -> str:
        """` at 22 % of peak FLOP/s`: of the peak that it is nearer to, of both where some of its ops are bound by
        the one and some by the other; nothing where no peak is known."""
        shares = {"peak FLOP/s": self.flops_share, "HBM bandwidth": self.bytes_share}
        known = {name: value for name, value in shares.items() if value is not None}
        if self.bound_by != "mixed" and known:
            bound = {"compute": "peak FLOP/s", "memory": "HBM bandwidth"}.get(self.bound_by)
            nearest = bound if bound in known else max(known, key=lambda name: known[name])
            known = {nearest: known[nearest]}
        told = [f"{share(value)} of {name}" for name, value in known.items()]
        return f" at {' and '.join(told)}" if told else ""

    def as_json(self) -> Row:
        return {
            "annotation": self.path,
            "op": self.rows[0]["op"],
            "source": self.rows[0]["source"],
            "time_ps": self.time_ps,
            "of_step": self.of_step,
            "flops_share": self.flops_share,
            "bytes_share": self.bytes_share,
            "bound_by": self.bound_by,
            "above_roof_ps": round(self.saved_ps),
            "of_roofline": self.reached,
        }


def with_leads(document: R) -> R:
    """A report that says more of a device that is the bottleneck: the finding `device_bound` names the places in which
    most time lies, and `below_roofline` stands among the limits where the worst of them could gain enough. Other
    reports stay as they are; calling it again changes nothing but for other peaks."""
    findings = [row for row in document["findings"] if row["id"] != FINDING]
    bound = next((row for row in findings if row["id"] == "device_bound"), None)
    places = _places(document) if bound else []
    if not bound or not places:
        return document
    evidence = bound["evidence"] | {"places": [place.as_json() for place in places[:_MOST_PLACES]]}
    findings[findings.index(bound)] = bound | {"advice": _where(places), "evidence": evidence}
    worst = _finding(document, places)
    if worst:
        smaller = (
            at
            for at, row in enumerate(findings)
            if row["kind"] == "limit" and (row["gain"] or 0.0) < worst["gain"]
        )
        findings.insert(next(smaller, len(findings)), worst)
    return cast("R", {**document, "findings": findings})  # the same keys


def lead_texts(document: Mapping[str, Any]) -> list[str]:
    """What the verdict says of a device that is the bottleneck, in fewer and fewer words; none without work."""
    places = _places(document)
    if not places:
        return []
    first = f" The longest part is {places[0].name}: {places[0].share_text}{_rate(places[0])}"
    then = "".join(
        f"; then {it.name}: {share(it.of_step)}{it.rate_text()}"
        for it in places[1:2]
        if it.of_step >= _LEAST_OF_STEP
    )
    worst = next((row for row in document["findings"] if row["id"] == FINDING), None)
    if worst:
        fixed = change_text(
            document["mistakes"]["step_if_fixed_ps"] or worst["step_ps"], worst["step_if_fixed_ps"]
        )
        at_roof = f" at the roofline: {fixed}."
        name = worst["evidence"]["name"]
        alone = f". With {'it' if name == places[0].name else name}{at_roof}"
        return [f"{first}{then}. With {name}{at_roof}", first + alone, first + "."]
    return [first + then + ".", first + "."]


def _rate(place: Place) -> str:
    bound = f", bound by {place.bound_by}" if place.bound_by in ("compute", "memory") else ""
    return f"{place.rate_text()}{bound}"


def _where(places: Sequence[Place]) -> str:
    """One sentence that names places and ops, and says nothing that is true of any program."""
    told = [
        f"{place.name} ({place.share_text}; the longest: {place.op_text})"
        if place.path or len(place.rows) > 1
        else f"{place.op_text} ({place.share_text})"
        for place in places[:_MOST_ADVISED]
        if place is places[0] or place.of_step >= _LEAST_OF_STEP
    ]
    return f"Look first at {join_words(told)}."


def _places(document: Mapping[str, Any]) -> list[Place]:
    """Those with most time first."""
    peaks = document["device_work"]["peaks"]
    roof = Roof(peaks["flops_per_s"], peaks["bytes_per_s"])
    key = "in_steps_ps" if document["steps"] else "self_ps"
    rows = [row for row in document["ops"] if row["kind"] == "work" and row[key]]
    whole = sum(row[key] for row in rows)
    steps = document["device_work"]["steps"]
    step_ps = sum(step["duration_ps"] * step["cores"] for step in steps) if document["steps"] else whole
    of = "all work" if not document["steps"] else "the step" if step_ps > whole else "the steps’ work"
    groups: dict[str | None, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["annotation"], []).append(row)
    found = []
    for path, its in groups.items():
        telling = path is not None and sum(row[key] for row in its) < _NEARLY_ALL * whole
        parts = [its] if telling else _by_category(its)
        found += [
            _place(path if telling else None, part, key, max(step_ps, whole), of, roof) for part in parts
        ]
    return sorted(found, key=lambda place: -place.time_ps)


def _by_category(rows: Sequence[Row]) -> list[list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["category"], []).append(row)
    return list(found.values())


def _place(path: str | None, rows: Sequence[Row], key: str, step_ps: int, of: str, roof: Roof) -> Place:
    ordered = sorted(rows, key=lambda row: -row[key])
    self_ps, time_ps = sum(row["self_ps"] for row in rows), sum(row[key] for row in rows)

    def rate(amount: str, known: str, peak: float | None) -> float | None:
        told = sum(row[known] for row in rows) >= _KNOWN * self_ps
        return share_of(sum(row[amount] or 0 for row in rows), peak, self_ps) if told else None

    flops, nbytes = rate("flops", "counted_ps", roof[0]), rate("hbm_bytes", "sized_ps", roof[1])
    bound_ps: dict[str, int] = {}
    for row in rows:
        bound_ps[row["bound_by"]] = bound_ps.get(row["bound_by"], 0) + row["self_ps"]
    saved = sum(above_roof_ps(row) * row[key] / row["self_ps"] for row in rows)
    of_step = time_ps / step_ps if step_ps else 0.0
    known = sum(row["self_ps"] for row in rows if row["roof_ps"])
    reached = 1 - sum(above_roof_ps(row) for row in rows) / known if known else None
    return Place(
        path, ordered, time_ps, of_step, of, saved, reached, flops, nbytes, most_of(bound_ps, self_ps)
    )


def above_roof_ps(row: Mapping[str, Any]) -> int:
    """The part of a row's time in which the roofline would have it done already; 0 where FLOPs, bytes or peaks are not
    known, and where the counts say that there is nothing to do."""
    return max(0, row["self_ps"] - row["roof_ps"]) if row["roof_ps"] else 0


def _finding(document: Mapping[str, Any], places: Sequence[Place]) -> Row | None:
    """The place that the roofline would make cheapest, where that gains enough of a step."""
    far = [place for place in places if place.reached is not None and place.reached < _REACHED]
    worst = max(far, key=lambda place: place.saved_ps, default=None)
    steps = document["device_work"]["steps"]
    if not worst or not steps:
        return None
    mean_ps = round(sum(step["duration_ps"] for step in steps) / len(steps))
    step_ps = document["mistakes"]["step_if_fixed_ps"] or mean_ps
    host_ps = _host_ps(document["steps"])
    # Ops that run side by side take longer together than the steps: what they save counts as their share of the work.
    by_device = round(step_ps * (1 - worst.saved_ps * worst.of_step / worst.time_ps))
    fixed = min(step_ps, max(by_device, host_ps))
    gain = (step_ps - fixed) / step_ps
    severity = severity_of(gain)
    if severity is None:
        return None
    rows = sorted(worst.rows, key=lambda row: -above_roof_ps(row))
    peaks, environment = document["device_work"]["peaks"], document["environment"]
    advice = advice_for(rows, [above_roof_ps(row) for row in rows], peaks, environment)
    host, devices_alone = brief_times(host_ps, by_device)
    limit = f"The host needs {host} a step itself"
    if fixed > by_device:
        limit += f", though the device's work would allow {devices_alone}"
    title = f"{worst.name} is far from the roofline"
    return {
        "id": FINDING,
        "severity": severity,
        "title": title if len(title) <= MAX_TITLE_LENGTH else "An annotation is far from the roofline",
        "brief": f"{worst.name} is far from the roofline",
        "detail": f"It takes {worst.share_text}{worst.rate_text()}, and {_op_text(rows[0])} loses most. {limit}.",
        "advice": advice or _look_at(rows[0], sum(step["cores"] for step in steps)),
        "cost_ps": round(worst.saved_ps),
        "step_if_fixed_ps": fixed,
        "step_if_fixed_most_ps": fixed,
        "gain": gain,
        "gain_at_worst": gain,
        "recurs": "every_step",
        "evidence": {"name": worst.name, **worst.as_json(), "op": rows[0]["op"], "source": rows[0]["source"]}
        | {"host_ps": host_ps, "step_by_devices_ps": by_device},
        "windows": [],
        "kind": "limit",
        "step_ps": document["mistakes"]["step_ps"] or mean_ps,
    }


def _op_text(row: Row) -> str:
    """An op with its line: `fusion.3 at train.py:7`."""
    return f"{row['op']} at {row['source']}" if row["source"] else str(row["op"])


def _look_at(row: Row, core_steps: int) -> str:
    """The op and its place, where nothing known of it tells what to change."""
    compute, memory = row["flops_share"] or 0.0, row["bytes_share"] or 0.0
    peak = f"{share(compute)} of peak FLOP/s"
    if memory > compute:
        peak = f"{share(memory)} of HBM bandwidth"
    each = brief_time(row["in_steps_ps"] // core_steps)
    return f"Look first at {_op_text(row)}: it takes {each} a step, at {peak}."


def _host_ps(steps: Iterable[Row]) -> int:
    """What the slowest host does itself in its mean step: a step cannot be shorter than that."""
    sums: dict[str, list[int]] = {}
    for step in steps:
        its = sums.setdefault(step["host"], [0, 0])
        its[0] += sum(ps for name, ps in step["host_ps"].items() if name not in _NO_WORK)
        its[1] += 1
    return max((round(ps / count) for ps, count in sums.values()), default=0)
