"""The contents of each training step, and steps that the capture cuts."""
