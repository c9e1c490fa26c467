"""What was compiled during the capture, and why."""
