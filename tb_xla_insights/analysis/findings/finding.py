"""The `Finding` type, and the limits of its texts and windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.thresholds import Severity
from tb_xla_insights.text.english import Phrase, Sentence

if TYPE_CHECKING:
    from tb_xla_insights.analysis.host.script_frames import ScriptCode
    from tb_xla_insights.schema.findings import Finding as FindingRow
    from tb_xla_insights.schema.findings import Mistakes
    from tb_xla_insights.schema.parts import FindingKeys

LIMITS = frozenset(("tracing_bound", "dispatch_overhead", "device_waits"))
"""Findings about the program's nature. All others except NO_FAULT are mistakes: they name a place to change."""

NO_FAULT = frozenset(("device_bound",))

OWN_WORK = "the device's own work"
"""What sets the pace of a device that is the bottleneck."""

MAX_WINDOWS = 20
"""The maximum number of windows of a finding: the longest ones."""

MAX_TITLE_LENGTH = 60
"""The maximum number of characters of a title."""


@dataclass(frozen=True)
class ShownWindow:
    """A time range in which a finding can be seen; `device` is None for one on the host."""

    start_ps: int
    end_ps: int
    device: str | None = None


Frequency = Literal["every_step", "some_steps", "once"]

Place = Literal["in_step", "between_steps", "outside"]


_NO_WAIT = Phrase("")


@dataclass(frozen=True)
class Finding:
    """One finding; see the report's `findings`.

    `title`: at most MAX_TITLE_LENGTH characters. `sentences`: the report's `detail`, the evidence in at most two
    sentences, without advice. `advice`: what to change and where. `cost_ps`: the time that the finding explains, summed
    over all devices: idle time; the time of waits for other engines and for callbacks, or above the roofline; or the
    time for which cores wait for late hosts. `recurs`: None if no step is affected (a single compilation is `once`
    nevertheless). `fix`: what a replay removes, None if there is nothing to replay. Times in `evidence` are ps under
    keys that end in `_ps`. `where`: the place of most of its time, `after`: the id of the finding whose fix must come
    first, `code`: the longest functions of the script in its time; None and empty if not known.
    `idle_ps`: all idle time per step and core that `sentences` mention; None if they do not cover all of it.
    `findings.worth` fills in the effect of the fix: `gain` at best, `gain_at_worst`, `severity`, and the mean step
    after the fix, `step_if_fixed_ps` at best and `step_if_fixed_at_worst_ps` at worst.

    The verdict has two sentences, built from two noun phrases of each finding. Both begin in lower case, say nothing
    about gains or durations, and end without a full stop:

    - `waits_for` completes "The 8 TPU cores work 60 % of the time; mostly they wait for …": for whom or what the device
      waits, in the words of somebody who has never seen a profile, with at most one number. Of the host, with what it
      does: `the host, which builds the graph`, `the next batch`, `a compilation in step 1209`, `all-reduce`. A headline
      that would be too long leaves out its details. Empty if no device waits because of it.
    - `brief` completes "Fix first: …", "The pace is set by …" and "Once: …": what a fix changes, with its place:
      `loading in next_batch`, `a read inside forward in every step`, `the host, which builds the graph`.

    `best_if` is the condition of a gain that is certain only in part; it completes "up to −96 %, if …": `loading is
    fully hidden`.
    """

    id: str
    title: str
    brief: str
    sentences: Sequence[Sentence]
    advice: str
    cost_ps: int
    evidence: dict[str, Any]
    windows: list[ShownWindow] = field(default_factory=list)
    recurs: Frequency | None = None
    fix: Fix | None = None
    gain: float | None = None
    gain_at_worst: float | None = None
    severity: Severity = "info"
    step_if_fixed_ps: int | None = None
    step_if_fixed_at_worst_ps: int | None = None
    idle_ps: int | None = None
    where: Place | None = None
    after: str | None = None
    code: Sequence[ScriptCode] = ()
    waits_for: Phrase = _NO_WAIT
    best_if: str = ""

    @property
    def detail(self) -> str:
        return " ".join(map(str, self.sentences))

    @property
    def kind(self) -> Literal["mistake", "limit"] | None:
        """None for findings that are no fault."""
        return None if self.id in NO_FAULT else "limit" if self.id in LIMITS else "mistake"

    def as_json(self, step_ps: int | None) -> FindingRow:
        """The finding's row in the report. `step_ps`: the mean step, for comparison with `step_if_fixed_ps`."""
        return {
            "id": self.id,
            "severity": self.severity,
            "title": self.title,
            "brief": self.brief,
            "waits_for": str(self.waits_for),
            "best_if": self.best_if,
            "detail": self.detail,
            "advice": self.advice,
            "cost_ps": self.cost_ps,
            "step_if_fixed_ps": self.step_if_fixed_ps,
            "step_if_fixed_at_worst_ps": self.step_if_fixed_at_worst_ps,
            "gain": self.gain,
            "gain_at_worst": self.gain_at_worst,
            "recurs": self.recurs,
            "where": self.where,
            "after": self.after,
            "code": [
                {
                    "name": code.name,
                    "file": code.frame.file or None,
                    "line": code.frame.line if code.frame.file else None,
                    "own_ps": code.own_ps,
                    "count": code.count,
                }
                for code in self.code
            ],
            "evidence": self.evidence,
            "windows": [
                {"start_ps": window.start_ps, "end_ps": window.end_ps, "device": window.device}
                for window in self.windows
            ],
            "kind": self.kind,
            "step_ps": step_ps,
        }


@dataclass(frozen=True)
class Findings:
    """The findings of a host or of a session, in order, and the report's `mistakes`."""

    found: Sequence[Finding]
    mistakes: Mistakes

    def as_json(self) -> FindingKeys:
        """The report's `findings` and `mistakes`."""
        step_ps = self.mistakes["step_ps"]
        return {"findings": [finding.as_json(step_ps) for finding in self.found], "mistakes": self.mistakes}


def longest_windows(windows: Iterable[ShownWindow]) -> list[ShownWindow]:
    return sorted(windows, key=lambda window: (window.start_ps - window.end_ps, window.start_ps))[
        :MAX_WINDOWS
    ]


def first_fitting_title(*titles: str) -> str:
    """The first title that is short enough; the last one is cut to fit."""
    return next((title for title in titles if len(title) <= MAX_TITLE_LENGTH), titles[-1][:MAX_TITLE_LENGTH])
