"""Intervals, and sums of time over them."""
