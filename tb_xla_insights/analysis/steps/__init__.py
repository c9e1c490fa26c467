"""The training steps, and how the time of each divides."""
