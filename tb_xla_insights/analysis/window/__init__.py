"""What every class, thread and device did in a window of time."""
