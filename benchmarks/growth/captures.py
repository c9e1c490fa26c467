"""Captures of size n along one axis each: n parts of one kind, a part of length n, n levels of nesting, or recorded
captures with their events repeated."""

# Importing each module adds its captures.
from benchmarks.growth import counts, engines, launches, names, programs, recorded, times  # noqa: F401
from benchmarks.growth.training import AXES

__all__ = ["AXES"]
