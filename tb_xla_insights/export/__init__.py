"""Sessions for other tools: as a trace, as tables."""
