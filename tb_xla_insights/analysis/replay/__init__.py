"""The gain of fixes, from a replay of the capture without some of its costs."""
