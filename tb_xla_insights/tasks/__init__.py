"""One task per host: read its file, take what is asked for from it, let the trace go. In this process, in processes of
this machine, or on the workers of a Dask scheduler."""

from tb_xla_insights.tasks.host import Failure, HostCapture, HostResult
from tb_xla_insights.tasks.run import run

__all__ = ["Failure", "HostCapture", "HostResult", "run"]
