"""Compares the hosts of a session that train together: their clocks, their arrivals at collectives, the late hosts."""
