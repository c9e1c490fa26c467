"""The gain of fixes, from a replay of the capture without the time that they remove."""
