"""The training steps, and how each of them spends its time."""
