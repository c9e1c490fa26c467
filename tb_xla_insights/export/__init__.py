"""Sessions for other tools: as a trace, as tables, as one page."""
