"""Levels of detail of the timeline's lanes."""
