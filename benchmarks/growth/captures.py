"""Captures of a size n along one axis each: whatever a file may have many of, has long, or nests deeply."""

# Importing each module adds its captures.
from benchmarks.growth import counts, launches, names, programs, recorded, times  # noqa: F401
from benchmarks.growth.training import AXES

__all__ = ["AXES"]
