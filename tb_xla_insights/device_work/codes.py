"""Numbers that the device's work and its kernels share."""

WORKS, COUNTED, SIZED = 1, 2, 4
"""Bits of a distinct op: its time is work; its FLOPs are known; its bytes are."""
