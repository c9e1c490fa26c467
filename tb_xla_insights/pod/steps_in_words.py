"""Some common steps of the hosts in words: who holds up the others in them, and how one host differs from the median
one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASSES, label
from tb_xla_insights.pod.causes import find_cause
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_rows import MIN_DIFFERENCE_PS
from tb_xla_insights.pod.host_steps import COLUMNS, DEVICE, WAITING_CLASSES, StepTable
from tb_xla_insights.pod.hosts_verdict import reason_text
from tb_xla_insights.pod.late_hosts import are_charged_parties_late, clock_noise_ps, most_charged_parties
from tb_xla_insights.pod.straggler import cause_text
from tb_xla_insights.text.english import Bold, sentence_parts, upper_first
from tb_xla_insights.text.units import brief_time, brief_times, share, step_name

if TYPE_CHECKING:
    from tb_xla_insights.schema.hosts_route import HostsFigures, HostsInSteps

_Steps = NDArray[np.intp]


def hosts_in_steps(comparison: HostComparison, host: int, steps: range | None) -> HostsInSteps:
    """Returns what is said of some common steps, None for all of them, and of `host` in these."""
    chosen = np.arange(comparison.arrivals.step_count) if steps is None else np.array(steps, np.intp)
    is_compared = steps is not None and comparison.state == "compared"
    return {
        "text": sentence_parts(_verdict_pieces(comparison, chosen)) if is_compared else None,
        "figures": _figures(comparison, chosen),
        "difference": _difference_text(comparison, host, chosen, is_all=steps is None),
    }


def _verdict_pieces(comparison: HostComparison, steps: _Steps) -> list[str]:
    """Returns the pieces of the verdict on these steps: of the late hosts that are last in some of them, it names the
    one that others wait for longest."""
    arrivals, table = comparison.arrivals, comparison.table
    in_steps = np.isin(arrivals.instances.step, steps)
    name_of_steps = _name_of_steps(table, steps)
    if not in_steps.any():
        return [f"No collective was compared in {name_of_steps}."]
    kinds = f"{comparison.common_kind or 'collective'}s"
    last_count = np.bincount(arrivals.last_party[in_steps], minlength=len(comparison.hosts))
    shared_count = arrivals.instances.present[in_steps].sum(axis=0)
    charges_ps = arrivals.charges_ps[steps].sum(axis=0)
    is_late = are_charged_parties_late(arrivals, comparison.late_hosts)
    late_hosts = set(most_charged_parties(arrivals)[steps[is_late[steps]]].tolist())
    if not late_hosts:
        shares = [
            last / shared
            for last, shared in zip(last_count.tolist(), shared_count.tolist(), strict=True)
            if shared
        ]
        low, high = share(min(shares)), share(max(shares))
        each = low if low == high else f"{low} – {high}"
        return [f"No host stands out in {name_of_steps}: each is last in {each} of the {kinds}."]
    host = max(sorted(late_hosts), key=charges_ps.__getitem__)
    others = [
        index for index in np.flatnonzero(table.present[:, steps].any(axis=1)).tolist() if index != host
    ]
    total_ps = int(charges_ps[host])
    mean_ps = total_ps // max(1, int(table.present[others][:, steps].sum()))
    waiting, each = (
        (f"{comparison.hosts[others[0]].name} waits", "")
        if len(others) == 1
        else ("The others wait", " each")
    )
    waits = f"{waiting} {brief_time(total_ps)} for it, {brief_time(mean_ps)}{each} in a step."
    return [
        f"In {name_of_steps} ",
        Bold(comparison.hosts[host].name),
        " arrives last in ",
        Bold(share(int(last_count[host]) / max(1, int(shared_count[host])))),
        f" of the {kinds}{_reason(comparison, host, steps)}. {waits}",
    ]


def _reason(comparison: HostComparison, host: int, steps: _Steps) -> str:
    """Returns `: next_batch (input) takes 40 ms, 2 ms on the median host w-31`; empty without a cause."""
    late_ps = _mean_late_ps(comparison, host, steps)
    cause = find_cause(comparison.table, host, comparison.median_host, late_ps, steps)
    if cause is None:
        return ""
    host_time, median_time = brief_times(cause.host_ps, cause.median_ps)
    return f": {cause_text(cause)} takes {host_time}, {median_time} on {comparison.reference_text}"


def _figures(comparison: HostComparison, steps: _Steps) -> HostsFigures:
    """Returns the figures of these steps; the mean step at best is not known."""
    table, arrivals = comparison.table, comparison.arrivals
    present = table.present[:, steps]
    compared_steps = int(present[arrivals.clocks.is_known].sum()) if comparison.state == "compared" else 0
    waits_ps = int(arrivals.charges_ps[steps].sum())
    return {
        "step_ps": int(table.step_ps[:, steps][present].mean()) if present.any() else None,
        "waits_ps": waits_ps // compared_steps if compared_steps else None,
        "step_if_fixed_ps": None,
    }


def _difference_text(comparison: HostComparison, host: int, steps: _Steps, *, is_all: bool) -> str:
    """Returns what takes longer on a host than on the median host in these steps, and whether the host arrives late;
    empty if either has none of them."""
    table, median = comparison.table, comparison.median_host
    if median is None:
        return ""
    if host == median:
        return "This is the median host: its times are closest to the medians of all hosts."
    present = table.present[:, steps]
    if not (present[host].any() and present[median].any()):
        return ""
    host_ps, median_ps = (_mean_times_ps(table, index, steps) for index in (host, median))
    longer_ps = dict(zip(COLUMNS, (host_ps - median_ps).tolist(), strict=True))
    longest = max((class_ for class_ in CLASSES if class_ not in WAITING_CLASSES), key=longer_ps.__getitem__)
    is_longer = longer_ps[longest] >= MIN_DIFFERENCE_PS
    is_first_late = is_all and comparison.late_hosts.parties[:1] == [host]
    if is_first_late and (reason := reason_text(comparison)):
        sentences = [f"{reason}."]
    elif is_longer:
        longer = f"{upper_first(label(longest))} takes {brief_time(longer_ps[longest])} longer"
        sentences = [f"{longer} than on {comparison.reference_text}."]
    else:
        sentences = ["No class takes clearly longer."]
    if comparison.state == "compared":
        late_ps = _mean_late_ps(comparison, host, steps)
        if late_ps >= max(MIN_DIFFERENCE_PS, clock_noise_ps(comparison.arrivals, host)):
            on_average = " on average" if len(steps) > 1 else ""
            kind = comparison.common_kind or "collective"
            sentences.append(
                f"The host arrives {brief_time(late_ps)} late{on_average}: the median host waits in the {kind} "
                "meanwhile."
            )
        elif is_longer and sum(longer_ps[class_] for class_ in WAITING_CLASSES) < 0:
            sentences.append("The host still does not arrive later: it waits less for its device instead.")
    if abs(longer_ps[DEVICE]) >= MIN_DIFFERENCE_PS:
        times = brief_times(*(int(times_ps[COLUMNS.index(DEVICE)]) for times_ps in (host_ps, median_ps)))
        sentences.append(f"Its busiest core computes for {times[0]}, that of the median host for {times[1]}.")
    return " ".join(sentences)


def _mean_times_ps(table: StepTable, host: int, steps: _Steps) -> Int64:
    """Returns the mean time of each of COLUMNS over those of the steps that a host has, at least one."""
    own_steps = steps[table.present[host, steps]]
    times: Int64 = table.times_ps[host, own_steps].sum(axis=0) // len(own_steps)
    return times


def _mean_late_ps(comparison: HostComparison, host: int, steps: _Steps) -> int:
    """Returns the mean over the steps of a host's largest lateness in each."""
    late_ps = comparison.arrivals.max_late_ps[steps, host]
    return int(np.maximum(late_ps, 0).mean()) if len(late_ps) else 0


def _name_of_steps(table: StepTable, steps: _Steps) -> str:
    """Returns `step 1208`, `steps 1208 – 1215`."""
    first, last = (step_name(step, table.number[step]) for step in (int(steps[0]), int(steps[-1])))
    return f"step {first}" if first == last else f"steps {first} – {last}"
