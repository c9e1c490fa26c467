"""One task per host, which reads its file, computes a result and releases the trace. Tasks run in this process, in
processes of this machine, or on the workers of a Dask scheduler."""

from tb_xla_insights.tasks.host import Failure, HostCapture, HostResult
from tb_xla_insights.tasks.run import run

__all__ = ["Failure", "HostCapture", "HostResult", "run"]
