"""XLA Insights: why is the accelerator idle? Reads XPlane profile captures of PyTorch/XLA, TorchTPU and JAX.

    import tb_xla_insights as xi
    session = xi.load("logdir")
    session.report()

What is behind these names is imported when first used, so that TensorBoard and `--help` start at once.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; importing `typing` takes longer than all else here
if TYPE_CHECKING:
    from typing import Any

    from tb_xla_insights.errors import InputError
    from tb_xla_insights.session import Session, load
    from tb_xla_insights.table import Table

__version__ = "0.1.0"
__all__ = ["InputError", "Session", "Table", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name == "InputError":
        from tb_xla_insights import errors

        return errors.InputError
    if name == "Table":
        from tb_xla_insights import table

        return table.Table
    if name in ("Session", "load"):
        from tb_xla_insights import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
