"""When devices were idle, and why."""
