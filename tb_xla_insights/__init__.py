"""XLA Insights: why is the accelerator idle? Reads XPlane captures of PyTorch/XLA, TorchTPU, JAX and TensorFlow.

    import tb_xla_insights as xi
    session = xi.load("logdir")
    session.report()

The names are imported on first use, so that TensorBoard and `--help` start fast.
"""

from __future__ import annotations

TYPE_CHECKING = (
    False  # type checkers know the name; importing `typing` would take longer than the rest of this module
)
if TYPE_CHECKING:
    from typing import Any

    from tb_xla_insights.errors import InputError
    from tb_xla_insights.session import Session, load
    from tb_xla_insights.table import Table
    from tb_xla_insights.version import __version__

__all__ = ["InputError", "Session", "Table", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name == "InputError":
        from tb_xla_insights import errors

        return errors.InputError
    if name == "Table":
        from tb_xla_insights import table

        return table.Table
    if name == "__version__":
        from tb_xla_insights import version

        return version.__version__
    if name in ("Session", "load"):
        from tb_xla_insights import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
