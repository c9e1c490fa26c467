"""The answer of `data/device`. Times and amounts are sums over all chosen cores and steps; divided by `core_steps` they
are means per core, and per step unless the whole session is shown."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.schema.common import BoundBy
from tb_xla_insights.schema.device_work import OpKind, Peaks


class ChosenWork(TypedDict):
    """The shown work, in the form of the route's arguments."""

    cores: str
    """A core `31.2` (index of the host, and of the core), a host `31`, or `all`."""
    steps: str
    """A step, `mean` (of all whole steps) or `all` (the session). A step is given by its number, `7`; if several steps
    of the host have it, also by the index in the report's `steps`, `7.12`; without numbers by the index alone."""
    category: str | None
    """The category of the ops; `null` for any."""


class WorkChoices(TypedDict):
    """What is shown, and what else can be."""

    schema: int
    """Increases if a key changes its meaning or is removed."""
    chosen: ChosenWork
    """What is shown."""
    stale: bool
    """Whether a default is shown because the session does not have what was requested."""
    steps: list[str]
    """The steps of the first shown host, in the form of `chosen.steps`; at most 2,000, around the one shown."""
    whole_steps: int
    """Number of whole steps of that host."""


class ShownHosts(TypedDict):
    """The hosts whose work is shown."""

    shown: list[int]
    """Their indices; if all cores are chosen, not always all hosts."""
    total: int
    """Number of hosts of the session."""


class WorkTotal(TypedDict):
    """Sums over the shown ops; `self_ps` = `flops_known_ps` + `flops_unknown_ps` + `other_ps`."""

    self_ps: int
    """Own time."""
    flops_known_ps: int
    """Work with a FLOP count."""
    flops_unknown_ps: int
    """Work without a FLOP count."""
    other_ps: int
    """Time that is not work: collectives, transfers, waits."""
    flops_share: float | None
    """FLOP/s as a share of the peak; `null` if not known."""
    mfu: float | None
    """FLOP/s that the program requests, as a share of the peak; `null` if not known."""
    bytes_share: float | None
    """Bytes/s of the main memory as a share of the peak; `null` if not known."""
    bound_by: BoundBy
    """What bounds most of the time; `mixed` where nothing bounds most."""
    op_count: int
    """Number of distinct ops."""
    executions: int
    """Number of executions. Where the report of all hosts is shown, an op of several annotations counts for each."""


class WorkTree(TypedDict):
    """Annotations as columns, parents before children; at the end ops without an annotation. At most 300, those with
    most time; the others count as own time of their nearest listed ancestor. Shares are `null` if not known."""

    path: Annotated[list[int], Head("Annotation")]
    """Index into `paths`; -1: no annotation."""
    self_ps: Annotated[list[int], Head("Time")]
    """Own time of its ops and of those of all below it."""
    own_ps: list[int]
    """Without those below it; adds up to `total.self_ps`."""
    flops_share: Annotated[list[float | None], Head("FLOP/s, of peak")]
    """FLOP/s as a share of the peak, with those below it."""
    bytes_share: Annotated[list[float | None], Head("HBM, of peak")]
    """Bytes/s as a share of the peak, with those below it."""
    bound_by: Annotated[list[BoundBy], Head("Bound by")]
    """What bounds most of the time, with those below it."""
    own_flops_share: list[float | None]
    """FLOP/s as a share of the peak, without those below it."""
    own_bytes_share: list[float | None]
    """Bytes/s as a share of the peak, without those below it."""
    own_bound_by: list[BoundBy]
    """What bounds most of the time, without those below it."""
    first_ps: list[int | None]
    """Start of the first op; `null` except for one step of devices in memory."""
    last_ps: list[int | None]
    """End of the last op; `null` where `first_ps` is."""


class OpColumns(TypedDict):
    """Ops as columns, most time first: the first 400, or all on request. `null`: not known."""

    op: list[str]
    """Name of the op."""
    program: list[int]
    """Index into `programs`."""
    category: list[int]
    """Index into `categories`."""
    path: list[int]
    """Its annotation, as an index into `paths`; -1: none."""
    shape: list[str | None]
    """Shape of its result."""
    source: list[int]
    """Its line of Python, as an index into `sources`; -1: not recorded."""
    executions: list[int]
    """Number of executions."""
    self_ps: list[int]
    """Own time."""
    flops: list[int | None]
    """FLOPs over all executions."""
    hbm_bytes: list[int | None]
    """Bytes read from and written to the device's main memory."""
    flops_share: list[float | None]
    """FLOP/s as a share of the peak."""
    bytes_share: list[float | None]
    """Bytes/s as a share of the peak."""
    bound_by: list[BoundBy]
    """What bounds the op."""
    kind: list[OpKind]
    """`work`, or why its time is not work."""
    run: list[tuple[int, int, int, int] | None]
    """Its longest event: index into `rows`, start, lane and duration; `null` if its host is not in memory."""


class ListedOps(TypedDict):
    """The listed ops, and the texts that they refer to by index."""

    ops: OpColumns
    """The listed ops."""
    programs: list[str]
    """Names of their programs."""
    sources: list[str]
    """Their lines of Python."""
    rows: list[str]
    """Ids of the timeline's rows with their longest events."""


class RestOps(TypedDict):
    """Ops of one annotation and bound that are not listed."""

    path: int
    """Index into `paths`; -1: no annotation."""
    bound_by: BoundBy
    """What bounds them."""
    op_count: int
    """Number of distinct ops."""
    executions: int
    """Number of executions."""
    self_ps: int
    """Own time."""


class WorkVerdict(TypedDict):
    """What the devices are busy with, and how efficiently."""

    text: list[str]
    """The sentence in parts, every second of which is emphasised."""
    op: int
    """The largest op, or one of the ops that repeat with most time, of the annotation farthest below its roof, as an
    index into `ops`; -1: not listed, no roof is known, or the ops run near it."""


class WorkNotes(TypedDict):
    """Sentences on ops without FLOPs, and on the roofline; `null` where there is nothing to say."""

    not_counted: str | None
    """Ops that are work but have no FLOP count."""
    flop_advice: str | None
    """How such an op gets one."""
    stated: str | None
    """Custom calls whose kernels state their FLOPs themselves."""
    not_work: str | None
    """Ops that are not work."""
    not_drawn: str | None
    """Ops with a FLOP count that the roofline does not show."""
    no_picture: str | None
    """Why there is no roofline."""


class ShownWork(ListedOps):
    """The shown ops: sums, by annotation, and each."""

    categories: list[str]
    """Categories of ops of any category, most time first."""
    peaks: Peaks
    """Peaks that shares refer to."""
    peaks_text: str
    """The peaks in words."""
    missing_peaks: str
    """Why there is no roof, as a clause; empty if both peaks are known."""
    total: WorkTotal
    """Sums over the shown ops."""
    paths: list[str]
    """Paths of the annotations that others refer to by index."""
    tree: WorkTree
    """By annotation."""
    rest: list[RestOps]
    """Sums of the ops that are not listed."""
    verdict: WorkVerdict
    """What the devices are busy with, and how efficiently."""
    notes: WorkNotes
    """Sentences on ops without FLOPs, and on the roofline."""


class DeviceAnswer(WorkChoices, ShownWork):
    """`data/device`: the work of chosen devices in chosen steps."""

    cores: int
    """Number of chosen cores."""
    core_steps: int
    """The divisor of sums for one core, and for one step unless the whole session is shown."""
    hosts: ShownHosts
    """The hosts whose work is shown."""
