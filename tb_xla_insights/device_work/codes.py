"""Flags of a distinct op, for Python and the kernels."""

IS_WORK, HAS_FLOPS, HAS_BYTES = 1, 2, 4
"""The op's time is work; its FLOPs are known; its bytes are known."""
